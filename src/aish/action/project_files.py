"""The files of a project for the tools of the model: what may be read and changed, and each change kept for undo."""

import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from aish.action.command_changes import CommandChanges
from aish.action.file_diff import file_diff
from aish.action.file_rules import is_secret_in, runs_later
from aish.action.file_search import Line, Walk, name_matches, search
from aish.action.file_text import FileText, decode, line_changes, lines_of, replace_exactly, shown
from aish.action.undo import FileHistory
from aish.action.undo_store import MOST_OF_FILE, FileChange, FileState, UndoStore
from aish.action.workspace import inside, read_inside, write_inside
from aish.values.errors import AishError, Declined, NotFound, StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted

MOST_LINES = 2_000
_LONGEST_LINE = 2_000  # characters that are shown of a line
_LONGEST_PATH = 4_096
_LONGEST_NAME = 255  # bytes, of usual file systems
_DEEPEST_PATH = 100  # directories; each is looked at several times
_MASKED_AS_A_WHOLE = 1 << 20  # characters; of longer texts only the part that is shown is searched for secrets
_READ_AGAIN = "read it again with read_file, then repeat the change"


class Site(NamedTuple):
    """Where a conversation works. Relative paths start in `directory`, as they do for its commands.

    Changes belong to `conversation`. A sub-agent works for that of the user, and `reader` is its own: what it read, no
    other model knows.
    """

    root: Path
    directory: Path
    conversation: str
    reader: str = ""

    @property
    def knows(self) -> str:
        """The conversation whose model has read what is read here."""
        return self.reader or self.conversation


class FilePart(NamedTuple):
    """Some lines of a file. `next_line` is the first one that was left out, or 0."""

    text: str
    first: int
    last: int
    total: int
    next_line: int = 0
    crlf: bool = False
    cut: int = 0  # lines that are too long to be shown completely


class Prepared(NamedTuple):
    """A change that can be made now, and what the user should know about it."""

    name: str  # the path as it is shown
    path: str  # relative to the root
    before: bytes | None
    after: bytes
    like: os.stat_result | None
    runs_later: bool  # it can run something later, outside of any fence
    secret: bool

    @property
    def diff(self) -> str:
        return file_diff(self.name, self.before, self.after)

    @property
    def summary(self) -> str:
        old, new = decode(self.before or b""), decode(self.after)
        return line_changes(old.text if old else "", new.text if new else "")


class ProjectFiles:
    """Reads and changes files of projects.

    1. No path leads out of the project, and none into the directories of aish (`own`).
    2. A file is changed only if it is as the model has read it, and as the user has seen it when asked.
    3. What a file was before is kept in `undo` before it is changed.
    """

    def __init__(self, undo: UndoStore, own: Sequence[Path], home: Path | None) -> None:
        self.undo, self.history = undo, FileHistory(undo)
        self._own = [Path(os.path.realpath(path)) for path in own]
        self._home = Path(os.path.realpath(home)) if home else None
        self._seen: dict[tuple[str, str], str] = {}  # by conversation and real path: the hash of what the model knows
        self._asked: dict[str, str] = {}  # by call: the hash of what the user was shown

    def real(self, site: Site, path: object) -> Path:
        """Return the real path of a file or directory in the project. Raises `Declined`."""
        root = Path(os.path.realpath(site.root))
        if root == Path("/") or (self._home and (root == self._home or root in self._home.parents)):
            raise Declined("there is no project here: file tools work in a project directory, never in a whole home")
        if not isinstance(path, str) or len(path) > _LONGEST_PATH:
            raise Declined("path must be a string, the path of a file in the project")
        named = path if path.startswith(("/", "~")) else f"{os.path.realpath(site.directory)}/{path}"
        real = inside(root, named)
        parts = real.relative_to(root).parts
        if len(parts) > _DEEPEST_PATH or any(len(os.fsencode(part)) > _LONGEST_NAME for part in parts):
            raise Declined("the path is too long")
        if self.is_own(real):
            raise Declined("denied: the files of aish itself are not part of the project")
        return real

    def existing(self, site: Site, path: object) -> Path:
        """Return the real path of a file or directory that exists. Raises `Declined`, `NotFound` and `StoreTrouble`."""
        real = self.real(site, path)
        name = self.name(site, real)
        with _named(name):  # the directory above may not be looked into, or the path be too long for the system
            if real.exists():
                return real
        raise NotFound(f"{name} does not exist; list_files shows what there is")

    def around_command(self, root: Path) -> CommandChanges:
        """Return what keeps the changes of one command in a project. Raises `StoreTrouble`."""
        return CommandChanges(self.undo, root)

    def site(self, root: Path, directory: Path, conversation: str, reader: str = "") -> Site:
        return Site(root, directory, conversation, reader)

    def is_own(self, real: Path) -> bool:
        """Does a path belong to aish itself?"""
        return any(real == one or one in real.parents for one in self._own)

    def name(self, site: Site, real: Path) -> str:
        """Return a real path as it is shown: relative to the current directory."""
        return os.path.relpath(real, os.path.realpath(site.directory))

    def needs_asking(self, site: Site, path: object) -> str:
        """Return the shown name of a file that may hold credentials; empty for all others. Raises `Declined`."""
        real = self.real(site, path)
        return self.name(site, real) if is_secret_in(site.root, real) else ""

    def read(
        self,
        site: Site,
        path: object,
        first: int = 1,
        most: int = 400,
        room: int = 6_000,
        mask: Callable[[str], str] = str,
    ) -> FilePart:
        """Return lines of a file, from line `first` on, and remember that the model has read it.

        Raises:
            Declined: it may not be read, or it is binary or too large.
            NotFound: it does not exist.
        """
        real = self.real(site, path)
        data, _ = self._bytes(site, real)
        text = _text(self.name(site, real), data)
        lines = lines_of(text.text if len(text.text) > _MASKED_AS_A_WHOLE else mask(text.text))
        wanted = lines[max(first, 1) - 1 :][: min(max(most, 1), MOST_LINES)]
        if lines and not wanted:
            raise NotFound(f"{self.name(site, real)} has only {counted(len(lines), 'line')}")
        some, cut, used = list[str](), 0, 0
        for line in wanted:
            if len(line) > _LONGEST_LINE:
                cut += 1
                line = f"{line[:_LONGEST_LINE]}[… {len(line) - _LONGEST_LINE:,} more characters …]\n"
            used += len(line)
            if some and used > room:
                break
            some.append(line)
        first = max(first, 1) if lines else 0
        last = first + len(some) - 1 if lines else 0
        self._seen[site.knows, str(real)] = self.undo.hash(data)
        joined = shown("".join(some))
        joined = mask(joined) if len(text.text) > _MASKED_AS_A_WHOLE else joined
        return FilePart(joined, first, last, len(lines), last + 1 if last < len(lines) else 0, text.crlf, cut)

    def listed(self, site: Site, path: str, depth: int, pattern: str, room: int) -> tuple[list[str], int, bool]:
        """Return names below a directory, how many were left out, and whether all were looked at.

        Names of directories end in a slash. Raises `BadUsage`, and as `existing` does.
        """
        start = self.existing(site, path)
        if not start.is_dir():
            raise NotFound(f"{self.name(site, start)} is not a directory")
        walk = Walk(site.root, start, self.is_own, depth=depth)
        fits = name_matches(pattern) if pattern else lambda name: True
        names, left_out = list[str](), 0
        for found in walk:
            if (pattern and found.directory) or not fits(str(found.path.relative_to(start))):
                continue
            name = shown(self.name(site, found.path)) + "/" * found.directory
            room -= len(name) + 4
            if room < 0:
                left_out += 1
            else:
                names.append(name)
        return names, left_out, walk.complete

    def search(self, site: Site, start: Path, pattern: str, glob: str) -> AsyncGenerator[Line]:
        """Yield matching lines of a file or directory. Raises as `file_search.search` does."""
        return search(site.root, start, pattern, glob, self.is_own)

    def prepare_edit(
        self, site: Site, path: object, old: object, new: object, *, every: bool, given: Callable[[str], bool]
    ) -> Prepared:
        """Return the replacement of a text in a file. `given` tells whether the model was given lines in another way.

        Raises:
            Declined: it may not be changed, or the model does not know it as it is.
            NotFound: it does not exist.
            BadUsage: the text is not there, or not once.
        """
        if not isinstance(old, str) or not isinstance(new, str):
            raise Declined("old and new must be strings: the text to replace, and what takes its place")
        real = self.real(site, path)
        name = self.name(site, real)
        data, like = self._bytes(site, real)
        text = _text(name, data)
        one, other = (part.replace("\r\n", "\n") if text.crlf else part for part in (old, new))
        known = self._seen.get((site.knows, str(real)))
        if known != self.undo.hash(data) and (known or not given(_lines_around(text.text, one))):
            reason = "changed since you read it" if known else "was not read in this conversation"
            raise Declined(f"{name} {reason}; {_READ_AGAIN}")
        return self._prepared(
            site, real, data, like, text._replace(text=replace_exactly(text.text, one, other, every=every))
        )

    def prepare_write(self, site: Site, path: object, content: object) -> Prepared:
        """Return a new file, or a new content of a file that the model has read. Raises as above."""
        if not isinstance(content, str):
            raise Declined("content must be a string, the whole text of the file")
        real = self.real(site, path)
        name = self.name(site, real)
        try:
            data, like = self._bytes(site, real)
        except NotFound:
            with _named(name):
                above = next(parent for parent in real.parents if parent.exists())
            if not above.is_dir():
                raise Declined(f"{name} cannot be created: {self.name(site, above)} is not a directory") from None
            return self._prepared(site, real, None, None, FileText(content))
        known = self._seen.get((site.knows, str(real)))
        if known != self.undo.hash(data):
            reason = "changed since you read it" if known else "exists, and was not read in this conversation"
            raise Declined(f"{name} {reason}; {_READ_AGAIN}")
        if content.encode("utf-8", "surrogateescape") == data:
            raise Declined(f"{name} has this content already")
        return self._prepared(site, real, data, like, _text(name, data).with_text(content))

    def _prepared(
        self, site: Site, real: Path, before: bytes | None, like: os.stat_result | None, text: FileText
    ) -> Prepared:
        name, path = self.name(site, real), str(real.relative_to(os.path.realpath(site.root)))
        try:
            after = text.encode()
        except UnicodeEncodeError:
            raise Declined("the text has characters that cannot be stored") from None
        if len(after) > MOST_OF_FILE or b"\0" in after:
            raise Declined(f"{name} would be binary, or have more than {MOST_OF_FILE >> 20} MB")
        return Prepared(name, path, before, after, like, runs_later(site.root, real), is_secret_in(site.root, real))

    def was_shown(self, call: str, change: Prepared) -> None:
        """Remember what the user saw when asked about a call."""
        self._asked[call] = self._state_hash(change)

    def apply(self, site: Site, change: Prepared, *, call: str, turn: int, step: str, by: str) -> None:
        """Make a change, after keeping what was there. Raises `Declined` and `StoreTrouble`."""
        asked = self._asked.pop(call, None)
        if asked is not None and asked != self._state_hash(change):
            raise Declined(f"{change.name} changed while the user was asked; {_READ_AGAIN}")
        mode = stat.S_IMODE(change.like.st_mode) if change.like else 0
        before = FileState() if change.before is None else FileState(self.undo.keep(change.before), mode)
        after = FileState(self.undo.hash(change.after), mode)
        missing = tuple(_missing_directories(site.root, change.path))
        record = FileChange(step, turn, os.path.realpath(site.root), change.path, before, after, by, missing)
        self.undo.add(site.conversation, [record])  # first: after a crash, the change can be taken back
        try:
            with _named(change.name):
                now = self._now(site, change)
                if now != change.before:
                    raise Declined(f"{change.name} changed in the meantime; {_READ_AGAIN}")
                write_inside(site.root, change.path, change.after, change.like)
        except AishError:
            with suppress(StoreTrouble):  # such as a full disk: then `:undo` finds the file as it was
                self.undo.take_back(site.conversation, [record])
            raise
        self._seen[site.knows, os.path.join(os.path.realpath(site.root), change.path)] = after.hash  # noqa: PTH118  # as text

    def _now(self, site: Site, change: Prepared) -> bytes | None:
        try:
            return read_inside(site.root, change.path, MOST_OF_FILE)[0]
        except NotFound:
            return None

    def _state_hash(self, change: Prepared) -> str:
        return self.undo.hash((b"" if change.before is None else b"+" + change.before) + b"\0" + change.after)

    def _bytes(self, site: Site, real: Path) -> tuple[bytes, os.stat_result]:
        name = self.name(site, real)
        with _named(name):
            try:
                return read_inside(site.root, str(real), MOST_OF_FILE)
            except NotFound:
                raise NotFound(f"{name} does not exist; list_files shows what there is") from None


def _text(name: str, data: bytes) -> FileText:
    text = decode(data)
    if text is None:
        raise Declined(f"{name} is a binary file ({len(data):,} bytes); only text can be read and changed")
    return text


def _lines_around(text: str, part: str) -> str:
    """Return the whole lines of the first occurrence of a text; the text itself if it does not occur."""
    at = text.find(part)
    if at < 0:
        return part
    end = text.find("\n", at + len(part))
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]


def _missing_directories(root: Path, path: str) -> Iterator[str]:
    """Yield the directories of a file that do not exist yet, innermost first."""
    for parent in Path(path).parents:
        if parent != Path() and not (root / parent).exists():
            yield str(parent)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Turn errors of the system into messages with the name of the file."""
    try:
        yield
    except PermissionError:
        raise Declined(f"{name} cannot be used: permission denied") from None
    except OSError as error:
        raise StoreTrouble(f"cannot use {name}: {error.strerror or error}") from error
