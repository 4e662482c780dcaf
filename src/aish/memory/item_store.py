"""The port of curated memory: what `Memory` asks of a ledger, and the rules of a change that all adapters share.

Pure: the rules take the state of a ledger, and return what is to be written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from aish.memory.ledger_lines import read_item
from aish.memory.ledger_state import State
from aish.values.errors import Declined, NotFound
from aish.values.items import FORGET, Item, read_time
from aish.values.stores import START, Cleaner, Cursor, Health, Record

Fields = Mapping[str, Any]


class Added(NamedTuple):
    """What came of an item: it is in the ledger now, or it was there before."""

    item: Item
    new: bool


class ItemCleaner(Cleaner, Protocol):
    """Erases items as well: an item with the phrases becomes a tombstone with its fingerprint."""

    def clean_item(self, record: Record) -> Record: ...


class ItemStore(Protocol):
    """Items that stay until they are forgotten.

    1. Once a change returns, it survives a crash.
    2. Ids grow and are never given twice, whatever the number of writers.
    3. A record is never edited or removed except by `erase`; forgetting and undoing append.
    4. `since` gives each record once, whoever wrote it; unknown fields are kept.
    5. Changes of other writers are in the next `state`.

    All verbs raise `StoreTrouble`.
    """

    @property
    def name(self) -> str:
        """A short name for messages."""

    def state(self) -> State:
        """What all records come to: which items there are, and which are hidden."""

    def items(self) -> Iterator[Item]:
        """The active items, newest first, each read when it is asked for."""

    def get(self, id: int) -> Item | None:
        """The item with this id, also if it was forgotten; None if there was none, or it is purged."""

    def known(self, content: str) -> Item | None:
        """The active item with the same text, if there is one."""

    def records_back(self) -> Iterator[Record]:
        """Every record, newest first."""

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        """Every record after `cursor`, oldest first, each with its own cursor. Raises `StaleCursor`."""

    def at(self, time: datetime) -> list[Item]:
        """The items that were active at that time, newest first."""

    def add(self, kind: str, content: str, fields: Fields | None = None, *, instead_of: int = 0) -> Added:
        """Write an item, unless another has the same text; `instead_of` is the item that it supersedes.

        Raises `BadUsage`, `Declined`, `NotFound`; nothing is written then.
        """

    def forget(self, ids: Iterable[int], fields: Fields | None = None) -> list[int]:
        """Write a tombstone for each of these that is active, and return which were."""

    def apply(self, changes: Callable[[], list[dict[str, Any]]]) -> list[Record]:
        """Write records as one change, each with its id and time. They are made while nobody else can write."""

    def erase(self, cleaner: ItemCleaner) -> int:
        """Take phrases out of all records, and return how many had them."""

    def health(self) -> Health: ...
    def close(self) -> None: ...


def check_add(state: State, text: str, instead_of: int, fingerprint: Callable[[str], str] | None) -> None:
    """Refuse an item that was purged, or that would replace one that is not active. `text` is folded."""
    if state.purged and fingerprint and fingerprint(text) in state.purged:
        raise Declined("this was purged, so it is not learned again; say it in other words to have it back")
    if instead_of and not state.shows(instead_of):
        raise NotFound(f"item {instead_of} is not there any more; nothing was changed")


def plan_add(
    state: State, older: Item | None, kind: str, content: str, fields: Fields | None, instead_of: int
) -> list[dict[str, Any]]:
    """The records to write for an item; none if `older`, which has the same text, is enough."""
    record = {"kind": kind, "content": content, **(fields or {})}
    if not older or older.id == instead_of:
        return [record]
    if not record.get("key") or record["key"] == older.key:
        return []
    if older.key:
        return [record]
    # Without a tombstone the older item would stay when the key gets another value.
    change = state.last_id + 1
    return [{"kind": FORGET, "target": older.id, "change": change}, {**record, "change": change}]


def plan_forget(state: State, ids: Iterable[int], fields: Fields | None) -> tuple[list[int], list[dict[str, Any]]]:
    """Which of these are active, and the tombstones for them: one change."""
    gone = [id for id in dict.fromkeys(ids) if state.shows(id)]
    change = {"change": state.last_id + 1} if len(gone) > 1 else {}
    return gone, [{"kind": FORGET, "target": id, **change, **(fields or {})} for id in gone]


def as_one_change(state: State, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark records as one change, if there are more than one."""
    group = {"change": state.last_id + 1} if len(records) > 1 else {}
    return [{**fields, **group} for fields in records]


def items_at(records: Iterable[Record], time: datetime) -> list[Item]:
    """The items that were active at that time, newest first, by all records of a ledger."""
    state, taken = State(), list[Record]()
    for record in records:
        if read_time(str(record.get("ts", ""))) <= time:
            state.take(record, len(taken))
            taken.append(record)
    found = [read_item(taken[place]) for _, _, place, _ in state.newest()]
    return [item for item in found if isinstance(item, Item)]
