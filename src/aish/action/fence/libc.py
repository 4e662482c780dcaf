"""Calls of the C library that Python does not offer."""

import ctypes
import os
from typing import Final

SET_PARENT_DEATH_SIGNAL: Final = 1
DROP_CAPABILITY: Final = 24
SET_CHILD_SUBREAPER: Final = 36
NO_NEW_PRIVILEGES: Final = 38

LIBRARY = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: object) -> int:
    """Call a function of the C library. Integers are passed as long. Raises `OSError` with the kernel's error."""
    given = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments]
    result = int(getattr(LIBRARY, function)(*given))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
