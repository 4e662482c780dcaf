"""Ports of the stores that keep the records of the program.

Files are the first adapter of each port; an in-memory adapter ships for tests and for runs that keep nothing.
The tests in `tests/contracts` hold every adapter to the contracts below.

Pure: contracts and values only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aish.values.named_tuple import NamedTuple

Record = dict[str, Any]
Cursor = str  # opaque: only the log that gave it can read it
START: Cursor = ""


class Damage:
    """What a reader had to skip. A plain class, because every verb loads it and `dataclasses` takes milliseconds."""

    def __init__(self) -> None:
        self.lines = 0


class StaleCursor(Exception):
    """Records before the cursor were erased. Drop what was derived from them, and read again from `START`."""


class Health(NamedTuple):
    """What a check of one store found. Only files can be damaged."""

    place: str  # location of the records, for messages
    damaged: int = 0  # records that cannot be read and are skipped
    problems: tuple[str, ...] = ()  # records that can be read but make no sense, and why
    torn: bool = False  # the last record is incomplete; the next write sets it aside
    set_aside: str = ""  # location of an earlier torn record


class Cleaner(Protocol):
    """Removes the phrases of a purge from texts and records."""

    def found_in(self, text: str) -> bool: ...
    def clean(self, text: str) -> str: ...
    def clean_record(self, record: Record) -> Record: ...


class RecordLog(Protocol):
    """An append-only list of records: calls of models, trusted files, allowed commands, one conversation.

    1. Once `append` or `extend` returns, the records survive a crash; a failed one leaves nothing behind.
    2. All readers see the records in one order, the order in which they were written, with every field they had.
    3. `since` gives each record once, with the cursor that continues after it, no matter which process wrote it.
    4. `erase` leaves no phrase behind. If it removed one, every cursor from before it is stale.
    5. Reading never waits for a writer.

    All verbs raise `StoreTrouble` when the store cannot be read or written.
    """

    def append(self, record: Mapping[str, Any], *, sync: bool = True) -> None:
        """Add one record. Without `sync` it may be lost in a power cut, but not in a crash of the program."""

    def extend(self, make: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Add records, all or none. `make` runs while other writers are locked out."""

    def read(self, damage: Damage | None = None) -> Iterator[Record]:
        """Yield every record, oldest first; unreadable ones are counted in `damage`."""

    def read_back(self, damage: Damage | None = None) -> Iterator[Record]:
        """Yield every record, newest first, reading only as far as needed."""

    def having(self, field: str) -> Iterator[Record]:
        """Yield the records that have a field, oldest first; cheaper than reading all."""

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        """Yield every record after `cursor`, oldest first, each with its own cursor. Raises `StaleCursor`."""

    def erase(self, cleaner: Cleaner) -> int:
        """Remove phrases from all records, and return how many records had them."""

    def health(self) -> Health:
        """Read everything, and report problems."""


class LiveAnswer(Protocol):
    """The part of an answer shown so far, kept so that a killed program loses nothing.

    1. One writer at a time; a second one gets `StoreTrouble`.
    2. Written data survives the end of the program, and `recover` offers it until it is accepted.
    """

    def begin(self, header: Callable[[], str]) -> None:
        """Start a new answer with a header line. Does nothing if one is in progress."""

    def put(self, keep: int, data: bytes) -> None:
        """Truncate to `keep` bytes, and append `data`."""

    @property
    def size(self) -> int:
        """The number of bytes written."""

    def end(self) -> None:
        """Delete it: the answer is in the journal. Does not touch one of another process."""

    def close(self) -> None:
        """Stop writing, and keep the data for `recover`."""

    def recover(self, take: Callable[[str, str], int]) -> int:
        """Pass a leftover (header and text) to `take`, delete it and return that result; 0 if there is none."""


class JournalStore(Protocol):
    """The store of conversations: for each a log of turns and a live answer, and the names given by the user."""

    def ids(self) -> list[str]:
        """Return the id of every conversation, unordered; none if the store cannot be read."""

    def log(self, id: str, first: Callable[[], Mapping[str, Any]]) -> RecordLog:
        """Return the log of a conversation; a new one starts with the record `first()`."""

    def live(self, id: str) -> LiveAnswer: ...
    def names(self) -> RecordLog: ...


class NoteName(NamedTuple):
    """A note of a channel, or of the whole workspace if `channel` is empty."""

    file: str
    channel: str = ""


class Note(NamedTuple):
    """The current text of a note. A missing note has an empty revision."""

    text: str
    revision: str
    problem: str = ""  # why the text is not the whole note: too large, or not UTF-8. Such a note must not be replaced


class NoteStore(Protocol):
    """Markdown notes, edited by programs and by the user.

    1. `replace` writes only if the note still has the expected revision; otherwise it returns the current note.
    2. Readers see the old text or the new one, never a part.
    3. The five previous texts are kept.
    4. `erase` leaves no phrase behind, in notes or in earlier texts.
    5. A change of an editor, which takes no lock, is never overwritten unseen.

    All verbs raise `BadUsage` for a name that is not allowed, and `StoreTrouble`.
    """

    def read(self, name: NoteName) -> Note: ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other programs from changing notes during a block, which may change several. Blocks may be nested."""

    def replace(self, name: NoteName, text: str, expected: str) -> str | Note:
        """Write the note and return its new revision, or return the current note if its revision is not `expected`."""

    def earlier(self, name: NoteName) -> list[str]:
        """Return the previous texts, newest first."""

    def names(self) -> list[NoteName]:
        """Return the name of every note, sorted."""

    def erase(self, cleaner: Cleaner) -> int:
        """Remove phrases from all notes and previous texts, and return how many had them."""
