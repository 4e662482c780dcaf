"""What files were before the model changed them: contents by their hash, and a record of each change.

A conversation has one file of records. Contents are shared by all of them. Git is not used.
"""

import hashlib
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from aish.storage.files import make_directory, replace_file
from aish.storage.git_files import read_bounded
from aish.storage.lines import LineFile, open_log
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Record

MOST_OF_FILE = 8 << 20  # bytes; larger files are not kept
MOST_IN_ALL = 256 << 20
OLDEST = 30 * 86_400.0  # seconds
NOT_KEPT = "-"  # instead of a hash: the file was too large to keep
_TIDY_EVERY = 64  # contents
_SPOOL_SECONDS = 86_400.0  # no command runs longer before it copies its first file


class FileState(NamedTuple):
    """A file at one moment. Without a hash there is no file. The hash is salted: it tells nothing about the content."""

    hash: str = ""
    mode: int = 0


class FileChange(NamedTuple):
    """A file that one step of the model changed. `step` groups the changes of one call or command.

    `partial`: the step also took away or changed files that were not kept. This one may hold what was in them.
    """

    step: str
    turn: int  # the number of the user's question
    root: str
    path: str  # relative to the root
    before: FileState
    after: FileState
    by: str  # the tool, or the command
    directories: tuple[str, ...] = ()  # created for the file, relative to the root
    partial: bool = False


class UndoStore:
    """Keeps contents and changes below one directory.

    1. A content is returned only if it is what was kept: a purge may have changed it.
    2. Contents are limited in size, age and total size; the oldest go first.
    3. Records are only appended. A change that was taken back has a second record that says so.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._salt = b""
        self._kept = 0

    def hash(self, content: bytes) -> str:
        """Return the name of a content. Raises `StoreTrouble`."""
        if not self._salt:
            self._salt = self._load_salt()
        return hashlib.sha256(self._salt + content).hexdigest()

    def _load_salt(self) -> bytes:
        path = self._directory / "salt"
        found = read_bounded(path, 64)
        if found:
            return found
        salt = secrets.token_hex(16).encode()
        try:
            make_directory(self._directory)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:  # another process was faster
            return read_bounded(path, 64) or salt
        except OSError as error:
            raise StoreTrouble(f"cannot write {path}: {error.strerror or error}") from error
        with open(fd, "wb") as file:
            file.write(salt)
        return salt

    def keep(self, content: bytes) -> str:
        """Keep a content, and return its hash. Raises `StoreTrouble`."""
        if len(content) > MOST_OF_FILE:
            return NOT_KEPT
        name = self.hash(content)
        path = self._path(name)
        if self.content(name) is None:
            replace_file(path, content, sync=False)
            self._kept += 1
            if self._kept % _TIDY_EVERY == 1:
                self.tidy()
        else:
            with suppress(OSError):  # another process may have deleted it just now
                os.utime(path)  # the oldest are deleted first
        return name

    def content(self, name: str) -> bytes | None:
        """Return a content by its hash; None if it is not there, or no longer what was kept. Raises `StoreTrouble`."""
        if not re.fullmatch(r"[0-9a-f]{64}", name):
            return None
        found = read_bounded(self._path(name), MOST_OF_FILE)
        return found if found is not None and self.hash(found) == name else None

    def _path(self, name: str) -> Path:
        return self._directory / "contents" / name[:2] / name

    def add(self, conversation: str, changes: Iterable[FileChange]) -> None:
        """Record changes, all or none. Raises `StoreTrouble`."""
        self._log(conversation).extend(lambda: map(_record, changes))

    def take_back(self, conversation: str, changes: Iterable[FileChange]) -> None:
        """Record that changes were taken back. Raises `StoreTrouble`."""
        self._log(conversation).extend(lambda: [{**_record(one), "undone": True} for one in changes])

    def changes(self, conversation: str) -> list[FileChange]:
        """Return the changes that were not taken back, oldest first. Raises `StoreTrouble`."""
        found: dict[tuple[str, str, str], FileChange] = {}
        for record in self._log(conversation):
            change = _read(record)
            if change is None:
                continue
            place = (change.step, change.root, change.path)
            if record.get("undone"):
                found.pop(place, None)
            else:
                found[place] = change
        return list(found.values())

    def _log(self, conversation: str) -> LineFile:
        name = re.sub(r"[^\w.-]", "_", conversation)[:100].lstrip(".") or "none"
        log = open_log(self._directory / f"{name}.jsonl", "changed files")
        assert isinstance(log, LineFile)
        return log

    def make_spool(self) -> Path:
        """Create a directory for copies of files that may be kept soon. Raises `StoreTrouble`."""
        try:
            make_directory(self._directory)
            return Path(tempfile.mkdtemp(prefix="spool-", dir=self._directory))
        except OSError as error:
            raise StoreTrouble(f"cannot write in {self._directory}: {error.strerror or error}") from error

    def tidy(self, now: float | None = None) -> None:
        """Delete what is too old, and the oldest contents beyond the total size. What cannot be deleted stays."""
        now = time.time() if now is None else now
        files, total = sorted(_files(self._directory), reverse=True), 0
        for modified, size, path in files:
            is_content = path.suffix != ".jsonl"
            total += size if is_content else 0
            if now - modified > OLDEST or (is_content and total > MOST_IN_ALL):
                with suppress(OSError):  # it is tried again the next time
                    path.unlink()
        for spool in self._directory.glob("spool-*"):  # of a crash; others have copies in them, or are new
            with suppress(OSError):
                if now - spool.stat().st_mtime > _SPOOL_SECONDS:
                    spool.rmdir()


def _files(directory: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield time, size and path of all contents and records, and of copies that a crash has left."""
    for path in (*directory.glob("contents/*/*"), *directory.glob("*.jsonl"), *directory.glob("spool-*/*")):
        try:
            found = path.lstat()
        except OSError:
            continue  # another process has deleted it
        yield found.st_mtime, found.st_size, path


def _record(change: FileChange) -> Record:
    record: dict[str, Any] = change._asdict()
    return {**record, "before": list(change.before), "after": list(change.after), "directories": [*change.directories]}


def _read(record: Record) -> FileChange | None:
    """Return the change of a record; None for other records, and for those that a purge has changed."""
    try:
        before, after = (FileState(str(name), int(mode)) for name, mode in (record["before"], record["after"]))
        texts = [str(record[name]) for name in ("step", "root", "path", "by")]
        made = tuple(map(str, record.get("directories", ())))
        partial = record.get("partial") is True
        return FileChange(texts[0], int(record["turn"]), texts[1], texts[2], before, after, texts[3], made, partial)
    except (KeyError, TypeError, ValueError):
        return None
