"""The workspace of file tools: no path leads out of it, not by `..`, a symbolic link or a race."""

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
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


def read_inside(root: Path, path: str, most: int) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a file inside `root`, and its status. Raises as `open_inside` does.

    Raises:
        Declined: also if it has more than `most` bytes.
    """
    with open(open_inside(root, path), "rb") as file:
        found = os.fstat(file.fileno())
        data = file.read(most + 1)
    if len(data) > most:
        raise Declined(f"{path} has more than {most >> 20} MB")
    return data, found


def write_inside(
    root: Path, path: str, content: bytes, like: os.stat_result | None = None, mode: int | None = None
) -> tuple[str, ...]:
    """Replace a file inside `root` atomically, and give it the owner and mode of `like`; without `like`, create it.

    `mode` is its mode if it is not that of `like`, or of a usual new file.

    Missing directories are created; they are returned, relative to `root`, outermost first.

    Raises:
        Declined: the path leads out of `root`, or a file that should be new exists.
        OSError: any other error of the system; nothing was changed.
    """
    top = Path(os.path.realpath(root))
    parts = inside(root, path).relative_to(top).parts
    if not parts:
        raise Declined(f"{path} is the workspace directory, not a file")
    here, made = _directory(top, parts[:-1], path)
    temporary = f".{parts[-1][:100]}.{os.getpid()}-{time.monotonic_ns()}.tmp"
    try:
        first = 0o666 if like is None and mode is None else 0o600  # until it has its own, nobody else reads it
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, first, dir_fd=here)
        try:
            with open(fd, "wb") as file:
                file.write(content)
                if like:
                    _make_like(fd, like)
                if mode is not None:
                    os.fchmod(fd, mode)
                file.flush()
                os.fsync(fd)
            if like:
                os.rename(temporary, parts[-1], src_dir_fd=here, dst_dir_fd=here)
            else:
                _rename_new(temporary, parts[-1], here)
        except BaseException as error:  # delete the partial file after any error
            os.unlink(temporary, dir_fd=here)
            if isinstance(error, FileExistsError):
                raise Declined(f"{path} exists now; read it first") from None
            if isinstance(error, IsADirectoryError):
                raise Declined(f"{path} is a directory, not a file") from None
            raise
        os.fsync(here)
    finally:
        os.close(here)
    return made


def remove_inside(root: Path, path: str, directories: Iterable[str] = ()) -> None:
    """Delete a file inside `root`, then those of the directories (relative to `root`) that are empty. Raises as above.

    A link is deleted itself.
    """
    with _parent(root, path) as (here, name):
        os.unlink(name, dir_fd=here)
    remove_directories(root, directories)


def remove_directories(root: Path, directories: Iterable[str]) -> None:
    """Delete those directories (relative to `root`) that are empty."""
    for path in directories:
        with suppress(OSError, NotFound), _parent(root, path) as (here, name):
            os.rmdir(name, dir_fd=here)


@contextmanager
def _parent(root: Path, path: str) -> Iterator[tuple[int, str]]:
    """Open the directory of a path inside `root`, and yield it with the name in it. A link there is not followed."""
    top = Path(os.path.realpath(root))
    if "\0" in path:
        raise Declined(_OUTSIDE)
    parts = (inside(root, os.path.dirname(path)) / os.path.basename(path)).relative_to(top).parts  # noqa: PTH119, PTH120  # as text
    here, _ = _directory(top, parts[:-1], path, make=False)
    try:
        yield here, parts[-1]
    finally:
        os.close(here)


def _rename_new(temporary: str, name: str, directory: int) -> None:
    """Rename a file without replacing one that was created in the meantime. Raises `FileExistsError`."""
    try:
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        os.unlink(temporary, dir_fd=directory)
    except FileExistsError:
        raise
    except OSError:  # this file system has no hard links
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=directory))
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)


def _make_like(fd: int, like: os.stat_result) -> None:
    """Give a file the owner and mode of another one, as far as the user may."""
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(fd, like.st_uid, like.st_gid)
        except OSError:
            pass  # only root can; the file then belongs to the user
    os.fchmod(fd, stat.S_IMODE(like.st_mode))


def _directory(top: Path, parts: Sequence[str], path: str, *, make: bool = True) -> tuple[int, tuple[str, ...]]:
    """Open a directory below `top` without following links; return it, and the directories that were created."""
    here, made = os.open(top, _DIRECTORY), list[str]()
    try:
        for depth, part in enumerate(parts, start=1):
            try:
                there = os.open(part, _DIRECTORY, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise NotFound(f"{path} does not exist") from None
                os.mkdir(part, dir_fd=here)
                made.append("/".join(parts[:depth]))
                there = os.open(part, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = there
    except BaseException as error:  # on any error, nobody else would close the descriptor
        os.close(here)
        if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Declined(f"{path} cannot be written: a part of its path is not a directory") from None
        raise
    return here, tuple(made)


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
