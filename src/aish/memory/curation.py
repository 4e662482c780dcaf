"""Curated memory behind one door: the ledger, what waits for the user's yes, masks, undo and purge.

Everything that remembers goes through here: commands, scripts, tools of the model, the summariser.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from aish.memory.changes import OWN, SUPERSEDED, Change, log, undo
from aish.memory.conversations import Conversations
from aish.memory.item_history import explain
from aish.memory.item_store import ItemStore
from aish.memory.ledger import Ledger
from aish.memory.ledger_lines import folded, read_item, targets
from aish.memory.ledger_reader import Progress
from aish.memory.purge import Erased, Eraser, purge_files
from aish.memory.redaction import Redaction
from aish.values.errors import BadUsage, Declined, NotFound, StoreTrouble
from aish.values.items import FORGET, Item, stamp
from aish.values.stores import Health, NoteStore, Record
from aish.values.text import for_keeping

_CLAIMED = {"conversation", "turn", "meta", "target", "purged", "reason"}  # what only our own records may say


class Kept(NamedTuple):
    """What came of a wish to remember: the item, whether it is new, whether it only waits, and what was masked."""

    item: Item
    new: bool
    pending: bool = False
    masked: str = ""


class Memory:
    """All that is remembered on purpose.

    1. What is not the user's own word waits in a file of its own, which no prompt is ever made of.
    2. No secret is written but one the user insists on; nothing that was purged is written again.
    3. Every change can be undone but a purge, and undoing appends.
    """

    def __init__(
        self,
        ledger: ItemStore,
        pending: ItemStore,
        redaction: Redaction,
        now: Callable[[], datetime],
        files: Sequence[Path] = (),
    ) -> None:
        """`files` are those of the two stores, if they are files: a purge leaves them until everything else is done."""
        self._ledger = ledger
        self._pending = pending
        self._files = files
        self.redaction = redaction
        self._now = now

    def close(self) -> None:
        self._ledger.close()
        self._pending.close()

    # Reading

    @property
    def file_name(self) -> str:
        """The name of the file with the items."""
        return self._ledger.name

    def items(self) -> Iterator[Item]:
        """The active items, newest first, each read when it is asked for."""
        return self._ledger.items()

    def ids(self) -> Iterator[int]:
        """The ids of the active items, newest first, without reading the items."""
        return (id for id, *_ in self._ledger.state().newest())

    def get(self, id: int) -> Item | None:
        """The item with this id, also if it was forgotten; None if there was none, or it is purged."""
        return self._ledger.get(id)

    def active(self, id: int) -> Item:
        """The active item with this id. Raises `NotFound`."""
        state, item = self._ledger.state(), self._ledger.get(id)
        if item and state.shows(id):
            return item
        if item or id <= state.last_id:
            raise NotFound(f"item {id} is not there any more; nothing was changed")
        raise NotFound(f"there is no item {id}; :memory list shows them")

    def at(self, time: datetime) -> list[Item]:
        """The items that were active at that time, newest first."""
        return self._ledger.at(time)

    def records(self) -> list[Record]:
        """Every change, oldest first, as it was written."""
        return list(self._ledger.records_back())[::-1]

    def pending_items(self) -> Iterator[Item]:
        """The items that wait for the user's yes, newest first."""
        return self._pending.items()

    def pending_ids(self) -> list[int]:
        """The ids of those, newest first, without reading the items."""
        return [id for id, *_ in self._pending.state().newest()]

    def purged(self) -> Collection[str]:
        """The fingerprints of all that was purged."""
        return self._ledger.state().purged

    def health(self) -> Health:
        """What is wrong with the file of the items. Raises `StoreTrouble`."""
        return self._ledger.health()

    def pending_health(self) -> Health:
        """What is wrong with the file of the items that wait. Raises `StoreTrouble`."""
        return self._pending.health()

    # Remembering

    def remember(self, content: str, kind: str = "fact", *, plain: bool = False, **fields: Any) -> Kept:
        """Keep an item. `source` is one of the fields; `plain` keeps a secret as it is, because the user insists."""
        return self._keep(content, kind, fields, plain=plain)

    def _keep(self, content: str, kind: str, fields: dict[str, Any], *, plain: bool = False) -> Kept:
        masked = self.redaction.mask(content)
        added = self._ledger.add(kind, content if plain else masked.text, self._fields(fields))
        return Kept(added.item, added.new, masked="" if plain else masked.notice)

    def propose(self, content: str, kind: str = "fact", **fields: Any) -> Kept:
        """Let an item wait for the user's yes, unless it is known or waits already."""
        return self._keep_pending(content, kind, fields)

    def _keep_pending(self, content: str, kind: str, fields: dict[str, Any]) -> Kept:
        masked = self.redaction.mask(content)
        known = self._ledger.known(masked.text)
        if known:
            return Kept(known, new=False)
        self._refuse_purged(masked.text)
        added = self._pending.add(kind, masked.text, self._fields(fields))
        return Kept(added.item, added.new, pending=True, masked=masked.notice)

    def accept(self, id: int) -> Kept:
        """Keep what waited. It stays what it was: where it came from does not change, only that the user said yes."""
        item = self._pending_item(id)
        fields = {name: value for name, value in item.record.items() if name not in OWN | {"kind", "content"}}
        added = self._ledger.add(item.kind, item.content, {**fields, "confirmed": True})
        self._pending.forget([id])
        return Kept(added.item, added.new)

    def reject(self, id: int) -> Item:
        """Drop what waited."""
        item = self._pending_item(id)
        self._pending.forget([id])
        return item

    def set(self, key: str, value: str, kind: str = "fact", **fields: Any) -> Kept:
        """Keep `key = value`; what had the key before is superseded."""
        key = " ".join(folded(key).split())
        if not key or not value.strip():
            raise BadUsage("expected KEY = VALUE, such as: editor = helix")
        return self.remember(f"{key} = {value.strip()}", kind, key=key, **fields)

    def edit(self, id: int, content: str) -> Kept:
        """Keep another text in the place of an item."""
        old = self.active(id)
        fields = {name: value for name, value in old.record.items() if name not in OWN | {"kind", "content"}}
        if content.strip() == old.content:
            return Kept(old, new=False)
        fields |= {"supersedes": [id], "source": "user"}
        fields.pop("origin", None)
        masked = self.redaction.mask(content)
        added = self._ledger.add(old.kind, masked.text, fields, instead_of=id)
        return Kept(added.item, added.new, masked=masked.notice)

    def forget(self, ids: Iterable[int]) -> list[int]:
        """Forget these, and return which were there."""
        return self._ledger.forget(ids)

    def prune(self, days: int) -> int:
        """Forget what is older than so many days."""
        try:
            limit = int((self._now() - timedelta(days=days)).timestamp() * 1000)
        except OverflowError:  # older than the calendar
            return 0
        old = [id for id, time, _, _ in self._ledger.state().newest() if time < limit]
        return len(self._ledger.forget(old, {"reason": "pruned"})) if old else 0

    def take_in(self, records: Iterable[Record], *, trusted: bool) -> tuple[int, int, int]:
        """Import items: how many came in, were known, or could not be taken. They wait unless they are trusted."""
        new = known = refused = 0
        records = list(records)
        gone = {id for record in records for id in targets(record)}
        for record in records:
            if isinstance(record.get("id"), int) and record["id"] in gone:  # forgotten or superseded over there
                continue
            item = read_item({"id": 1, **record})
            if isinstance(item, str):
                refused += record.get("kind") != FORGET and "meta" not in record
                continue
            fields = {name: value for name, value in record.items() if name not in OWN | {"kind", "content"}}
            if trusted:
                fields["ts"] = stamp(item.time)  # a copy of a memory has its times too
            else:
                fields = {name: value for name, value in fields.items() if name not in _CLAIMED}
                fields |= {"source": "import", "origin": "import", "confirmed": None}
            try:
                keep = self._keep if trusted else self._keep_pending
                kept = keep(item.content, item.kind, fields)  # no name of theirs is an argument of ours
            except (BadUsage, Declined):
                refused += 1
                continue
            new, known = new + kept.new, known + (not kept.new)
        return new, known, refused

    # Looking back

    def log(self) -> Iterator[Change]:
        """Every change, the newest first."""
        return log(self._ledger)

    def undo(self) -> str:
        """Take the last change back that was not taken back yet, and say what it was. Raises `NotFound`."""
        return undo(self._ledger)

    def explain(self, id: int, conversations: Conversations) -> dict[str, Any]:
        """All there is to know about an item, by name. Raises `NotFound`."""
        return explain(self._ledger, conversations, id, self._now())

    # Erasing

    def phrases(self, wanted: str) -> tuple[list[str], list[Item]]:
        """What a purge of an id or of words would erase, and the items that say it. Raises `NotFound`, `BadUsage`."""
        wanted = wanted.strip()
        if not wanted:
            raise BadUsage("an id or words are missing: what is to be erased?")
        if wanted.isdecimal() and len(wanted) < 16:
            item = self._ledger.get(int(wanted))
            if item:
                wanted = item.content
            elif len(wanted) < 4 or int(wanted) <= self._ledger.state().last_id:  # else it is a number to be erased
                raise NotFound(f"there is no item {wanted}, or it is purged already")
        elif len(wanted) < (4 if wanted.isascii() else 2):
            raise BadUsage("words of less than four letters stand everywhere; say more of them")
        eraser = Eraser([wanted], self.redaction.fingerprint)
        records = [*self._ledger.records_back(), *self._pending.records_back()]
        found = [read_item(record) for record in records]
        items = [one for one in found if isinstance(one, Item) and eraser.found_in(one.content)]
        return list(dict.fromkeys([wanted, *(item.content for item in items)])), items

    def purge(
        self,
        phrases: list[str],
        directories: Iterable[Path],
        leave: Iterable[Path],
        notes: NoteStore | None = None,
    ) -> Erased:
        """Erase the phrases from notes and from everything below the directories, and from the ledger last.

        Raises `StoreTrouble`.
        """

        def fingerprint(text: str) -> str:
            return self.redaction.fingerprint(folded(text))

        eraser = Eraser(phrases, fingerprint)
        noted = notes.erase(eraser) if notes else 0  # first, under their lock
        files, busy = purge_files(eraser, directories, {*leave, *self._files}, self._now)
        older = self._kept_back(eraser)
        if older:
            self._ledger.apply(lambda: [{"kind": FORGET, "target": id, "reason": SUPERSEDED} for id in older])
        lines = [ledger.erase(eraser) for ledger in (self._pending, self._ledger)]
        known = self._ledger.state().purged
        tight = [re.sub(r"\s*=\s*", "=", phrase) for phrase in phrases]  # as it was typed, perhaps
        missing = [one for one in dict.fromkeys(map(fingerprint, phrases + tight)) if one not in known]
        if missing:  # what was no item must not become one
            self._ledger.apply(lambda: [{"kind": FORGET, "target": 0, "purged": one} for one in missing])
        return Erased(eraser.places, noted + files + sum(count > 0 for count in lines), busy)

    def _kept_back(self, eraser: Eraser) -> list[int]:
        """The items that only those about to be erased keep from coming back."""
        state, older, keys = self._ledger.state(), set[int](), set[str]()
        for record in self._ledger.records_back():
            item = read_item(record)
            if isinstance(item, str):
                continue
            if eraser.found_in(item.content):
                older.update(targets(record))
                keys |= {item.key} if item.key else set()
            elif item.key in keys:
                older.add(item.id)
        return sorted(id for id in older if state.row(id) and not state.shows(id))

    def _fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields that have something to say; those that somebody else may have written are masked."""
        masked = self._clean(fields)
        return {name: one for name, one in masked.items() if one not in (None, "", [])}

    def _clean(self, value: Any) -> Any:
        """A value as it may be kept, however deep its texts are."""
        match value:
            case str():
                return for_keeping(self.redaction.text(value))
            case list() | tuple():
                return [self._clean(one) for one in value]
            case dict():
                return {self._clean(name): self._clean(one) for name, one in value.items()}
        return value

    def _refuse_purged(self, content: str) -> None:
        purged = self._ledger.state().purged
        if purged and self.redaction.fingerprint(folded(content)) in purged:
            raise Declined("this was purged, so it is not learned again")

    def _pending_item(self, id: int) -> Item:
        item = self._pending.get(id) if self._pending.state().shows(id) else None
        if item is None:
            raise NotFound(f"nothing with the number {id} waits; :memory pending lists what does")
        return item


def open_memory(
    path: Path,
    index: Path | None,
    redaction: Redaction,
    now: Callable[[], datetime],
    *,
    allow_duplicates: bool = False,
    exclusive: bool = False,
    progress: Progress | None = None,
) -> tuple[Memory, str]:
    """The memory at `path`, and a warning when it cannot be written. Nothing is read before it is needed."""
    ledger = Ledger(
        path, index, now=now, fingerprint=redaction.fingerprint, allow_duplicates=allow_duplicates, progress=progress
    )
    pending = Ledger(path.with_suffix(".pending.jsonl"), None, now=now, fingerprint=redaction.fingerprint)
    memory = Memory(ledger, pending, redaction, now, files=(ledger.path, pending.path))
    if exclusive:
        try:
            ledger.hold()
        except StoreTrouble as error:
            return memory, str(error)
    return memory, ""
