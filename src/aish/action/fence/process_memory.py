"""Read what another process passes to the kernel: strings in its memory, its directory, its parents."""

import ctypes
import os
from collections.abc import Callable

from aish.action.fence import libc
from aish.values.named_tuple import NamedTuple

_PAGE = 4096
_LONGEST_PATH = 4096


class _Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_memory(pid: int, address: int, length: int) -> bytes:
    """Return up to `length` bytes at an address of another process; fewer at the end of its memory."""
    buffer = ctypes.create_string_buffer(length)
    local = _Piece(ctypes.cast(buffer, ctypes.c_void_p), length)
    remote = _Piece(address, length)
    process_vm_readv = libc.LIBRARY.process_vm_readv
    process_vm_readv.restype = ctypes.c_ssize_t
    count = process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    return buffer.raw[: max(count, 0)]


def read_path(pid: int, address: int) -> str | None:
    """Return a path in the memory of another process; None if it cannot be read."""
    data = b""
    while len(data) < _LONGEST_PATH:
        here = address + len(data)
        piece = read_memory(pid, here, _PAGE - here % _PAGE)  # the next page may not exist
        end = piece.find(b"\0")
        if end >= 0:
            return os.fsdecode(data + piece[:end])
        if not piece:
            return None
        data += piece
    return None


class RealPath(NamedTuple):
    """A path of another process, with all links followed; `inside_proc` if only that process can follow it."""

    path: str
    inside_proc: bool = False


def resolve(pid: int, directory: int | None, path: str, *, follow: bool) -> RealPath | None:
    """Return where a path of another process leads; None if the process has died.

    `directory` is the descriptor that a relative path starts from, or None for the current directory. With `follow`
    a link at the end of the path is followed too. None also if the path changes at the same time.
    """
    try:
        return _resolve(pid, directory, path, follow=follow)
    except OSError:
        return None


def _resolve(pid: int, directory: int | None, path: str, *, follow: bool) -> RealPath:
    if not path.startswith("/"):
        link = f"/proc/{pid}/cwd" if directory is None else f"/proc/{pid}/fd/{directory}"
        base = os.readlink(link)  # noqa: PTH115  # bare strings: this is on the way of every file that is written
        is_name = "/" not in path and path not in ("", ".", "..")
        path = f"{base}/{path}" if path else base
        if is_name and not base.startswith("/proc/") and not (follow and os.path.islink(path)):  # noqa: PTH114  # likewise
            return RealPath(path)  # the kernel has followed all links of the directory
    path = _of_process(path, pid)
    if path.startswith(f"/proc/{pid}/fd/"):
        return RealPath(path, inside_proc=True)
    head, _, name = path.rstrip("/").rpartition("/")
    if follow or name in (".", ".."):  # these are directories, never links
        real = os.path.realpath(path)
    else:
        real = f"{os.path.realpath(head or '/').rstrip('/')}/{name}"
    return RealPath(real, inside_proc=real.startswith("/proc/"))


def _of_process(path: str, pid: int) -> str:
    """Replace the links that mean something else for each process."""
    for name, number in (("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2)):
        if path == name:
            return f"/proc/{pid}/fd/{number}"
    own = f"/proc/{pid}/"
    for start, meant in (("/dev/fd/", f"{own}fd/"), ("/proc/self/", own), ("/proc/thread-self/", own)):
        if path.startswith(start):
            return meant + path[len(start) :]
    return path


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 if it has died."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def descends(pid: int, ancestor: int) -> bool:
    """Is a process a descendant of another one?"""
    for _ in range(1000):
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
        pid = parent_of(pid)
    return False


def descendants(ancestor: int) -> list[int]:
    """Return all descendants of a process."""
    found, at = [ancestor], 0
    children = _children if os.path.exists(f"/proc/{ancestor}/task/{ancestor}/children") else _listed_children()  # noqa: PTH110  # it depends on the kernel
    while at < len(found):
        found += children(found[at])
        at += 1
    return found[1:]


def _children(pid: int) -> list[int]:
    """Return the children of a process that any of its threads started."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  # names are enough, and this is done often
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it has ended
    return found


def _listed_children() -> Callable[[int], list[int]]:
    """List all processes once, for kernels that do not tell the children of a process."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # likewise
        if name.isdigit():
            children.setdefault(parent_of(int(name)), []).append(int(name))
    return lambda pid: children.get(pid, [])


def filters(pid: int) -> int:
    """Return how many filters for system calls a process has; -1 if that is not known."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return int(file.read().partition(b"Seccomp_filters:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return -1


def umask_of(pid: int) -> int:
    """Return which rights a process takes from the files that it makes. Raises `OSError` if it has died."""
    with open(f"/proc/{pid}/status", "rb") as file:
        return int(file.read().partition(b"Umask:")[2].split()[0], 8)


def name_of(pid: int) -> str:
    """Return the name of a process; empty if it has died."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
