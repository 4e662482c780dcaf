"""Ports of the stores: what the program asks of whatever keeps its records.

Files are the first adapter of each port; an in-memory adapter ships for tests and for runs that keep nothing.
The tests in `tests/contracts` hold every adapter to the contracts below.

Pure: contracts and values only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

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

    place: str  # for messages: where the records are
    damaged: int = 0  # records that cannot be read and are skipped
    problems: tuple[str, ...] = ()  # records that can be read but make no sense, and why
    torn: bool = False  # the last record is not whole; the next write sets it aside
    set_aside: str = ""  # where an earlier one was put


class Cleaner(Protocol):
    """What a purge gives to each store: it takes phrases out of texts and records."""

    def found_in(self, text: str) -> bool: ...
    def clean(self, text: str) -> str: ...
    def clean_record(self, record: Record) -> Record: ...


class RecordLog(Protocol):
    """An append-only list of records: calls of models, trusted files, allowed commands, one conversation.

    1. Once `append` or `extend` returns, the records survive a crash; a failed one leaves nothing behind.
    2. All readers see the records in one order, the order in which they were written, with every field they had.
    3. `since` gives each record once, with the cursor to resume from after it, whoever wrote it.
    4. `erase` leaves no phrase behind, and every cursor from before it is stale.
    5. Reading never waits for a writer.

    All verbs raise `StoreTrouble` when the store cannot be read or written.
    """

    def append(self, record: Mapping[str, Any], *, sync: bool = True) -> None:
        """Add one record. Without `sync` it may be lost in a power cut, but not in a crash of the program."""

    def extend(self, make: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Add records, all or none. They are made while nobody else can write."""

    def read(self, damage: Damage | None = None) -> Iterator[Record]:
        """Every record, oldest first; what cannot be read is counted in `damage`."""

    def read_back(self, damage: Damage | None = None) -> Iterator[Record]:
        """The same, newest first, reading only as far as it is asked for."""

    def having(self, field: str) -> Iterator[Record]:
        """The records that have a field, oldest first: cheaper than reading all of them."""

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        """Every record after `cursor`, oldest first, each with its own cursor. Raises `StaleCursor`."""

    def erase(self, cleaner: Cleaner) -> int:
        """Take phrases out of all records, and return how many had them."""

    def health(self) -> Health:
        """Read everything, and tell what is wrong with it."""


class LiveAnswer(Protocol):
    """The part of an answer that was shown so far, kept so that a killed program loses nothing.

    1. One writer at a time; a second one gets `StoreTrouble`.
    2. What was put survives the end of the program, and `recover` hands it out until it was taken in.
    """

    def begin(self, header: Callable[[], str]) -> None:
        """Start anew with one line that describes the answer. Does nothing while one is being given."""

    def put(self, keep: int, data: bytes) -> None:
        """Cut what was shown to `keep` bytes, and write `data` after them."""

    @property
    def size(self) -> int:
        """How many bytes were shown."""

    def end(self) -> None:
        """Drop it: the answer is in the journal. Another program's is left alone."""

    def close(self) -> None:
        """Stop writing, and leave what was shown for `recover`."""

    def recover(self, take: Callable[[str, str], int]) -> int:
        """Give a leftover (header and text) to `take`, drop it and return what that returned; 0 if there is none."""


class JournalStore(Protocol):
    """Where conversations are kept: a log of turns and a live answer for each, and the names users gave them."""

    def ids(self) -> list[str]:
        """Every conversation, in no order. A store that cannot be read has none."""

    def log(self, id: str, first: Callable[[], Mapping[str, Any]]) -> RecordLog:
        """The turns of a conversation; a new one starts with the record `first()`."""

    def live(self, id: str) -> LiveAnswer: ...
    def names(self) -> RecordLog: ...


class NoteName(NamedTuple):
    """A note of a channel, or of the whole workspace where `channel` is empty."""

    file: str
    channel: str = ""


class Note(NamedTuple):
    """A note as it is now. The revision of one that does not exist is empty."""

    text: str
    revision: str


class NoteStore(Protocol):
    """Markdown notes that programs and people edit.

    1. `replace` writes only if the note still has the expected revision; of two writers one gets the other's note.
    2. Readers see the old text or the new one, never a part.
    3. The last five texts before the present one are kept.
    4. `erase` leaves no phrase behind, in notes or in earlier texts.

    All verbs raise `BadUsage` for a name that is not allowed, and `StoreTrouble`.
    """

    def read(self, name: NoteName) -> Note: ...

    def replace(self, name: NoteName, text: str, expected: str) -> str | Note:
        """The new revision, or the present note if its revision is not `expected`. Nothing is written then."""

    def earlier(self, name: NoteName) -> list[str]:
        """The texts before the present one, newest first."""

    def names(self) -> list[NoteName]:
        """Every note, sorted."""

    def erase(self, cleaner: Cleaner) -> int:
        """Take phrases out of all notes and earlier texts, and return how many had them."""
