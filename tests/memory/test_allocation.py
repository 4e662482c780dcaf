"""Freed memory goes back to the system."""

import subprocess
import sys

import pytest

FREED = """
import ctypes, re, threading
from aish.memory.finding.allocation import return_large_blocks

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])

if {set}:
    return_large_blocks()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
libc.free(libc.malloc(30 << 20))  # glibc takes this size for usual from now on
before = resident()
blocks = [libc.malloc(2 << 20) for _ in range(20)]
for block in blocks:
    libc.memset(block, 1, 2 << 20)
last = libc.malloc(1000)  # keeps the end of the heap in use
for block in blocks:
    libc.free(block)
print(resident() - before)
"""


def kept(*, set: bool) -> int:
    """Return how many kilobytes a process still has of 40 MB that it has freed."""
    code = FREED.replace("{set}", str(set))
    return int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=60).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_large_blocks_are_given_back_as_soon_as_they_are_freed() -> None:
    """glibc would keep them: an import of large turns then holds what it needed at its peak."""
    assert kept(set=True) < 4_000
    if kept(set=False) < 4_000:
        pytest.skip("this C library gives them back anyway")
