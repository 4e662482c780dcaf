"""What the C library does with memory that was freed."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc for `mallopt`
_LARGE = 1 << 20  # bytes


def return_large_blocks() -> None:
    """Give large blocks of memory back to the system as soon as they are freed, from now on.

    glibc keeps them otherwise, separately for each thread. Other C libraries have no such setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    mallopt(_TRIM_THRESHOLD, _LARGE)
