"""Append-only files of JSON lines that survive crashes and power cuts, and allow several writers.

A line is a JSON object whose last field is the CRC-32 of the rest. Lines without a CRC are accepted, because users
may add lines by hand. Lines with a wrong CRC are damaged: they are skipped and counted, but never deleted.
"""

import errno
import fcntl
import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from aish.storage.files import erase_from, make_directory, sync_data, sync_directory, write_all
from aish.storage.line_reading import backwards, forwards, lines_since
from aish.values.errors import StoreTrouble
from aish.values.stores import START, Cleaner, Cursor, Damage, Health, Record, RecordLog, StaleCursor

LOCK_SECONDS = 2.0
_PAUSE = 0.006  # seconds between two attempts; more frequent ones would slow the writer down
_SUM_SIZE = len(b',"crc":"00000000"}')
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(record: Mapping[str, Any]) -> bytes:
    """Return the line for `record`, with checksum and newline."""
    return with_checksum(_to_json(record))


def with_checksum(text: str) -> bytes:
    """Return the line for a record in JSON, with checksum and newline."""
    body = text.encode("utf-8", "replace")
    return b'%s,"crc":"%08x"}\n' % (body[:-1], zlib.crc32(body))


def decode(line: bytes) -> Record | None:
    """Return the record of a line, without its checksum. None if the line is damaged."""
    line = line.strip().removeprefix(b"\xef\xbb\xbf")
    body = line
    if line[-_SUM_SIZE:].startswith(b',"crc":"'):
        body = line[:-_SUM_SIZE] + b"}"
        if line[-10:-2] != b"%08x" % zlib.crc32(body):
            return None
    try:
        record = json.loads(str(body, "utf-8"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class LineFile:
    """One append-only file.

    1. Once `append` returns, the record survives a crash and a power cut.
    2. A record is one write. The next writer moves an incomplete one to `<name>.torn`.
    3. Writers lock the file, also across processes. Readers never wait.
    4. A failed change is rolled back. If that fails, too, the next writer moves the rest to `<name>.torn`.
    """

    def __init__(
        self, path: Path, first: Callable[[], Mapping[str, Any]] | None = None, *, keep_open: bool = False
    ) -> None:
        """Use a file whose first record is `first()`. `keep_open` keeps it open between writes, until `close`."""
        self.path = path
        self._name = str(path)
        self.first = first
        self._keep_open = keep_open
        self._fd: int | None = None
        self._which = (0, 0)  # inode and device of the open file
        self._holding = False  # this process keeps the lock between writes
        self.ended = (-1, -1)  # size and time of a file that is known to end in a newline
        self._replaced: int | None = None  # the new file, until the old one is closed

    def hold(self) -> None:
        """Lock the file until `close`. Raises `StoreTrouble`, also if this process already holds the lock."""
        if self._holding:
            raise StoreTrouble(f"{self.path.name} held by another aish process")
        self._fd, _ = self.enter(wait=0.0)
        self._holding = True

    def close(self) -> None:
        """Close the file, and release its lock."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd, self._holding = None, False

    def append(self, record: Mapping[str, Any], *, sync: bool = True) -> None:
        """Append one record. Raises `StoreTrouble` if it could not be made durable."""
        with self.writing(sync=sync) as writer:
            writer.write(record)

    def extend(self, make: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Append records, all or none. `make` is called under the lock. Raises `StoreTrouble`."""
        with self.writing() as writer:
            for record in make():
                writer.write(record)

    def writing(self, *, sync: bool = True, watcher: "Watcher | None" = None) -> "Writer":
        """Lock the file for a block that reads and writes it as one change."""
        return Writer(self, sync, watcher)

    def leave(self, fd: int, *, whole: bool) -> None:
        """Release the lock. After a failure also close the file, because its state is unknown."""
        if self._replaced is not None:  # close the old file, or its erased text would stay on the disk
            os.close(fd)
            fd, self._replaced = self._replaced, None
        if self._holding:
            self._fd = fd
            return
        if self._keep_open and whole:
            try:
                fcntl.flock(fd, fcntl.LOCK_UN)
                self._fd = fd
                return
            except OSError:
                pass  # closing also releases the lock
        os.close(fd)

    def rewrite(self, change: Callable[[bytes], bytes]) -> int:
        """Replace each line by `change(line)`, all or none, and return how many differ.

        Only for a purge. Writers that wait for the lock continue with the new file.
        """
        if not self.path.exists():
            return 0
        with self.writing():
            lines = list(forwards(self.path))
            changed = [change(line) for line in lines]
            count = sum(old != new for old, new in zip(lines, changed, strict=True))
            if count:
                for left in self.path.parent.glob(f".{self.path.name}.*.tmp"):  # left by a killed process
                    left.unlink()
                name = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
                fd = os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                try:
                    write_all(fd, b"".join(changed))
                    os.fsync(fd)
                    found = os.fstat(fd)
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock must cover the new file, too
                    name.replace(self.path)
                except BaseException:  # delete the partial file after any error
                    name.unlink(missing_ok=True)
                    os.close(fd)
                    raise
                self._replaced, self._which = fd, (found.st_ino, found.st_dev)
                sync_directory(self.path.parent)
            return count

    def erase(self, cleaner: Cleaner) -> int:
        """Take phrases out of all lines and of torn ends, and return how many had them. Raises `StoreTrouble`."""
        # Most files have none: they are only read, so that a purge waits for no writer and syncs what it changes only.
        count = self.rewrite(partial(cleaned_line, cleaner, cleaner.clean_record)) if self._has(cleaner) else 0
        return count + erase_from(self.torn_path, cleaner)  # afterwards, because a rewrite may set a torn end aside

    def _has(self, cleaner: Cleaner) -> bool:
        """Does the file have the phrases?"""
        try:
            return cleaner.found_in(b"".join(forwards(self.path)).decode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreTrouble(f"cannot purge {self.path}: {error.strerror or error}") from error

    def health(self) -> Health:
        """Read the whole file, and report damage. Raises `StoreTrouble`."""
        damage = Damage()
        for _ in self.read(damage):
            pass
        return Health(str(self.path), damage.lines, set_aside=str(self.torn_path) if self.torn_path.exists() else "")

    @property
    def torn_path(self) -> Path:
        """The file for incomplete last lines."""
        return self.path.with_name(self.path.name + ".torn")

    def enter(self, watcher: "Watcher | None" = None, wait: float = LOCK_SECONDS) -> tuple[int, os.stat_result]:
        """Open and lock the file, and return it with its status. If it was replaced meanwhile, open it again."""
        try:
            while True:
                fd, self._fd = (
                    self._opened() if self._fd is None else self._fd,
                    None,
                )  # locking again a file that we hold does no harm
                try:
                    try:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        _wait_for_lock(fd, self.path, wait, watcher)
                    there = os.stat(self._name)  # noqa: PTH116  # this runs for each write
                    if (there.st_ino, there.st_dev) == self._which:
                        return fd, there
                    os.close(fd)
                except FileNotFoundError:
                    os.close(fd)
                except BaseException:  # release the lock after any error
                    os.close(fd)
                    raise
        except OSError as error:
            reason = "it is a symbolic link; name the file itself" if error.errno == errno.ELOOP else error.strerror
            raise StoreTrouble(f"cannot open {self.path} for writing: {reason or error}") from error

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            fd = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            make_directory(self.path.parent)
            fd = os.open(self.path, flags, 0o600)
        found = os.fstat(fd)
        self._which, self.ended = (found.st_ino, found.st_dev), (-1, -1)  # the end of a new file is unknown
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            raise StoreTrouble(f"cannot open {self.path} for writing: it is not a regular file")
        return fd

    def __iter__(self) -> Iterator[Record]:
        return self.read()

    def read(self, damage: Damage | None = None) -> Iterator[Record]:
        """Yield all valid records, oldest first. Counts damaged lines in `damage`."""
        yield from self._decoded(forwards(self.path), damage)

    def read_back(self, damage: Damage | None = None) -> Iterator[Record]:
        """Yield all valid records, newest first, reading on demand."""
        yield from self._decoded(backwards(self.path), damage)

    def having(self, field: str) -> Iterator[Record]:
        """Yield the records that have a field, oldest first. Decodes only lines that contain its name."""
        name = _to_json(field).encode() + b":"  # as `encode` writes it
        lines = (line for line in forwards(self.path) if name in line)
        return (record for record in self._decoded(lines, None) if field in record)

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        """Yield all valid records after `cursor`, each with its cursor. Raises `StaleCursor`.

        A last line without a newline is skipped, because it may still be being written.
        """
        try:
            for place, line in lines_since(self.path, cursor):
                record = decode(line)
                if record is not None:
                    yield place, record
        except FileNotFoundError:
            if cursor != START:
                raise StaleCursor from None
        except OSError as error:
            raise StoreTrouble(f"cannot read {self.path}: {error.strerror or error}") from error

    def _decoded(self, lines: Iterator[bytes], damage: Damage | None) -> Iterator[Record]:
        try:
            for line in lines:
                if not line.strip():
                    continue
                record = decode(line)
                if record is not None:
                    yield record
                elif damage is not None:
                    damage.lines += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreTrouble(f"cannot read {self.path}: {error.strerror or error}") from error


class Watcher(Protocol):
    """Is notified of writes to a file, to keep a cache of it up to date."""

    def waiting(self, fd: int) -> object:
        """Called while another process holds the lock, so that the wait can be used to read."""

    def written(self, writer: "Writer") -> None:
        """Called after a change is written, before it is synced, under the lock."""

    def failed(self) -> None:
        """Called after an error: the state of the file is unknown."""


class Writer:
    """A locked file. Created only by `LineFile.writing`; kept small, because this runs for each write."""

    __slots__ = ("_before", "_file", "_sync", "_watcher", "fd", "found", "size")

    def __init__(self, file: LineFile, sync: bool, watcher: Watcher | None) -> None:
        self._file, self._sync, self._watcher = file, sync, watcher

    def __enter__(self) -> "Writer":
        self.fd, found = self._file.enter(self._watcher)
        self.found = found  # before anything was written
        self.size = self._before = found.st_size
        if (found.st_size, found.st_ctime_ns) != self._file.ended or not found.st_size:
            self._prepare()
        return self

    def _prepare(self) -> None:
        try:
            self.set_torn_tail_aside()
            self._before = self.size
            if self._file.first and not self.size:
                self.write(self._file.first())
        except BaseException as error:  # release the lock after any error
            self.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        whole = False
        try:
            if error is None:
                if self._watcher:
                    self._watcher.written(self)
                if self._sync:
                    sync_data(self.fd)
                if not self._before:
                    sync_directory(self._file.path.parent)
                whole = True
        except OSError as failed:
            error = failed
        finally:
            if not whole:
                self._give_up()
            self._file.leave(self.fd, whole=whole)
        if isinstance(error, OSError):
            raise StoreTrouble(f"cannot write {self._file.path}: {error.strerror or error}") from error

    def _give_up(self) -> None:
        self._file.ended = (-1, -1)
        if self._watcher:
            self._watcher.failed()
        if self.size != self._before:  # otherwise we wrote nothing
            self.cut_back(self._before)  # a change is written completely or not at all

    def write(self, record: Mapping[str, Any]) -> bytes:
        """Write one record, and return its line. Raises `OSError` or `StoreTrouble`."""
        return self.write_line(encode(record))

    def write_line(self, line: bytes) -> bytes:
        """Write a line that `encode` or `with_checksum` made."""
        self.size += len(line)  # before, so that it is taken back if the write is interrupted
        if os.write(self.fd, line) != len(line):  # the first sign of a full disk
            raise StoreTrouble(f"cannot write {self._file.path}: no space left on the disk")
        return line

    def set_torn_tail_aside(self) -> None:
        """Move an incomplete last line to `<name>.torn`, so that the next record starts on a new line."""
        if self.size == 0 or os.pread(self.fd, 1, self.size - 1) == b"\n":
            return
        path = self._file.path
        torn = next(backwards(path))
        if decode(torn) is not None:  # complete except for its newline, as some editors save it
            os.write(self.fd, b"\n")
            self.size += 1
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        aside = os.open(self._file.torn_path, flags, 0o600)
        try:
            if os.write(aside, torn + b"\n") <= len(torn):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(aside)
        finally:
            os.close(aside)
        self.size -= len(torn)
        os.ftruncate(self.fd, self.size)

    def cut_back(self, size: int) -> None:
        """Remove everything that was written after `size`."""
        try:
            if os.fstat(self.fd).st_size > size:
                os.ftruncate(self.fd, size)
        except OSError:
            pass  # the next writer moves the rest to `<name>.torn`


def cleaned_line(cleaner: Cleaner, clean_record: Callable[[Record], Record], line: bytes) -> bytes:
    """Return the line without the phrases. A damaged line is cleaned as plain text."""
    text = line.decode("utf-8", "surrogateescape")
    if not cleaner.found_in(text):
        return line
    record = decode(line)
    if record is None:
        return cleaner.clean(text).encode("utf-8", "surrogateescape")
    return encode(clean_record(record))


def open_log(where: Path | RecordLog, what: str) -> RecordLog:
    """Open a log whose first record names its purpose. A path means a `LineFile`."""
    return LineFile(where, lambda: {"meta": {"format": 1, "what": what}}) if isinstance(where, Path) else where


def _wait_for_lock(fd: int, path: Path, wait: float, watcher: Watcher | None) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreTrouble(f"{path.name} held by another aish process") from None
            if watcher:
                watcher.waiting(fd)
            time.sleep(_PAUSE)
