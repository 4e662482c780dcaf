"""Notes: Markdown files that both aish and the user edit.

workspace/AGENTS.md                              a note of the whole workspace
workspace/channels/<channel>/MEMORY.md           a note of a channel
workspace/channels/<channel>/.earlier/MEMORY.md.7   an earlier text; higher numbers are newer
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from aish.storage.files import erase_from, locked, make_directory, replace_file, sync_directory
from aish.storage.line_reading import opener_now
from aish.values.channels import is_channel_name
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.patterns import pattern
from aish.values.stores import Cleaner, Note, NoteName

KEPT = 5  # earlier texts
LARGEST_READ = 5 << 20  # bytes
TOO_LARGE = "it is larger than 5 MB"
NOT_UTF_8 = "it is not valid UTF-8"
REVISION_LENGTH = 32
_NOTHING = "0" * REVISION_LENGTH  # stands for the revision of a missing note
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)  # the system cannot exchange or link files
_FILE = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}\.md")
_EARLIER = ".earlier"


def check_name(name: NoteName) -> None:
    """Refuse a name that leads to another directory or is not a note. Raises `BadUsage`."""
    if not _FILE.fullmatch(name.file):
        raise BadUsage(f"{name.file!r} is not a valid note name; use letters, digits, . _ - and the ending .md")
    if name.channel and not is_channel_name(name.channel):
        raise BadUsage(f"{name.channel!r} is not a valid channel name; use letters, digits and -")


def revision_of(data: bytes) -> str:
    """Return a hash that identifies a text of a note."""
    import hashlib  # loads OpenSSL, which most runs never need

    return hashlib.sha256(data).hexdigest()[:REVISION_LENGTH]


def exchange_files(first: Path, second: Path) -> None:
    """Exchange two files in one step. Raises `OSError`; ENOSYS if the system cannot do it."""
    import ctypes  # only for writers of notes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    at, flags = ctypes.c_int(-100), ctypes.c_uint(2)  # AT_FDCWD, RENAME_EXCHANGE
    if call(at, os.fsencode(first), at, os.fsencode(second), flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(second))


class NoteFiles:
    """Notes below one directory. Implements `NoteStore`.

    1. Files and directories are private to the user. Symbolic links are refused, because they could lead anywhere.
    2. Two aish processes cannot overwrite each other's changes: they take a lock.
    3. Neither can they overwrite a change of an editor, which takes no lock: the new text and the file change places
       in one step, and if the file was another one than expected, they change back. Where the system cannot exchange
       two files, the file is compared just before it is replaced.
    4. A process that is killed between these steps leaves `.<name>.<old>.<new>.swap`; the next writer finishes them.
    """

    def __init__(self, workspace: Path, exchange: Callable[[Path, Path], None] = exchange_files) -> None:
        self._workspace = workspace
        self._exchange = exchange
        self._alone = RLock()
        self._depth = 0  # of nested blocks of `exclusive`

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._alone:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            with locked(self._workspace / ".lock"):
                self._depth = 1
                try:
                    yield
                finally:
                    self._depth = 0

    def read(self, name: NoteName) -> Note:
        return self._note(self._path(name))

    def _note(self, path: Path) -> Note:
        data = self._data(path)
        if data is None:
            return Note("", "")
        if len(data) > LARGEST_READ:
            return Note("", f"{revision_of(data)}+", TOO_LARGE)
        text = data.decode("utf-8", "replace")
        valid = "\ufffd" not in text or text.encode() == data
        return Note(text, revision_of(data), "" if valid else NOT_UTF_8)

    def replace(self, name: NoteName, text: str, expected: str) -> str | Note:
        path = self._path(name)
        new = text.encode("utf-8", "replace")
        with self.exclusive():
            self._finish(path)
            now = self._note(path)
            if now.revision != expected:
                return now
            if now.revision and revision_of(new) == expected:
                return expected
            if not self._swap(path, new, expected):
                return self._note(path)
        return revision_of(new)

    def earlier(self, name: NoteName) -> list[str]:
        found = [self._data(path) for path in self._generations(self._path(name))]
        return [data.decode("utf-8", "replace") for data in reversed(found) if data is not None]

    def names(self) -> list[NoteName]:
        return sorted(name for directory, channel in self._directories() for name in _notes_in(directory, channel))

    def erase(self, cleaner: Cleaner) -> int:
        if not self._workspace.is_dir():
            return 0
        with self.exclusive():
            return sum(self._erase(path, cleaner) for path in list(self._files()))

    def _files(self) -> Iterator[Path]:
        """Yield all notes and earlier texts, also of deleted notes. Finish or delete leftovers of killed processes."""
        for directory, channel in self._directories():
            for left in _listed(directory, r"\..+\.swap"):
                self._finish(directory / left.name[1:].rsplit(".", 3)[0])
            yield from (directory / name.file for name in _notes_in(directory, channel))
            earlier = directory / _EARLIER
            folders = [directory]
            if not earlier.is_symlink():
                folders.append(earlier)
                yield from _listed(earlier, r".+\.md\..+")
            for left in [path for folder in folders for path in _listed(folder, r"\..+\.tmp")]:
                _remove(left)

    def _path(self, name: NoteName) -> Path:
        """Return the path of a note. Raises `BadUsage`, and `StoreTrouble` for a symbolic link."""
        check_name(name)
        channels = self._workspace / "channels"
        directory = channels / name.channel if name.channel else self._workspace
        for path in (channels, directory, directory / _EARLIER, directory / name.file):
            if path.is_symlink() and path != self._workspace:  # the workspace itself may be a link
                raise StoreTrouble(f"cannot use {path}: it is a symbolic link; put the file itself there")
        return directory / name.file

    def _data(self, path: Path) -> bytes | None:
        try:
            with open(path, "rb", opener=_opener) as file:
                return file.read(LARGEST_READ + 1)  # what is larger is not used
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise StoreTrouble(f"cannot read {path}: {reason or error}") from error

    def _directories(self) -> Iterator[tuple[Path, str]]:
        """Yield all directories that may have notes, each with its channel."""
        yield self._workspace, ""
        try:
            channels = self._workspace / "channels"
            found = [] if channels.is_symlink() else sorted(channels.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreTrouble(f"cannot look into {error.filename}: {error.strerror or error}") from error
        yield from (
            (path, path.name)
            for path in found
            if is_channel_name(path.name) and path.is_dir() and not path.is_symlink()
        )

    def _generations(self, path: Path) -> list[Path]:
        """Return the files with earlier texts, oldest first."""
        folder = path.parent / _EARLIER
        if folder.is_symlink():
            return []
        found = _listed(folder, re.escape(path.name) + r"\.[0-9]+")
        return sorted(found, key=lambda each: int(each.suffix[1:]))

    def _erase(self, path: Path, cleaner: Cleaner) -> bool:
        """Erase phrases from a note or an earlier text, and tell whether it had them."""
        data = self._data(path)
        if path.parent.name == _EARLIER or data is None or len(data) > LARGEST_READ:
            return erase_from(path, cleaner)
        text = data.decode("utf-8", "surrogateescape")
        if not cleaner.found_in(text):
            return False
        new = cleaner.clean(text).encode("utf-8", "surrogateescape")
        return self._swap(path, new, revision_of(data), keep=False) or self._erase(path, cleaner) or True

    def _swap(self, path: Path, new: bytes, expected: str, *, keep: bool = True) -> bool:
        """Replace a note, and keep its old text. False: it was changed meanwhile, and has been left as it is."""
        aside, done = path.with_name(f".{path.name}.{expected or _NOTHING}.{revision_of(new)}.swap"), False
        replace_file(aside, new)
        try:
            if not expected:
                done = _create(aside, path)
            else:
                make_directory(path.parent / _EARLIER)
                done = self._exchanged(aside, path, new, expected)
            sync_directory(path.parent)
            if done and not keep:
                _remove(aside)
        except OSError as error:
            raise StoreTrouble(f"cannot write {path}: {error.strerror or error}") from error
        finally:
            try:
                self._finish(path)
            except StoreTrouble:
                pass  # the note itself is as it should be, and the next writer tries again
        return done

    def _exchanged(self, aside: Path, path: Path, new: bytes, expected: str) -> bool:
        """Exchange the new text and the note. If the note was not the expected one, exchange them back."""
        try:
            self._exchange(aside, path)
        except FileNotFoundError:  # deleted meanwhile
            return False
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            return self._overwritten(aside, path, expected)
        if self._is(aside, expected):
            return True
        self._put_back(aside, path)
        if aside.exists() and not self._is(aside, revision_of(new)):  # saved once more between the two exchanges:
            self._put_back(aside, path)  # the newest text counts
        return False

    def _put_back(self, aside: Path, path: Path) -> None:
        """Undo an exchange. If the system suddenly cannot exchange files, give up the new text, not the person's."""
        try:
            self._exchange(aside, path)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            aside.replace(path)

    def _overwritten(self, aside: Path, path: Path, expected: str) -> bool:
        """Replace the note where two files cannot be exchanged."""
        old = self._data(path)
        if old is None or revision_of(old) != expected:
            return False
        replace_file(self._next_generation(path), old)
        aside.replace(path)
        return True

    def _is(self, path: Path, revision: str) -> bool:
        """Does a file have this text? Raises `StoreTrouble`: an unreadable file must not be taken for a changed one."""
        if path.is_symlink() or path.is_dir():  # put there instead of the note
            return False
        data = self._data(path)
        return data is not None and revision_of(data) == revision

    def _finish(self, path: Path) -> None:
        """Finish what `_swap` left: an unused text is deleted, and an old one becomes the newest earlier text."""
        for aside in _listed(path.parent, rf"\.{re.escape(path.name)}\.\w+\.\w+\.swap"):
            expected, new = aside.name.split(".")[-3:-1]
            if not self._is(aside, new):
                if not self._is(aside, expected) and self._is(path, new):
                    try:
                        self._put_back(aside, path)  # killed before it could put back the change of an editor
                    except OSError as error:
                        raise StoreTrouble(f"cannot write {path}: {error.strerror or error}") from error
                if aside.exists() and not self._is(aside, new):
                    self._keep(path, aside)
                    continue
            _remove(aside)
        for old in self._generations(path)[:-KEPT]:
            _remove(old)

    def _keep(self, path: Path, aside: Path) -> None:
        """Keep a replaced text."""
        try:
            if aside.is_symlink() or not aside.is_file():
                return  # something else was put in the place of the note, and is left for the user to see
            aside.chmod(0o600)
            generation = self._next_generation(path)
            make_directory(generation.parent)
            aside.replace(generation)
            sync_directory(generation.parent)
        except OSError as error:
            raise StoreTrouble(f"cannot keep the earlier text of {path}: {error.strerror or error}") from error

    def _next_generation(self, path: Path) -> Path:
        kept = self._generations(path)
        number = int(kept[-1].suffix[1:]) + 1 if kept else 1
        return path.parent / _EARLIER / f"{path.name}.{number}"


def _create(aside: Path, path: Path) -> bool:
    """Move a new note to its place, unless there is one."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
        if path.exists():  # this file system has no hard links
            return False
        aside.replace(path)
    return True


def _listed(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder whose whole names match; none if there is no folder. Raises `StoreTrouble`."""
    try:
        return sorted(path for path in folder.iterdir() if re.fullmatch(pattern, path.name))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreTrouble(f"cannot look into {folder}: {error.strerror or error}") from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreTrouble(f"cannot remove {path}: {error.strerror or error}") from error


def _opener(path: str, flags: int) -> int:
    return opener_now(path, flags | os.O_NOFOLLOW)


def _notes_in(directory: Path, channel: str) -> Iterator[NoteName]:
    try:
        for path in directory.iterdir():
            if _FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                yield NoteName(path.name, channel)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise StoreTrouble(f"cannot look into {directory}: {error.strerror or error}") from error
