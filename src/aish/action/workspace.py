"""The workspace of file tools: no path leads out of it, not by `..`, a symbolic link or a race."""

import errno
import os
import stat
from pathlib import Path

from aish.values.errors import Declined, NotFound

_OUTSIDE = "denied: path is outside the agent workspace root"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK  # opening a pipe without a writer would block


def inside(root: Path, path: str) -> Path:
    """Return the real path of `path` (relative to `root`, or absolute), with all links followed.

    Use it for display and checks only; to read or write, use `open_inside`.

    Raises:
        Declined: it is not below `root`.
    """
    top = Path(os.path.realpath(root))
    try:
        named = os.path.expanduser(path)  # noqa: PTH111  # leaves `~nobody` as it is
        real = Path(os.path.realpath(top / named))
    except (ValueError, OSError):  # a NUL byte, or an invalid file name
        raise Declined(_OUTSIDE) from None
    if not real.is_relative_to(top):
        raise Declined(_OUTSIDE)
    return real


def open_inside(root: Path, path: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a regular file inside `root` (`flags` as for `os.open`) and return its descriptor.

    The real path is opened from the root, one directory at a time and without following links: a link found now was
    created after the check.

    Raises:
        Declined: the path leads out of `root`, or to something that is not a regular file.
        NotFound: the file does not exist, or its directory does not.
        OSError: any other error of the system.
    """
    real = inside(root, path)
    parts = real.relative_to(os.path.realpath(root)).parts
    if not parts:
        raise Declined(f"{path} is the workspace directory, not a file")
    try:
        fd = _walk(Path(os.path.realpath(root)), parts, flags, mode)
    except (FileNotFoundError, NotADirectoryError):  # the latter also if a directory was replaced by a link
        raise NotFound(f"{path} does not exist") from None
    except IsADirectoryError:
        raise Declined(f"{path} is a directory, not a file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Declined(_OUTSIDE) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Declined(f"{path} is not a regular file")
        os.set_blocking(fd, True)
    except BaseException:  # on any error, nobody else would close the descriptor
        os.close(fd)
        raise
    return fd


def _walk(root: Path, parts: tuple[str, ...], flags: int, mode: int) -> int:
    *directories, name = parts
    here = os.open(root, _DIRECTORY)
    try:
        for part in directories:
            there = os.open(part, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = there
        return os.open(name, flags | _FILE, mode, dir_fd=here)
    finally:
        os.close(here)
