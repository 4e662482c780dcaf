"""Notes: Markdown files that both aish and the user edit.

workspace/AGENTS.md                              a note of the whole workspace
workspace/channels/<channel>/MEMORY.md           a note of a channel
workspace/channels/<channel>/.earlier/MEMORY.md.7   an earlier text; higher numbers are newer
"""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from aish.storage.files import erase_from, locked, replace_file
from aish.storage.line_reading import opener_now
from aish.values.channels import is_channel_name
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.stores import Cleaner, Note, NoteName

KEPT = 5  # earlier texts
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}\.md")
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

    return hashlib.sha256(data).hexdigest()[:32]


class NoteFiles:
    """Notes below one directory. Implements `NoteStore`.

    Files and directories are private to the user. Symbolic links are refused, because they could lead anywhere.
    An editor takes no lock: if it saves between the comparison and the replacement, its change is lost. Two aish
    processes cannot overwrite each other's changes.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def read(self, name: NoteName) -> Note:
        data = self._data(self._path(name))
        return Note("", "") if data is None else Note(data.decode("utf-8", "replace"), revision_of(data))

    def replace(self, name: NoteName, text: str, expected: str) -> str | Note:
        path = self._path(name)
        new = text.encode("utf-8", "replace")
        with locked(self._workspace / ".lock"):
            old = self._data(path)
            if ("" if old is None else revision_of(old)) != expected:
                return self.read(name)
            if old is not None and old != new:
                self._keep(path, old)
            if old != new:
                replace_file(path, new)
        return revision_of(new)

    def earlier(self, name: NoteName) -> list[str]:
        found = [self._data(path) for path in self._generations(self._path(name))]
        return [data.decode("utf-8", "replace") for data in reversed(found) if data is not None]

    def names(self) -> list[NoteName]:
        return sorted(name for directory, channel in self._directories() for name in _notes_in(directory, channel))

    def erase(self, cleaner: Cleaner) -> int:
        if not self._workspace.is_dir():
            return 0
        with locked(self._workspace / ".lock"):
            return sum(erase_from(path, cleaner) for path in list(self._files()))

    def _files(self) -> Iterator[Path]:
        """Yield all notes and earlier texts, also of deleted notes. Delete leftovers of killed processes."""
        for directory, channel in self._directories():
            yield from (directory / name.file for name in _notes_in(directory, channel))
            earlier = directory / _EARLIER
            folders = [directory]
            if not earlier.is_symlink():
                folders.append(earlier)
                yield from earlier.glob("*.md.*")
            for left in [path for folder in folders for path in folder.glob(".*.tmp")]:
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
                return file.read()
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
        numbers = sorted(int(each.suffix[1:]) for each in folder.glob(f"{path.name}.*") if each.suffix[1:].isdecimal())
        return [folder / f"{path.name}.{number}" for number in numbers]

    def _keep(self, path: Path, data: bytes) -> None:
        """Keep a text that is about to be replaced, and drop the oldest ones."""
        kept = self._generations(path)
        number = int(kept[-1].suffix[1:]) + 1 if kept else 1
        new = path.parent / _EARLIER / f"{path.name}.{number}"
        replace_file(new, data)
        for old in [*kept, new][:-KEPT]:
            _remove(old)


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
