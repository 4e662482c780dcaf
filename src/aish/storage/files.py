"""Private, durable directories, and atomic replacement of files."""

import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aish.values.errors import StoreTrouble
from aish.values.stores import Cleaner


def make_directory(path: Path) -> None:
    """Create `path` and its parents, private to the user, and sync their names to disk."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    sync_directory(path.parent)


def private_opener(path: str, flags: int) -> int:
    """For `open(…, opener=private_opener)`: a new file is private to the user, whatever the umask is."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def keep_private(directory: Path) -> None:
    """Take all rights of others from the files of a directory that a library has made."""
    for path in directory.iterdir():
        with suppress(OSError):  # a merge in the background may have deleted it
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                path.chmod(0o600)


sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


def write_all(fd: int, data: bytes, at: int | None = None) -> None:
    """Write all of `data`, in as many writes as necessary, at an offset if given. Raises `OSError`."""
    done, view = 0, memoryview(data)
    while done < len(view):
        done += os.write(fd, view[done:]) if at is None else os.pwrite(fd, view[done:], at + done)


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for this lock file, and hold its lock. Raises `StoreTrouble`."""
    try:
        make_directory(path.parent)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreTrouble(f"cannot write in {path.parent}: {error.strerror or error}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def replace_file(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Replace `path` by `content` atomically.

    Raises:
        StoreTrouble: nothing was changed.
    """
    try:
        make_directory(path.parent)
        name = path.with_name(f".{path.name}.{os.getpid()}-{time.monotonic_ns()}.tmp")
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                if sync:
                    os.fsync(fd)
            name.replace(path)
        except BaseException:  # delete the partial file after any error
            name.unlink(missing_ok=True)
            raise
        if sync:
            sync_directory(path.parent)
    except OSError as error:
        raise StoreTrouble(f"cannot write {path}: {error.strerror or error}") from error


def remove_all(directory: Path) -> None:
    """Remove the files of a directory that can be made again. Raises `StoreTrouble`."""
    try:
        for path in directory.iterdir():
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreTrouble(f"cannot remove the files in {directory}: {error.strerror or error}") from error


def erase_from(path: Path, cleaner: Cleaner) -> bool:
    """Erase phrases from a regular file, and tell whether it had them. Skips links. Raises `StoreTrouble`."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise StoreTrouble(f"cannot purge {path}: {error.strerror or error}") from error
    if cleaner.found_in(text):
        replace_file(path, cleaner.clean(text).encode("utf-8", "surrogateescape"))
        return True
    return False


def write_at(path: Path, pieces: Iterable[tuple[int, bytes]]) -> None:
    """Write pieces at their offsets in a file, and sync it. Raises `OSError`."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        for offset, data in pieces:
            write_all(fd, data, offset)
        sync_data(fd)
    finally:
        os.close(fd)
