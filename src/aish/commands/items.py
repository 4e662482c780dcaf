"""Shared by the memory commands: options, ids, tables of items, and the report of a change."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, overload

from aish.commands.memory_scope import MemoryScope
from aish.intake.commands import Arguments, CommandOption
from aish.memory.curation import Kept
from aish.memory.redaction import count_kinds
from aish.storage.lines import decode
from aish.values.errors import BadUsage, NotFound
from aish.values.items import KINDS, Item, read_time
from aish.values.person import NOBODY, Person, agrees
from aish.values.replies import Reply, Table
from aish.values.text import one_line
from aish.values.times import age, local

KIND = CommandOption("kind", takes_value=True)
TAG = CommandOption("tag", takes_value=True)
KEY = CommandOption("key", takes_value=True)
LIMIT = CommandOption("limit", takes_value=True)
YES = CommandOption("yes")
_USUAL = len(("id", "ts", "kind", "content", "source"))


async def keep_said(scope: MemoryScope, text: str, kind: str, fields: dict[str, Any] | None = None) -> Reply:
    """Remember a text from the user. Ask first if it contains a secret."""
    memory = scope.memory
    masked, plain = memory.redaction.mask(text), False
    if masked.kinds:
        question = f"this contains a secret ({count_kinds(masked.kinds)})\nsave it unmasked? [y/N/mask] "
        answer = (await scope.person.line(question)).strip().lower()
        plain = answer in ("y", "yes")
        if not plain and answer not in ("m", "mask", NOBODY):
            return Reply("nothing was written", data={"new": False}, found=False)
    kept = memory.remember(text, kind, plain=plain, source="user", **scope.said_where(), **(fields or {}))
    return say_kept(scope, kept)


def say_kept(scope: MemoryScope, kept: Kept, text: str = "") -> Reply:
    item = kept.item
    said = text or (
        f"remembered (id {item.id}): {one_line(item.content, 80)}" if kept.new else f"already known (id {item.id})"
    )
    lines = [line for line in (kept.masked, kept.revealed, said) if line]
    reply = Reply("\n".join(lines), data={"id": item.id, "new": kept.new, "masked": kept.masked, **item.record})
    return changed(scope, reply) if kept.new else reply


def changed(scope: MemoryScope, reply: Reply) -> Reply:
    """Update the prompt after a change, and put any warnings before the reply."""
    notices = scope.memory_changed()
    return reply._replace(text="\n".join([*(notice.text for notice in notices), reply.text])) if notices else reply


def as_table(scope: MemoryScope, items: list[Item], nothing: str) -> Reply:
    rows, styles = ItemRows(items, Moments(scope.now())), [item[2] for item in items]
    table = Table(("id", "age", "time", "kind", "content", "source"), rows, styles, wide=4)
    return Reply("" if items else nothing, table, [item[4] for item in items], found=bool(items))


class ItemRows(Sequence[tuple[str, ...]]):
    """The rows of a table of items, formatted on access so that a long list is not in memory twice."""

    def __init__(self, items: list[Item], moments: "Moments") -> None:
        self._items, self._moments = items, moments

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[str, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, ...] | list[tuple[str, ...]]:
        if isinstance(place, slice):
            return list(map(self._row, self._items[place]))
        return self._row(self._items[place])

    def _row(self, item: Item) -> tuple[str, ...]:
        id, ts, kind, text, record = item
        if len(record) == _USUAL and "source" in record:  # the usual case in long lists
            source = str(record["source"])
        else:
            text, source = _in_full(item)
        return str(id), *self._moments.of(ts), kind, text, source


def _in_full(item: Item) -> tuple[str, str]:
    """Return content and source of an item, with its tags, key and origin."""
    tags = "".join(f" #{tag}" for tag in item.tags)
    key = f" (key: {item.key})" if item.key and not item.content.startswith(item.key) else ""
    source = item.source if item.origin == item.source else f"{item.origin}, {item.source}"
    return item.content + tags + key, source


class Moments:
    """Formats times for a list. Caches by hour, because many items of a long list have the same hour."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._by_hour: dict[str, tuple[str, str]] = {}

    def of(self, ts: str) -> tuple[str, str]:
        """Return the age, and the local time."""
        known, ours = self._by_hour.get(ts[:13]), len(ts) == 24 and ts[23] == "Z"
        if known and ours:
            return known[0], known[1] + ts[13:16]
        time = read_time(ts)
        old, clock = age(time, self._now), local(time)
        # the age in days needs only the hour; cached only if the UTC offset is a whole number of hours
        if ours and clock[13:] == ts[13:16] and old.rstrip("s").endswith(("day", "week", "month", "year")):
            self._by_hour[ts[:13]] = old, clock[:13]
        return old, clock


def matching(items: Iterable[Item], kind: str, tags: Iterable[str], text: str) -> Iterable[Item]:
    """Return the items of this kind that have all of the tags and all words of the text. Raises `BadUsage`."""
    wanted_tags, wanted = set(tags), text.casefold().split()
    if kind and kind not in KINDS:
        raise BadUsage(f"unknown kind {kind!r}; use one of: {', '.join(KINDS)}")
    if kind:
        items = (item for item in items if item.kind == kind)
    if wanted_tags:
        items = (item for item in items if wanted_tags <= set(item.tags))
    if wanted:
        items = (item for item in items if all(word in item.content.casefold() for word in wanted))
    return items


def read_limit(arguments: Arguments) -> int | None:
    return read_id(arguments.value("limit")) if arguments.has("limit") else None


def read_id(word: str) -> int:
    text = word.strip().removeprefix("#")
    if not text:
        raise BadUsage("missing id; see :memory list")
    if not text.isdecimal() or len(text) > 15:
        raise BadUsage(f"expected a number, got {one_line(word, 40)!r}")
    return int(text)


def read_ids(words: str, where: str = ":memory list") -> list[int]:
    if not words.strip():
        raise BadUsage(f"missing id; see {where}")
    return [read_id(word) for word in words.replace(",", " ").split()]


def pending_ids(scope: MemoryScope, words: str) -> list[int]:
    if words.strip() == "all":
        return scope.memory.pending_ids()
    known, ids = set(scope.memory.pending_ids()), list(dict.fromkeys(read_ids(words, ":memory pending")))
    missing = [id for id in ids if id not in known]
    if missing:
        raise NotFound(f"no pending item {missing[0]}; see :memory pending")
    return ids


def read_records(data: bytes) -> Iterable[dict[str, Any] | None]:
    """Return the records of a file of JSON lines or one JSON list. None stands for an invalid record."""
    try:
        whole = json.loads(data)
        if isinstance(whole, list):
            return [record if isinstance(record, dict) else None for record in whole]
    except (ValueError, RecursionError):
        pass
    return [decode(line) for line in data.split(b"\n") if line.strip()]


async def agreed(person: Person, question: str) -> bool:
    return agrees(await person.line(f"{question} [y/N] "))


def nothing_after(name: str, text: str) -> None:
    """Raise `BadUsage` if there is text after a command that acts on all items."""
    if text.strip():
        raise BadUsage(f":memory {name} takes no arguments, but got {one_line(text, 40)!r}; nothing was changed")
