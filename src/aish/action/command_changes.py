"""Keep the files that a command changes: the keeper of its fence copies each one before it is opened for writing.

The copies wait in a private directory until the command has ended. Then those that differ from the files go into the
undo store. Only what is in the project, not ignored and not part of git is kept, within limits. Nothing here makes a
command fail: what cannot be copied is not kept. But a command can move it to a file that is, so it is noted that it is
gone: taking the step back must not delete the last copy of it.
"""

import json
import os
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from aish.action.gitignore import IgnoreRule, is_ignored, read_rules
from aish.action.undo import Current, current
from aish.action.undo_store import MOST_OF_FILE, NOT_KEPT, FileChange, FileState, UndoStore
from aish.storage.files import write_all
from aish.storage.git_files import read_bounded
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple

_MOST_FILES = 200
_MOST_BYTES = 64 << 20
_MOST_NOTED = 5_000  # files, also new ones, which need no copy
_MOST_WALKED = 50_000  # entries of new directories
_MOST_READ = 256 << 20  # bytes of changed files that are read after the command
_MOST_OF_IGNORES = 1 << 16
_LIST = "list"
_COMPLETE = "complete"  # a file that is there as long as all went into the list


class _Copy(NamedTuple):
    """A file before the command changed it; `copy` is the name of its copy, empty if it was not copied.

    Files and directories that are `left_out` are never copied. An empty path stands for all that came after the limit.
    """

    path: str
    mode: int
    exists: bool
    copy: str
    left_out: bool = False


class CommandChanges:
    """The changes of one command. Use it as a context: at its end the copies are deleted.

    1. `before_write` runs in the keeper, which is a copy of this process: it leaves everything in files.
    2. `record` runs here, after the command has ended.
    """

    def __init__(self, store: UndoStore, root: Path) -> None:
        """Keep changes in the project `root`. Raises `StoreTrouble`."""
        self._store, self._root = store, os.path.realpath(root)
        self._spool = store.make_spool()
        with suppress(OSError):  # without it nothing counts as complete
            (self._spool / _COMPLETE).touch()
        self._seen: set[str] = set()
        self._ignores: dict[str, list[IgnoreRule]] = {}
        self._copied, self._bytes = 0, 0
        self._partial = False  # something was changed that is not kept

    def __enter__(self) -> "CommandChanges":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._spool, ignore_errors=True)

    def before_write(self, path: str) -> None:
        """Copy a file that is about to be written, replaced or deleted, or all files of such a directory."""
        try:
            if path.startswith(f"{self._root}/"):
                self._note(path)
        except Exception:  # the command must go on, whatever happened here
            with suppress(OSError):
                (self._spool / _COMPLETE).unlink()  # this works on a full disk, too

    def _note(self, path: str) -> None:
        if path in self._seen or len(self._seen) > _MOST_NOTED:
            return
        self._seen.add(path)
        if len(self._seen) > _MOST_NOTED:
            self._list(_Copy("", 0, exists=False, copy=""))
            return
        if self._is_left_out(path):
            if os.path.lexists(path):
                self._list(_Copy(path, 0, exists=True, copy="", left_out=True))
            return
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            self._list(_Copy(path, 0, exists=False, copy=""))
            return
        if stat.S_ISDIR(found.st_mode):
            try:
                entries = list(os.scandir(path))
            except OSError:  # it may not be read, but a rename takes it along
                self._list(_Copy(path, 0, exists=True, copy="", left_out=True))
                return
            for entry in entries:
                self._note(entry.path)
        elif stat.S_ISREG(found.st_mode):
            self._list(_Copy(path, stat.S_IMODE(found.st_mode), exists=True, copy=self._copy(path, found.st_size)))

    def _copy(self, path: str, size: int) -> str:
        if size > MOST_OF_FILE or self._copied >= _MOST_FILES or self._bytes + size > _MOST_BYTES:
            return ""
        data = read_bounded(Path(path), MOST_OF_FILE)
        if data is None:
            return ""
        self._copied += 1
        self._bytes += len(data)
        name = str(self._copied)
        try:
            fd = os.open(self._spool / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                write_all(fd, data)
            finally:
                os.close(fd)
        except OSError:  # such as a full disk; a part of it must not take the room of the list
            (self._spool / name).unlink(missing_ok=True)
            return ""
        return name

    def _list(self, copy: _Copy) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(self._spool / _LIST, flags, 0o600)
        try:
            write_all(fd, json.dumps(copy).encode() + b"\n")
        finally:
            os.close(fd)

    def _is_left_out(self, path: str) -> bool:
        """Is it part of git, or ignored by the project, or below something that is?"""
        parts = path[len(self._root) + 1 :].split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[: depth - 1])
            if is_ignored(self._rules(above), "/".join(parts[:depth]), directory=depth < len(parts)):
                return True
        return False

    def _rules(self, directory: str) -> list[IgnoreRule]:
        """Return the patterns for what is in a directory, relative to the root."""
        if directory not in self._ignores:
            above = [] if not directory else self._rules(directory.rpartition("/")[0])
            data = read_bounded(Path(self._root, directory, ".gitignore"), _MOST_OF_IGNORES) or b""
            base = f"{directory}/" if directory else ""
            self._ignores[directory] = [*above, *read_rules(base, data.decode("utf-8", "replace"))]
        return self._ignores[directory]

    def record(self, conversation: str, *, turn: int, step: str, by: str) -> list[FileChange]:
        """Keep what the command changed, and return it. Call it once, after the command. Raises `StoreTrouble`."""
        complete = (self._spool / _COMPLETE).exists()
        noted = self._copies()
        copies = {copy.path: copy for copy in noted if copy.path and not copy.left_out}
        self._partial = not complete or any(not copy.path or _is_lost(copy) for copy in noted)
        self._bytes = 0
        made = dict[str, None]()  # new directories, outermost first
        for copy in [copy for copy in copies.values() if not copy.exists and _is_directory(copy.path)]:
            del copies[copy.path]
            self._look_into(copy.path, made, copies)
        found = [self._change(copy, turn, step, by) for copy in copies.values()]
        changes = [_in_new_directories(change, made)._replace(partial=self._partial) for change in found if change]
        if changes:
            self._store.add(conversation, changes)
        return changes

    def _look_into(self, top: str, made: dict[str, None], copies: dict[str, _Copy]) -> None:
        """Note a new directory, and the files that came into it with a rename: nobody opened them for writing."""
        left = _MOST_WALKED
        for directory, folders, names in os.walk(top):
            left -= 1 + len(names)
            if left < 0 or len(copies) >= _MOST_NOTED:
                self._partial = True
                return
            made[directory[len(self._root) + 1 :]] = None
            folders.sort()
            for name in sorted(names):
                path = f"{directory}/{name}"
                if path not in copies and not self._is_left_out(path):
                    copies[path] = _Copy(path, 0, exists=False, copy="")

    def _copies(self) -> list[_Copy]:
        try:
            lines = (self._spool / _LIST).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreTrouble(f"cannot read what a command changed: {error.strerror or error}") from error
        return [copy for line in lines if (copy := _read(line))]

    def _change(self, copy: _Copy, turn: int, step: str, by: str) -> FileChange | None:
        path = copy.path[len(self._root) + 1 :]
        now = Current(trouble="too much") if self._bytes > _MOST_READ else current(Path(self._root), path)
        self._bytes += len(now.content or b"")
        if now.trouble:
            after = FileState(NOT_KEPT)
        elif now.content is None or now.status is None:
            after = FileState()
        else:
            after = FileState(self._store.hash(now.content), stat.S_IMODE(now.status.st_mode))
        before = FileState()
        if copy.exists:
            data = read_bounded(self._spool / copy.copy, MOST_OF_FILE) if copy.copy else None
            if data is not None and FileState(self._store.hash(data), copy.mode) == after:
                return None
            before = FileState(NOT_KEPT if data is None else self._store.keep(data), copy.mode)
        return None if before == after else FileChange(step, turn, self._root, path, before, after, by)


def _read(line: bytes) -> _Copy | None:
    """Return an entry of the list; None if it was not written completely."""
    try:
        return _Copy(*json.loads(line))
    except (ValueError, TypeError):
        return None


def _is_lost(copy: _Copy) -> bool:
    """Is a file gone that existed and was not copied?"""
    return copy.exists and not copy.copy and not os.path.lexists(copy.path)


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _in_new_directories(change: FileChange, made: Collection[str]) -> FileChange:
    """Return a change with the directories that were created for its file, innermost first."""
    parents = (str(parent) for parent in Path(change.path).parents)
    return change._replace(directories=tuple(parent for parent in parents if parent in made))
