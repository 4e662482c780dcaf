"""The port of curated memory: the interface of a ledger, and the rules for changes that all adapters share.

Pure: the rules take the state of a ledger, and return the records to write.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from aish.memory.ledger_lines import read_item
from aish.memory.ledger_state import State
from aish.values.errors import Declined, NotFound
from aish.values.items import FORGET, Item, read_time
from aish.values.named_tuple import NamedTuple
from aish.values.stores import START, Cleaner, Cursor, Health, Record

Fields = Mapping[str, Any]


class Added(NamedTuple):
    """The result of adding an item: the new item, or the existing one with the same text."""

    item: Item
    new: bool


class ItemCleaner(Cleaner, Protocol):
    """A cleaner that also erases items: an item with the phrases becomes a tombstone with its fingerprint."""

    def clean_item(self, record: Record) -> Record: ...


class ItemStore(Protocol):
    """Items that are active until they are forgotten.

    1. Once a change returns, it survives a crash.
    2. Ids grow and are never reused, with any number of writers.
    3. Only `erase` edits or removes records. Forgetting and undoing append.
    4. `since` yields each record of any writer once. Unknown fields are kept.
    5. The next `state` includes changes by other writers.

    All methods raise `StoreTrouble`.
    """

    @property
    def name(self) -> str:
        """A short name for messages."""

    def state(self) -> State:
        """Return the current state: which items exist, and which are hidden."""

    def items(self) -> Iterator[Item]:
        """Yield the active items, newest first. Each is read on demand."""

    def get(self, id: int) -> Item | None:
        """Return the item with this id, also a forgotten one. None if it never existed or was purged."""

    def known(self, content: str) -> Item | None:
        """Return the active item with the same text, if there is one."""

    def records_back(self) -> Iterator[Record]:
        """Yield all records, newest first."""

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        """Yield all records after `cursor`, oldest first, each with its cursor. Raises `StaleCursor`."""

    def at(self, time: datetime) -> list[Item]:
        """Return the items that were active at that time, newest first."""

    def add(self, kind: str, content: str, fields: Fields | None = None, *, instead_of: int = 0) -> Added:
        """Write an item, unless an active item has the same text. `instead_of` is the item that it supersedes.

        Raises `BadUsage`, `Declined` and `NotFound`. Nothing is written in these cases.
        """

    def forget(self, ids: Iterable[int], fields: Fields | None = None) -> list[int]:
        """Write a tombstone for each of these items that is active, and return their ids."""

    def apply(self, changes: Callable[[], list[dict[str, Any]]]) -> list[Record]:
        """Write records as one change, each with an id and time. `changes` is called under the lock."""

    def erase(self, cleaner: ItemCleaner) -> int:
        """Erase phrases from all records, and return how many had them."""

    def health(self) -> Health: ...
    def close(self) -> None: ...


def check_add(state: State, text: str, instead_of: int, fingerprint: Callable[[str], str] | None) -> None:
    """Refuse an item that was purged, or that would replace an inactive item. `text` is folded."""
    if state.purged and fingerprint and fingerprint(text) in state.purged:
        raise Declined("this was purged, so it is not saved again; to save it anyway, use other words")
    if instead_of and not state.shows(instead_of):
        raise NotFound(f"item {instead_of} no longer exists; nothing was changed")


def plan_add(
    state: State, older: Item | None, kind: str, content: str, fields: Fields | None, instead_of: int
) -> list[dict[str, Any]]:
    """Return the records to write for an item. None are needed if `older`, with the same text, is enough."""
    record = {"kind": kind, "content": content, **(fields or {})}
    if not older or older.id == instead_of:
        return [record]
    if not record.get("key") or record["key"] == older.key:
        return []
    if older.key:
        return [record]
    # Without a tombstone, the older item would stay active when the key gets another value.
    change = state.last_id + 1
    return [{"kind": FORGET, "target": older.id, "change": change}, {**record, "change": change}]


def plan_forget(state: State, ids: Iterable[int], fields: Fields | None) -> tuple[list[int], list[dict[str, Any]]]:
    """Return which of these items are active, and their tombstones, as one change."""
    gone = [id for id in dict.fromkeys(ids) if state.shows(id)]
    change = {"change": state.last_id + 1} if len(gone) > 1 else {}
    return gone, [{"kind": FORGET, "target": id, **change, **(fields or {})} for id in gone]


def as_one_change(state: State, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark records as one change, if there is more than one."""
    group = {"change": state.last_id + 1} if len(records) > 1 else {}
    return [{**fields, **group} for fields in records]


def items_at(records: Iterable[Record], time: datetime) -> list[Item]:
    """Return the items that were active at that time, newest first, from all records of a ledger."""
    state, taken = State(), list[Record]()
    for record in records:
        if read_time(str(record.get("ts", ""))) <= time:
            state.take(record, len(taken))
            taken.append(record)
    found = [read_item(taken[place]) for _, _, place, _ in state.newest()]
    return [item for item in found if isinstance(item, Item)]
