"""The history of an item: its origin, the prompts that contained it, and what it replaced."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from aish.memory.item_store import ItemStore
from aish.memory.ledger_lines import targets
from aish.values.errors import NotFound, StoreTrouble
from aish.values.items import FORGET, Item, read_time
from aish.values.text import counted, one_line
from aish.values.times import age, local

if TYPE_CHECKING:  # listing items does not need it
    from aish.memory.conversations import Conversations

_MOST_JOURNALS = 5000


def explain(ledger: ItemStore, conversations: "Conversations", id: int, now: datetime) -> dict[str, Any]:
    """Return all details of an item, by name. Raises `NotFound`."""
    item = ledger.get(id)
    if item is None:
        raise NotFound(_no_item(ledger, id))
    found: dict[str, Any] = {"item": f"{id} ({item.kind}) {item.content}", "from": _origin(item)}
    said = _said(conversations, item)
    if said:
        found["said in"] = said
    found["recorded"] = f"{local(item.time)} ({age(item.time, now)})"
    found["state"] = _status(ledger, item)
    if item.key:
        found["key"] = item.key
    older = _before(ledger, item)
    if older:
        found["superseded"] = "; ".join(f"{one.id}: {one_line(one.content, 60)}" for one in older)
    found["in prompts"] = _uses(list(_prompts(conversations, "background", id)))
    found["recalled"] = _uses(list(_prompts(conversations, "recalled_notes", f"ledger:{id}")))
    found["record"] = item.record
    return found


def _no_item(ledger: ItemStore, id: int) -> str:
    """Say what an id is that no item has. Changes have ids, too."""
    if id > ledger.state().last_id:
        return f"there is no item {id}"
    for record in ledger.records_back():
        if record.get("id") == id and record.get("kind") == FORGET and "purged" not in record and record.get("target"):
            what = "undid" if "undoes" in record else "forgot"
            return f"{id} is no item but the change that {what} {record['target']}; :memory why {record['target']}"
    return f"item {id} was purged or was never an item"


def _origin(item: Item) -> str:
    words = item.origin if item.origin == item.source else f"{item.origin}, learned in {item.source}"
    if item.origin not in ("user", "by hand"):
        words += ", confirmed by the user" if item.record.get("confirmed") else ""
    if "restores" in item.record:
        words += f"; restores {item.record['restores']}"
    return words


def _said(conversations: "Conversations", item: Item) -> str:
    conversation, number = item.record.get("conversation"), item.record.get("turn")
    if not conversation:
        return ""
    try:
        entries = conversations.open(str(conversation)).entries()
        turn = next((entry.turn for entry in entries if entry.number == number), None)
    except (StoreTrouble, ValueError):  # ValueError: not a valid file name
        turn = None
    return f"{conversation}, turn {number}" + (f": {one_line(turn.content, 60)}" if turn else "")


def _status(ledger: ItemStore, item: Item) -> str:
    """Tell whether an item is active, forgotten or superseded."""
    if ledger.state().shows(item.id):
        return "active"
    back = ""
    for record in ledger.records_back():
        if record.get("restores") == item.id and not back:
            back = f"; back as {record.get('id')}"
        if item.id in targets(record):
            when = local(read_time(str(record.get("ts", ""))))
            gone = f"forgotten {when}" if record.get("kind") == FORGET else f"superseded by {record.get('id')} {when}"
            return f"{gone}{back}"
    return f"superseded by another item with its key{back}"


def _before(ledger: ItemStore, item: Item) -> list[Item]:
    """Return the items that this one replaced, newest first."""
    older = [one for id in targets(item.record) if (one := ledger.get(id))]
    if item.key:
        for record in ledger.records_back():
            id = record.get("id")
            if record.get("key") == item.key and isinstance(id, int) and id < item.id:
                one = ledger.get(id)
                older += [one] if one and one not in older else []
    return older


def _prompts(conversations: "Conversations", field: str, id: int | str) -> Iterator[tuple[str, str]]:
    """Yield the conversations that recorded the item in this field, newest first, each with the first time."""
    for conversation in islice(conversations.own_ids(sub_agents=True), _MOST_JOURNALS):
        try:
            for record in conversations.open(conversation).records_with(field):
                ids = record[field]
                if isinstance(ids, list) and id in ids:
                    yield conversation, str(record.get("ts", ""))
                    break
        except StoreTrouble:
            continue


def _uses(uses: list[tuple[str, str]]) -> str:
    if not uses:
        return "never"
    newest, oldest = uses[0], uses[-1]
    words = f"{counted(len(uses), 'conversation')}, last {local(read_time(newest[1]))} ({newest[0]})"
    return words if len(uses) == 1 else f"{words}, first {local(read_time(oldest[1]))}"
