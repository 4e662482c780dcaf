"""Capabilities: the parts of root's power. A fenced command of root keeps only those for reading and owning files."""

import ctypes

from aish.action.fence import libc
from aish.action.fence.system_calls import numbers

_VERSION = 0x20080522
_CHOWN, _DAC_OVERRIDE, _DAC_READ_SEARCH, _FOWNER, _FSETID = 0, 1, 2, 3, 4
_LAST = 63


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def drop(*, changing: bool) -> None:
    """Give up all capabilities but those that reading the user's files needs; with `changing`, also writing them."""
    wanted = (_CHOWN, _DAC_OVERRIDE, _DAC_READ_SEARCH, _FOWNER, _FSETID) if changing else (_DAC_READ_SEARCH,)
    for number in range(_LAST + 1):
        if number not in wanted:
            try:
                libc.call("prctl", libc.DROP_CAPABILITY, number, 0, 0, 0)
            except OSError:  # it does not exist, or it was not ours
                pass
    header, now = _Header(_VERSION, 0), (_Data * 2)()
    libc.LIBRARY.capget(ctypes.byref(header), now)
    mask = sum(1 << number for number in wanted)
    kept = now[0].permitted & mask
    left = (_Data * 2)(_Data(kept, kept, 0), _Data(0, 0, 0))
    libc.call("syscall", numbers()["capset"], ctypes.byref(header), ctypes.byref(left))
