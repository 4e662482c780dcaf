"""The feed of the journals: one file per conversation, watched by inode, size and modification time.

A position is a byte offset in the file.
"""

import os
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from heapq import nlargest
from pathlib import Path

from aish.memory.finding.feed import ConversationMeta, FeedEntry, Poll, Revision
from aish.memory.journal import Journal, entry_of
from aish.storage.line_reading import opener_now
from aish.storage.lines import decode
from aish.values.channels import channel_of
from aish.values.errors import StoreTrouble
from aish.values.invisible import visible
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry

_TAIL = 64  # bytes before a position whose checksum is part of the fingerprint
_FILE_TYPES = {stat.S_IFREG, stat.S_IFDIR}  # a directory is reported as an error; opening a pipe could block forever
_MIN_RESCAN = 0.25  # seconds between two scans of all journals,
_RESCAN_FACTOR = 40  # or this many times the duration of a scan, so that scans take a small share of the time
_RECENT = 32  # journals modified last; every poll checks them
_CLOCK_TICK = 50_000_000  # nanoseconds: two changes of a directory within them may have the same modification time

_Status = tuple[int, int, int]  # inode, modification time, size


class JournalFeed:
    """Reads the journals in one directory."""

    def __init__(self, sessions: Path) -> None:
        self._sessions = sessions

    def revisions(self) -> dict[str, Revision]:
        return {name: _revision(status) for name, status in _journals(self._sessions).items()}

    def watch(self) -> "JournalWatch":
        return JournalWatch(self._sessions)

    def fingerprint(self, conversation: str, revision: Revision, position: int) -> str:
        start = max(position - _TAIL, 0)
        try:
            with self._path(conversation).open("rb") as file:
                inode = str(os.fstat(file.fileno()).st_ino)
                if inode != revision.version.partition("-")[0]:
                    return ""  # replaced by another file
                file.seek(start)
                return f"{inode}-{zlib.crc32(file.read(position - start)):08x}"
        except OSError:
            return ""  # reading the entries reports the error

    def entries(
        self, conversation: str, revision: Revision, start: int = 0, *, at_most: int | None = None
    ) -> Iterator[FeedEntry]:
        path = self._path(conversation)
        try:
            with open(path, "rb", opener=opener_now) as file:
                file.seek(start)
                if at_most is not None and revision.end - start > at_most:
                    start = file.seek(revision.end - at_most)
                    start += len(file.readline())
                for line in file:
                    complete = line.endswith(b"\n") or decode(line) is not None  # editors may leave no final newline
                    if not complete or start + len(line) > revision.end:
                        return  # still being written
                    yield FeedEntry(start, len(line), entry_of(line))
                    start += len(line)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreTrouble(f"cannot read {path}: {error.strerror or error}") from error

    def entries_at(self, conversation: str, places: Sequence[tuple[int, int]]) -> list[JournalEntry | None]:
        path = f"{self._sessions}/{conversation}.jsonl"  # text: building a `Path` takes longer than reading a turn
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return [entry_of(os.pread(fd, length, position)) for position, length in places]
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            return [None] * len(places)
        except OSError as error:
            raise StoreTrouble(f"cannot read {path}: {error.strerror or error}") from error

    def meta(self, conversation: str) -> ConversationMeta:
        meta = Journal(self._sessions, conversation).meta()
        channel = str(meta.get("channel") or channel_of(str(meta.get("cwd", ""))))
        source, title = str(meta.get("source", "")), str(meta.get("title", ""))
        return ConversationMeta(visible(channel), visible(source), visible(title))

    def _path(self, conversation: str) -> Path:
        return self._sessions / f"{conversation}.jsonl"


class JournalWatch:
    """Checks the directory and the journals modified last at each poll, and all journals now and then."""

    def __init__(self, sessions: Path) -> None:
        self._sessions = sessions
        self._scanned = float("-inf")  # when all journals were scanned last
        self._rescan_interval = _MIN_RESCAN
        self._names: AbstractSet[str] = frozenset()
        self._directory: _Status | None = None  # None: a change of the directory could go unnoticed
        self._recent: dict[str, _Status] = {}

    def poll(self, *, full: bool = False) -> Poll:
        if full or time.monotonic() - self._scanned >= self._rescan_interval or self._names_changed():
            return Poll(True, self._scan())
        now = {name: _status_of(f"{self._sessions}/{name}.jsonl") for name in self._recent}
        changed = {name: status for name, status in now.items() if status and status != self._recent[name]}
        self._recent |= changed
        return Poll(False, {name: _revision(status) for name, status in changed.items()})

    def _scan(self) -> dict[str, Revision]:
        started = time.monotonic()
        self._scanned = float("-inf")  # in case of an error
        self._directory = self._settled_directory()
        journals = _journals(self._sessions)
        recent = nlargest(_RECENT, journals, key=lambda name: journals[name][1])
        self._names = journals.keys()
        self._recent = {name: journals[name] for name in recent}
        self._scanned = started
        self._rescan_interval = max(_MIN_RESCAN, _RESCAN_FACTOR * (time.monotonic() - started))
        return {name: _revision(status) for name, status in journals.items()}

    def _names_changed(self) -> bool:
        """Was a conversation added or deleted?"""
        if self._directory and _status_of(self._sessions) == self._directory:
            return False
        self._directory = self._settled_directory()
        try:
            names = frozenset(filter(None, map(_conversation_of, os.listdir(self._sessions))))  # noqa: PTH208  # faster
        except OSError:
            names = frozenset()
        return names != self._names  # unequal directories alone may mean a `.live` file, which comes and goes

    def _settled_directory(self) -> _Status | None:
        """The state of the directory, unless it has just changed and may change again at the same clock tick."""
        status = _status_of(self._sessions)
        return None if status and time.time_ns() - status[1] < _CLOCK_TICK else status


def _journals(sessions: Path) -> dict[str, _Status]:
    """Every journal in the directory. Raises `StoreTrouble`: an unreadable directory is not an empty one."""
    found = {}
    try:
        directory = os.open(sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # by file descriptor: with thousands of files, resolving paths takes as long as `stat` itself
            with os.scandir(directory) as entries:
                for entry in entries:
                    if name := _conversation_of(entry.name):
                        try:
                            status = entry.stat()
                        except FileNotFoundError:
                            continue  # deleted in the meantime
                        except OSError:
                            if not entry.is_symlink():
                                raise
                            continue  # a broken link must not hide the other journals
                        if stat.S_IFMT(status.st_mode) in _FILE_TYPES:
                            found[name] = status.st_ino, status.st_mtime_ns, status.st_size
        finally:
            os.close(directory)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreTrouble(f"cannot read {sessions}: {error.strerror or error}") from error
    return found


def _conversation_of(file: str) -> str:
    """The conversation whose journal has this file name; empty if the file is not a journal."""
    return file[:-6] if file.endswith(".jsonl") and file != "names.jsonl" and for_keeping(file) == file else ""


def _revision(status: _Status) -> Revision:
    inode, modified, size = status
    return Revision(f"{inode}-{modified}", size)


def _status_of(path: Path | str) -> _Status | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # may be text: building a `Path` takes longer than `stat`
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
