"""Carry out calls that change files in place of a fenced command, on the very path that was checked.

The kernel would read the path again, and another thread may have changed it by then. So where Landlock cannot tell a
forbidden file from an allowed one, the keeper does what was asked and gives the command the result. A checked path has
no links, and none is followed here.
"""

import ctypes
import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Callable, Sequence

from aish.action.fence import libc
from aish.action.fence.process_memory import read_memory, read_path, umask_of
from aish.action.fence.seccomp import WatchedCall

_HERE = -100
_NO_LINKS = 0x04
_OPEN, _RENAME = 437, {"x86_64": 316, "aarch64": 276}
_REMOVE_DIRECTORY, _FOLLOW, _EMPTY = 0x200, 0x400, 0x1000
_RELATIVE = frozenset("fchmodat fchmodat2 fchownat futimesat utimensat".split())  # begin with a directory
_NOW, _AS_IT_IS = 0x3FFFFFFF, 0x3FFFFFFE
_LONGEST_VALUE = 1 << 16
_KNOWN_FLAGS = (
    os.O_ACCMODE | os.O_CREAT | os.O_EXCL | os.O_NOCTTY | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK | os.O_DSYNC
    | os.O_ASYNC | os.O_DIRECT | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NOATIME | os.O_CLOEXEC | os.O_SYNC | os.O_TMPFILE
)  # fmt: skip


class TryLater(Exception):
    """The call has to wait for another process, as a writer of a FIFO waits for its reader."""


def open_path(call: WatchedCall, path: str, flags: int, mode: int) -> int:
    """Open a checked path; return the descriptor. Raises `OSError` or `TryLater`."""
    makes = flags & os.O_CREAT or flags & os.O_TMPFILE == os.O_TMPFILE
    flags = flags & _KNOWN_FLAGS & ~os.O_ASYNC | os.O_CLOEXEC | os.O_NOCTTY
    mode = mode & 0o7777 & ~umask_of(call.pid) if makes else 0
    try:
        fd = _open(path, flags | os.O_NONBLOCK, mode)  # the keeper never waits
    except OSError as error:
        if error.errno == errno.ENXIO and stat.S_ISFIFO(os.stat(path).st_mode) and not flags & os.O_NONBLOCK:  # noqa: PTH116  # as text
            raise TryLater from None
        raise
    if not flags & os.O_NONBLOCK:
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    return fd


def reopen(path: str, flags: int, may_write: Callable[[str], bool]) -> int:
    """Open again what a process has open, such as its output: `path` is its descriptor in /proc."""
    flags &= os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK
    _check(path, may_write)  # before, because opening a device can do something
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _check(f"/proc/self/fd/{fd}", may_write)  # after, because the process can have replaced it
    except OSError:
        os.close(fd)
        raise
    if not flags & os.O_NONBLOCK:
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    return fd


def _check(descriptor: str, may_write: Callable[[str], bool]) -> None:
    opened = os.readlink(descriptor)  # noqa: PTH115  # not always a path
    if opened.startswith("/") and not may_write(opened):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def change_names(name: str, call: WatchedCall, places: Sequence[str]) -> None:
    """Make, delete, move or link checked paths, or truncate one. Raises `OSError`."""
    arguments, parents = call.arguments, [_Parent(path) for path in places]
    try:
        last, fd = parents[-1].name, parents[-1].fd
        match name:
            case "mkdir" | "mkdirat":
                os.mkdir(last, _mode(call, 1 if name == "mkdir" else 2), dir_fd=fd)
            case "rmdir":
                os.rmdir(last, dir_fd=fd)
            case "unlink":
                os.unlink(last, dir_fd=fd)
            case "unlinkat":
                (os.rmdir if arguments[2] & _REMOVE_DIRECTORY else os.unlink)(last, dir_fd=fd)
            case "rename" | "renameat" | "renameat2":
                _rename(parents[0], parents[1], arguments[4] if name == "renameat2" else 0)
            case "link" | "linkat":
                if name == "linkat" and arguments[4] & (_FOLLOW | _EMPTY):
                    raise OSError(errno.EPERM, os.strerror(errno.EPERM))
                os.link(parents[0].name, last, src_dir_fd=parents[0].fd, dst_dir_fd=fd, follow_symlinks=False)
            case "symlink" | "symlinkat":
                os.symlink(read_path(call.pid, arguments[0]) or "", last, dir_fd=fd)
            case "mknod" | "mknodat":
                mode = arguments[1 if name == "mknod" else 2]
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFIFO):
                    raise OSError(errno.EPERM, os.strerror(errno.EPERM))
                os.mknod(last, stat.S_IFMT(mode) | _mode(call, 1 if name == "mknod" else 2), dir_fd=fd)
            case "truncate":
                file = _open(places[0], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC, 0)
                try:
                    os.ftruncate(file, arguments[1])
                finally:
                    os.close(file)
            case _:
                raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    finally:
        for parent in parents:
            os.close(parent.fd)


def change_modes(name: str, call: WatchedCall, path: str) -> None:
    """Change the mode, the owner, the times or an attribute of a checked path. Raises `OSError`."""
    arguments = call.arguments[1:] if name in _RELATIVE else call.arguments
    fd = _open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, 0)
    file, known = f"/proc/self/fd/{fd}", os.fstat(fd)
    try:
        match name:
            case "chmod" | "fchmod" | "fchmodat" | "fchmodat2":
                os.chmod(file, arguments[1] & 0o7777)  # noqa: PTH101  # as text
            case "chown" | "lchown" | "fchown" | "fchownat":
                os.chown(file, _identity(arguments[1]), _identity(arguments[2]))
            case "utimensat":
                os.utime(file, ns=_times(call.pid, arguments[1], 1, known))
            case "utimes" | "futimesat":
                os.utime(file, ns=_times(call.pid, arguments[1], 1000, known))
            case "setxattr" | "lsetxattr" | "fsetxattr":
                value = read_memory(call.pid, arguments[2], min(arguments[3], _LONGEST_VALUE))
                os.setxattr(file, _attribute(call), value, arguments[4] & 0xFFFFFFFF)
            case "removexattr" | "lremovexattr" | "fremovexattr":
                os.removexattr(file, _attribute(call))
            case _:  # rare calls; programs then use one of the others
                raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    finally:
        os.close(fd)


def _attribute(call: WatchedCall) -> str:
    """Return the name of an attribute. Those that give rights are only for root, which the keeper may be."""
    name = read_path(call.pid, call.arguments[1]) or ""
    if name.startswith(("security.", "trusted.")):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    return name


def _identity(value: int) -> int:
    value &= 0xFFFFFFFF
    return -1 if value == 0xFFFFFFFF else value


def _times(pid: int, address: int, unit: int, known: os.stat_result) -> tuple[int, int]:
    """Read the times of access and change, in nanoseconds, from the memory of a process."""
    now = time.time_ns()
    if not address:
        return now, now
    data = read_memory(pid, address, 32)
    if len(data) < 32:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    given = struct.unpack("=4q", data)
    found = []
    for seconds, part, before in ((*given[:2], known.st_atime_ns), (*given[2:], known.st_mtime_ns)):
        special = {_NOW: now, _AS_IT_IS: before} if unit == 1 else {}
        found.append(special.get(part, seconds * 1_000_000_000 + part * unit))
    return found[0], found[1]


class _Parent:
    """The directory of a checked path, opened, and the last part of the path."""

    def __init__(self, path: str) -> None:
        directory, _, self.name = path.rpartition("/")
        self.fd = _open(directory or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0)


def _mode(call: WatchedCall, argument: int) -> int:
    return call.arguments[argument] & 0o7777 & ~umask_of(call.pid)


def _open(path: str, flags: int, mode: int) -> int:
    how = struct.pack("=QQQ", flags, mode, _NO_LINKS)
    size = ctypes.c_size_t(len(how))
    return libc.call("syscall", _OPEN, ctypes.c_long(_HERE), os.fsencode(path), how, size)


def _rename(old: _Parent, new: _Parent, flags: int) -> None:
    words = (old.fd, os.fsencode(old.name), new.fd, os.fsencode(new.name), flags)
    libc.call("syscall", _RENAME[os.uname().machine], *words)


def opening(name: str, call: WatchedCall) -> tuple[int, int] | None:
    """Return the flags and the mode of a call that opens a file; None for other calls."""
    match name:
        case "open":
            return call.arguments[1], call.arguments[2]
        case "openat":
            return call.arguments[2], call.arguments[3]
        case "creat":
            return os.O_CREAT | os.O_WRONLY | os.O_TRUNC, call.arguments[1]
    return None
