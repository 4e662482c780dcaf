"""The log of changes to memory, and undo.

Undoing appends records with a field `undoes`. The records of one change share the field `change`.
"""

from collections.abc import Iterator
from typing import Any

from aish.memory.item_store import ItemStore
from aish.memory.ledger_lines import read_item, targets
from aish.values.errors import NotFound
from aish.values.items import FORGET, Item
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Record

OWN = {
    "id",
    "ts",
    "crc",
    "change",
    "undoes",
    "restores",
    "supersedes",
}  # fields of one line that a copy of the item does not get
SUPERSEDED = "superseded"  # the reason of a tombstone that keeps an item hidden when its successor is purged


class Change(NamedTuple):
    """One line of the log."""

    id: int
    ts: str
    what: str
    text: str


class Undone(NamedTuple):
    """The description of a change that was undone, and the ids under which items are back."""

    said: str
    back: tuple[int, ...] = ()


def log(ledger: ItemStore) -> Iterator[Change]:
    """Yield all changes, newest first."""
    for record in ledger.records_back():
        change = _change(ledger, record)
        if change:
            yield change


def undo(ledger: ItemStore) -> Undone:
    """Undo the last change that is not undone yet. Raises `NotFound`."""
    said = ""

    def changes() -> list[dict[str, Any]]:
        nonlocal said
        group, copies = _last_change(ledger)
        change = _change(ledger, group[-1])
        said = f"{change.what} {change.text}" if change else "a change"
        if len(group) > 1:
            said += f" and {len(group) - 1} more"
        number = _number(group[-1])
        undone = [fields for record in group if (fields := _opposite(ledger, record, copies))]
        said += "" if undone else " (it had no effect any more)"
        return [{**fields, "undoes": number} for fields in undone or [{"kind": FORGET, "target": 0}]]

    back = [record["id"] for record in ledger.apply(changes) if "restores" in record]
    return Undone(said, tuple(sorted(back)))


def _opposite(ledger: ItemStore, record: Record, copies: dict[int, int]) -> dict[str, Any] | None:
    """Return the record that undoes this one, or None if there is nothing to undo."""
    if record["kind"] == FORGET:
        old = next((ledger.get(id) for id in targets(record)), None)
        return {**_copied_fields(old.record), "restores": old.id} if old else None
    state = ledger.state()
    shown = next((id for id in _copies(record["id"], copies) if state.shows(id)), None)
    older = _before(ledger, record)
    if older:
        return {**_copied_fields(older.record), "restores": older.id, "supersedes": [shown or record["id"]]}
    return {"kind": FORGET, "target": shown} if shown else None


def _last_change(ledger: ItemStore) -> tuple[list[Record], dict[int, int]]:
    """Return the records of the last change that is not undone, newest first, and the copy of each restored item."""
    undone: set[int] = set()
    copies: dict[int, int] = {}
    group: list[Record] = []
    for record in ledger.records_back():
        id = record.get("id")
        if not isinstance(id, int):
            continue
        if group and _number(record) != _number(group[0]):
            break
        if isinstance(record.get("restores"), int):
            copies.setdefault(record["restores"], id)
        if isinstance(record.get("undoes"), int):
            undone.add(record["undoes"])
        elif _can_be_undone(record) and _number(record) not in undone:
            group.append(record)
    if not group:
        raise NotFound("nothing to undo")
    return group, copies


def _before(ledger: ItemStore, record: Record) -> Item | None:
    """Return the item that this one replaced."""
    ids = targets(record)
    key = record.get("key")
    if not ids and isinstance(key, str):
        for earlier in ledger.records_back():
            id = earlier.get("id")
            if earlier.get("key") == key and isinstance(id, int) and id < record["id"]:
                ids = [id]
                break
        if ids and any(r.get("target") == ids[0] and r["id"] < record["id"] for r in _tombstones(ledger)):
            ids = []  # it was already forgotten, so it is not restored
    return ledger.get(ids[0]) if ids else None


def _tombstones(ledger: ItemStore) -> Iterator[Record]:
    return (r for r in ledger.records_back() if r.get("kind") == FORGET and isinstance(r.get("id"), int))


def _change(ledger: ItemStore, record: Record) -> Change | None:
    id, kind = record.get("id"), record.get("kind")
    if not isinstance(id, int):
        return None
    if kind == FORGET:
        target = record.get("target")
        what = "purged" if "purged" in record else "undid" if "undoes" in record else record.get("reason", "forgot")
        old = ledger.get(target) if isinstance(target, int) and target and what != "purged" else None
        return Change(id, str(record.get("ts", "")), str(what), f"{target}: {old.content}" if old else f"{target}")
    item = read_item(record)
    if isinstance(item, str):
        return None
    what = "added"
    if "restores" in record:
        what = f"restored {record['restores']} as"
    elif older := targets(record):
        what = f"edited {older[0]} into"
    elif item.key:
        what = "set"
    return Change(id, item.ts, what, f"{id}: ({item.kind}) {item.content}")


def _number(record: Record) -> int:
    """Return the number of the change that a record belongs to. By default it is the id of the record."""
    change = record.get("change")
    return change if isinstance(change, int) else int(record["id"])


def _can_be_undone(record: Record) -> bool:
    """A purge cannot be undone, nor can the tombstones that keep older items hidden after it."""
    return "kind" in record and "purged" not in record and record.get("reason") != SUPERSEDED


def _copied_fields(record: Record) -> dict[str, Any]:
    """Return the fields of a record that a copy of it gets."""
    return {name: value for name, value in record.items() if name not in OWN}


def _copies(id: int, copies: dict[int, int]) -> Iterator[int]:
    """Yield the id of an item and of all its restored copies, oldest first."""
    seen = set()
    while id not in seen:
        seen.add(id)
        yield id
        id = copies.get(id, id)
