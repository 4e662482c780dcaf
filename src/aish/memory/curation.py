"""Curated memory behind one door: the ledger, what waits for the user's yes, masks, undo and purge.

Everything that remembers goes through here: commands, scripts, tools of the model, the summariser.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from aish.memory.entries import folded, read_item
from aish.memory.ledger import Ledger, Progress
from aish.memory.masks import Masks
from aish.memory.purge import Erased, Eraser, purge_files, torn_files
from aish.storage.lines import Record
from aish.values.errors import BadUsage, Declined, NotFound, StoreTrouble
from aish.values.items import FORGET, Item

_OWN = {"id", "ts", "crc", "change", "undoes", "restores", "supersedes"}  # not part of what an item says
_CODES = {"source", "origin", "conversation"}  # set by the program


class Kept(NamedTuple):
    """What came of a wish to remember: the item, whether it is new, whether it only waits, and what was masked."""

    item: Item
    new: bool
    waits: bool = False
    masked: str = ""


class Change(NamedTuple):
    """One line of the log: what happened to memory, and when."""

    id: int
    ts: str
    what: str
    text: str


class Memory:
    """All that is remembered on purpose.

    1. What is not the user's own word waits in a file of its own, which no prompt is ever made of.
    2. No secret is written but one the user insists on; nothing that was purged is written again.
    3. Every change can be undone but a purge, and undoing appends.
    """

    def __init__(self, ledger: Ledger, waiting: Ledger, masks: Masks, now: Callable[[], datetime]) -> None:
        self.ledger = ledger
        self.waiting = waiting
        self.masks = masks
        self._now = now

    def close(self) -> None:
        self.ledger.close()
        self.waiting.close()

    # Remembering

    def remember(self, content: str, kind: str = "fact", *, plain: bool = False, **fields: Any) -> Kept:
        """Keep an item. `source` is one of the fields; `plain` keeps a secret as it is, because the user insists."""
        masked = self.masks.mask(content)
        added = self.ledger.add(kind, content if plain else masked.text, self._fields(fields))
        return Kept(added.item, added.new, masked="" if plain else masked.notice)

    def propose(self, content: str, kind: str = "fact", **fields: Any) -> Kept:
        """Let an item wait for the user's yes, unless it is known or waits already."""
        masked = self.masks.mask(content)
        known = self.ledger.known(masked.text)
        if known:
            return Kept(known, new=False)
        self._refuse_purged(masked.text)
        added = self.waiting.add(kind, masked.text, self._fields(fields))
        return Kept(added.item, added.new, waits=True, masked=masked.notice)

    def accept(self, id: int) -> Kept:
        """Keep what waited. It stays what it was: where it came from does not change, only that the user said yes."""
        item = self._waiting(id)
        fields = {name: value for name, value in item.record.items() if name not in _OWN | {"kind", "content"}}
        added = self.ledger.add(item.kind, item.content, {**fields, "confirmed": True})
        self.waiting.forget([id])
        return Kept(added.item, added.new)

    def reject(self, id: int) -> Item:
        """Drop what waited."""
        item = self._waiting(id)
        self.waiting.forget([id])
        return item

    def set(self, key: str, value: str, kind: str = "fact", **fields: Any) -> Kept:
        """Keep `key = value`; what had the key before is superseded."""
        key = " ".join(folded(key).split())
        if not key or not value.strip():
            raise BadUsage("expected KEY = VALUE, such as: editor = helix")
        return self.remember(f"{key} = {value.strip()}", kind, key=key, **fields)

    def edit(self, id: int, content: str) -> Kept:
        """Keep another text in the place of an item."""
        old = self.ledger.active(id)
        fields = {name: value for name, value in old.record.items() if name not in _OWN | {"kind", "content"}}
        if content.strip() == old.content:
            return Kept(old, new=False)
        fields |= {"supersedes": [id], "source": "user"}
        fields.pop("origin", None)
        masked = self.masks.mask(content)
        added = self.ledger.add(old.kind, masked.text, fields, instead_of=id)
        return Kept(added.item, added.new, masked=masked.notice)

    def forget(self, ids: Iterable[int]) -> list[int]:
        """Forget these, and return which were there."""
        return self.ledger.forget(ids)

    def prune(self, days: int) -> int:
        """Forget what is older than so many days."""
        limit = int((self._now() - timedelta(days=days)).timestamp() * 1000)
        old = [row.id for row in self.ledger.state().newest() if row.time < limit]
        return len(self.ledger.forget(old, {"reason": "pruned"})) if old else 0

    def take_in(self, records: Iterable[Record], *, trusted: bool) -> tuple[int, int, int]:
        """Import items: how many came in, were known, or could not be taken. They wait unless they are trusted."""
        new = known = refused = 0
        for record in records:
            item = read_item({"id": 1, **record})
            if isinstance(item, str):
                refused += record.get("kind") != FORGET and "meta" not in record
                continue
            fields = {name: value for name, value in record.items() if name not in _OWN | {"kind", "content"}}
            if not trusted:
                fields |= {"source": "import", "origin": "import", "confirmed": False}
            try:
                keep = self.remember if trusted else self.propose
                kept = keep(item.content, item.kind, **fields)
            except (BadUsage, Declined):
                refused += 1
                continue
            new, known = new + kept.new, known + (not kept.new)
        return new, known, refused

    # Looking back

    def log(self) -> Iterator[Change]:
        """Every change, the newest first."""
        for record in self.ledger.records_back():
            change = self._change(record)
            if change:
                yield change

    def undo(self) -> str:
        """Take the last change back that was not taken back yet, and say what it was. Raises `NotFound`."""
        said = ""

        def changes() -> list[dict[str, Any]]:
            nonlocal said
            group, copies = self._last_change()
            change = self._change(group[-1])
            said = f"{change.what} {change.text}" if change else "a change"
            if len(group) > 1:
                said += f" and {len(group) - 1} more"
            number = group[-1].get("change", group[-1]["id"])
            undone = [fields for record in group if (fields := self._opposite(record, copies))]
            return [{**fields, "undoes": number} for fields in undone or [{"kind": FORGET, "target": 0}]]

        self.ledger.apply(changes)
        return said

    def _opposite(self, record: Record, copies: dict[int, int]) -> dict[str, Any] | None:
        """What takes a record back, or None if nothing is left to take back."""
        if record["kind"] == FORGET:
            old = self.ledger.get(record["target"])
            return {**_saying(old.record), "restores": old.id} if old else None
        state = self.ledger.state()
        shown = next((id for id in _copies(record["id"], copies) if state.shows(id)), None)
        older = self._before(record)
        if older:
            return {**_saying(older.record), "restores": older.id, "supersedes": [shown or record["id"]]}
        return {"kind": FORGET, "target": shown} if shown else None

    # Erasing

    def phrases(self, wanted: str) -> tuple[list[str], list[Item]]:
        """What a purge of an id or of words would erase, and the items that say it. Raises `NotFound`, `BadUsage`."""
        if wanted.isdecimal():
            item = self.ledger.get(int(wanted))
            if item is None:
                raise NotFound(f"there is no item {wanted}, or it is purged already")
            return [item.content], [item]
        if len(wanted.strip()) < 4:
            raise BadUsage("words of less than four letters stand everywhere; say more of them")
        eraser = Eraser([wanted], self.masks.seal)
        records = [*self.ledger.records_back(), *self.waiting.records_back()]
        found = [read_item(record) for record in records]
        items = [one for one in found if isinstance(one, Item) and eraser.found_in(one.content)]
        return [wanted, *(item.content for item in items)], items

    def purge(self, phrases: list[str], directories: Iterable[Path], leave: Iterable[Path]) -> Erased:
        """Erase the phrases from everything below the directories. The ledger comes last. Raises `StoreTrouble`."""

        def seal(text: str) -> str:
            return self.masks.seal(folded(text))

        eraser = Eraser(phrases, seal)
        ours = (self.ledger.path, self.waiting.path)
        files, busy = purge_files(eraser, directories, {*leave, *ours}, self._now)
        lines = [ledger.rewrite(eraser.clean_item) for ledger in (self.waiting, self.ledger)]
        files += sum(map(eraser.clean_file, torn_files(ours)))
        if not any(lines):  # it was no item, and must not become one
            self.ledger.apply(lambda: [{"kind": FORGET, "target": 0, "purged": seal(phrase)} for phrase in phrases])
        return Erased(eraser.places, files + sum(count > 0 for count in lines), busy)

    def _fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields that have something to say; those that somebody else may have written are masked."""
        masked: dict[str, Any] = {}
        for name, value in fields.items():
            if isinstance(value, str) and name not in _CODES:
                value = self.masks.text(value)
            elif isinstance(value, list | tuple):
                value = [self.masks.text(one) if isinstance(one, str) else one for one in value]
            if value:
                masked[name] = value
        return masked

    def _refuse_purged(self, content: str) -> None:
        purged = self.ledger.state().purged
        if purged and self.masks.seal(folded(content)) in purged:
            raise Declined("this was purged, so it is not learned again")

    def _waiting(self, id: int) -> Item:
        item = self.waiting.get(id) if self.waiting.state().shows(id) else None
        if item is None:
            raise NotFound(f"nothing with the number {id} waits; :memory pending lists what does")
        return item

    def _last_change(self) -> tuple[list[Record], dict[int, int]]:
        """The records of the last change that was not undone, newest first, and which item is a copy of which."""
        undone: set[int] = set()
        copies: dict[int, int] = {}
        group: list[Record] = []
        for record in self.ledger.records_back():
            id = record.get("id")
            if not isinstance(id, int):
                continue
            if group and record.get("change") != group[0].get("change"):
                break
            if isinstance(record.get("restores"), int):
                copies.setdefault(record["restores"], id)
            if isinstance(record.get("undoes"), int):
                undone.add(record["undoes"])
            elif "purged" not in record and record.get("change", id) not in undone and "kind" in record:
                group.append(record)
                if "change" not in record:
                    break
        if not group:
            raise NotFound("there is nothing to undo")
        return group, copies

    def _before(self, record: Record) -> Item | None:
        """The item that this one took the place of."""
        older = record.get("supersedes")
        ids = [id for id in older if isinstance(id, int)] if isinstance(older, list) else []
        key = record.get("key")
        if not ids and isinstance(key, str):
            for earlier in self.ledger.records_back():
                if earlier.get("key") == key and earlier.get("id", 0) < record["id"]:
                    ids = [earlier["id"]]
                    break
            if ids and any(r.get("target") == ids[0] and r["id"] < record["id"] for r in self._tombstones()):
                ids = []  # it was forgotten before, so it does not come back
        return self.ledger.get(ids[0]) if ids else None

    def _tombstones(self) -> Iterator[Record]:
        return (r for r in self.ledger.records_back() if r.get("kind") == FORGET and isinstance(r.get("id"), int))

    def _change(self, record: Record) -> Change | None:
        id, kind = record.get("id"), record.get("kind")
        if not isinstance(id, int):
            return None
        if kind == FORGET:
            target = record.get("target")
            what = "purged" if "purged" in record else "undid" if "undoes" in record else record.get("reason", "forgot")
            old = self.ledger.get(target) if isinstance(target, int) and target and what != "purged" else None
            return Change(id, str(record.get("ts", "")), str(what), f"{target}: {old.content}" if old else f"{target}")
        item = read_item(record)
        if isinstance(item, str):
            return None
        what = "added"
        if "restores" in record:
            what = f"restored {record['restores']} as"
        elif record.get("supersedes"):
            what = f"edited {record['supersedes'][0]} into"
        elif item.key:
            what = "set"
        return Change(id, item.ts, what, f"{id}: ({item.kind}) {item.content}")


def _saying(record: Record) -> dict[str, Any]:
    """What a record says, without what only belongs to its own line."""
    return {name: value for name, value in record.items() if name not in _OWN}


def _copies(id: int, copies: dict[int, int]) -> Iterator[int]:
    """The item and everything that restored it, oldest first."""
    seen = set()
    while id not in seen:
        seen.add(id)
        yield id
        id = copies.get(id, id)


def open_memory(
    path: Path,
    index: Path,
    masks: Masks,
    now: Callable[[], datetime],
    *,
    allow_duplicates: bool = False,
    exclusive: bool = False,
    progress: Progress | None = None,
) -> tuple[Memory, str]:
    """The memory at `path`, and a warning when it cannot be written. Nothing is read before it is needed."""
    ledger = Ledger(path, index, now=now, seal=masks.seal, allow_duplicates=allow_duplicates, progress=progress)
    waiting = Ledger(path.with_suffix(".pending.jsonl"), None, now=now, seal=masks.seal)
    memory = Memory(ledger, waiting, masks, now)
    if exclusive:
        try:
            ledger.hold()
        except StoreTrouble as error:
            return memory, str(error)
    return memory, ""
