"""Landlock: a Linux process irrevocably drops file access rights for itself and its children.

All features that the kernel supports are used (versions 1 to 6 and later). Without Landlock, `version` is 0.
"""

import ctypes
import errno
import os
import stat
import sys
from enum import IntFlag
from functools import cache
from pathlib import Path

from aish.action.fence import libc
from aish.values.named_tuple import NamedTuple

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every supported architecture
_ASK_VERSION, _PATH_BENEATH = 1, 1


class Right(IntFlag):
    """Access rights to files and directories, with the kernel's values."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13  # since version 2: move and link from one directory to another
    TRUNCATE = 1 << 14  # since version 3
    IOCTL_DEV = 1 << 15  # since version 5


READ = Right.READ_FILE | Right.EXECUTE
OF_FILES = READ | Right.WRITE_FILE | Right.TRUNCATE | Right.IOCTL_DEV  # the others apply to directories only
EVERY_RIGHT = Right((1 << 16) - 1)
_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract sockets of, and signals to, processes outside the fence


_ALL, _FOR_FILES = int(EVERY_RIGHT), int(OF_FILES)
_OPENS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def _add_rule(*arguments: object) -> None:
    """Make a system call without the care of `libc.call`; what fails allows nothing."""
    libc.LIBRARY.syscall(*arguments)


class Powers(NamedTuple):
    """The rights that are dropped unless a rule allows them: files, network, other processes."""

    files: Right
    network: int
    scopes: int


def powers(version: int, *, network: bool) -> Powers:
    """Return all rights that Landlock of this version can drop; TCP is kept if the network is allowed."""
    newer = {2: Right.REFER, 3: Right.TRUNCATE, 5: Right.IOCTL_DEV}
    files = EVERY_RIGHT
    for since, right in newer.items():
        if version < since:
            files &= ~right
    return Powers(files, _TCP if version >= 4 and not network else 0, _SCOPES if version >= 6 else 0)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


@cache
def version() -> int:
    """Return the Landlock version of this kernel; 0 if there is none."""
    return 0 if absence() else libc.call("syscall", _CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)


@cache
def absence() -> str:
    """Return why Landlock is not available, as a message; empty if it is."""
    if sys.platform != "linux":
        return f"Landlock needs Linux, and this is {sys.platform}"
    try:
        libc.call("syscall", _CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return "Landlock is disabled in this kernel (add it to lsm= on the kernel command line)"
        return "this kernel has no Landlock (it needs Linux 5.13 or later)"
    return ""


class Rules:
    """The rights that a process keeps after `restrict`. Created by the parent, used by the child.

    1. Everything that no rule allows is forbidden, if this version of Landlock knows the right.
    2. A rule covers a file, or a directory with everything that is or will be below it. It cannot be removed.
    3. `restrict` makes only two system calls, so it is safe between fork and exec.
    """

    def __init__(self, *, network: bool, version: int) -> None:
        self.powers = powers(version, network=network)
        attributes = _Ruleset(*self.powers)
        size = ctypes.c_size_t(ctypes.sizeof(attributes))  # older kernels accept zeros in unknown fields
        self._fd = libc.call("syscall", _CREATE, ctypes.byref(attributes), size, 0)
        self._files, self._rule = int(self.powers.files), _Beneath()  # plain: a fence has hundreds of rules
        self._pointer = ctypes.byref(self._rule)

    def allow(self, path: Path | str, rights: Right) -> bool:
        """Allow these rights on `path` itself: a rule for a link does not concern its target. False: not possible."""
        try:
            fd = os.open(path, _OPENS)
            try:
                known = int(rights) & self._files
                if known & ~_FOR_FILES:  # some of the rights are for directories only
                    mode = stat.S_IFMT(os.fstat(fd).st_mode)
                    known &= _ALL if mode == stat.S_IFDIR else _FOR_FILES
                self._rule.allowed, self._rule.parent = known, fd
                _add_rule(_ADD_RULE, self._fd, _PATH_BENEATH, self._pointer, 0)
            finally:
                os.close(fd)
        except OSError:  # then less is allowed, never more
            return False
        return True

    def restrict(self) -> None:
        """Drop all other rights, in this process and every process it starts."""
        libc.call("prctl", libc.NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.call("syscall", _RESTRICT, self._fd, 0)

    def close(self) -> None:
        os.close(self._fd)
