"""The workspace of file tools: no path leads out of it, by `..`, by symbolic links or by a race."""

import errno
import os
import stat
from pathlib import Path

from aish.values.errors import Declined, NotFound

_OUTSIDE = "denied: path is outside the agent workspace root"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK  # a pipe without a writer would wait for ever


def inside(root: Path, path: str) -> Path:
    """Where `path` (relative to `root`, or absolute) really lies, every link followed.

    Good for showing and for looking; what is then read or written is opened with `open_inside`.

    Raises:
        Declined: that is not below `root`.
    """
    top = Path(os.path.realpath(root))
    try:
        named = os.path.expanduser(path)  # noqa: PTH111  # leaves `~nobody` as it is
        real = Path(os.path.realpath(top / named))
    except (ValueError, OSError):  # a zero byte, or a name that no file can have
        raise Declined(_OUTSIDE) from None
    if not real.is_relative_to(top):
        raise Declined(_OUTSIDE)
    return real


def open_inside(root: Path, path: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a plain file inside `root` (`flags` as for `os.open`) and return its descriptor.

    The way there is walked from the root once more, a directory at a time and without following any link: one
    that is a link by now was put there between the look and the step.

    Raises:
        Declined: the path leads out of `root`, or to something that is not a plain file.
        NotFound: there is nothing, or no directory to make it in.
        OSError: anything else that the system has against it.
    """
    real = inside(root, path)
    parts = real.relative_to(os.path.realpath(root)).parts
    if not parts:
        raise Declined(f"{path} is the workspace itself, not a file in it")
    try:
        fd = _walk(Path(os.path.realpath(root)), parts, flags, mode)
    except (FileNotFoundError, NotADirectoryError):  # the latter also for a directory that has become a link
        raise NotFound(f"there is no {path}") from None
    except IsADirectoryError:
        raise Declined(f"{path} is a directory, not a file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Declined(_OUTSIDE) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Declined(f"{path} is not a plain file")
        os.set_blocking(fd, True)
    except BaseException:  # whatever it was, nobody else knows the descriptor
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
