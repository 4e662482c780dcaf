"""Curated memory: combines the ledger, pending items, secret masking, undo and purge.

All writes to memory go through here: from commands, scripts, tools of the model, and the summariser.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from aish.memory.changes import OWN, SUPERSEDED, Change, Undone, log, undo
from aish.memory.conversations import Conversations
from aish.memory.item_history import explain
from aish.memory.item_store import ItemStore
from aish.memory.ledger import Ledger
from aish.memory.ledger_lines import folded, read_item, targets
from aish.memory.ledger_reader import Progress
from aish.memory.purge import Erased, Eraser, purge_files
from aish.memory.redaction import Redaction
from aish.values.errors import BadUsage, Declined, NotFound, StoreTrouble
from aish.values.invisible import is_visible, reveal, visible
from aish.values.items import FORGET, Item, stamp
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Health, NoteStore, Record

_CLAIMED = {"conversation", "turn", "meta", "target", "purged", "reason"}  # fields that imported records may not set


class Kept(NamedTuple):
    """The result of saving an item: the item, whether it is new, whether it is pending, and what was masked."""

    item: Item
    new: bool
    pending: bool = False
    masked: str = ""
    revealed: str = ""  # the message for the user if it had invisible characters


class Memory:
    """The items that aish remembers across conversations.

    1. Items that do not come from the user are pending, in a separate file that is never part of a prompt.
    2. Secrets are masked unless the user confirms them. Purged text is never written again. Invisible characters are
       written out, so that what the user reads is what the model gets.
    3. Every change except a purge can be undone. Undoing appends.
    """

    def __init__(
        self,
        ledger: ItemStore,
        pending: ItemStore,
        redaction: Redaction,
        now: Callable[[], datetime],
        files: Sequence[Path] = (),
    ) -> None:
        """`files` are the files of both stores, if they have any. A purge erases from them last."""
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
        """The name of the memory file."""
        return self._ledger.name

    def items(self) -> Iterator[Item]:
        """Yield the active items, newest first. Each is read on demand."""
        return self._ledger.items()

    def ids(self) -> Iterator[int]:
        """Yield the ids of the active items, newest first, without reading the items."""
        return (id for id, *_ in self._ledger.state().newest())

    def get(self, id: int) -> Item | None:
        """Return the item with this id, also a forgotten one. None if it never existed or was purged."""
        return self._ledger.get(id)

    def active(self, id: int) -> Item:
        """Return the active item with this id. Raises `NotFound`."""
        state, item = self._ledger.state(), self._ledger.get(id)
        if item and state.shows(id):
            return item
        if item or id <= state.last_id:
            raise NotFound(f"item {id} no longer exists; nothing was changed")
        raise NotFound(f"there is no item {id}; see :memory list")

    def at(self, time: datetime) -> list[Item]:
        """Return the items that were active at that time, newest first."""
        return self._ledger.at(time)

    def records(self) -> list[Record]:
        """Return all records of the ledger, oldest first."""
        return list(self._ledger.records_back())[::-1]

    def pending_items(self) -> Iterator[Item]:
        """Yield the pending items, newest first."""
        return self._pending.items()

    def pending_ids(self) -> list[int]:
        """Return the ids of the pending items, newest first, without reading the items."""
        return [id for id, *_ in self._pending.state().newest()]

    def purged(self) -> Collection[str]:
        """Return the fingerprints of all purged texts."""
        return self._ledger.state().purged

    def health(self) -> Health:
        """Check the memory file. Raises `StoreTrouble`."""
        return self._ledger.health()

    def pending_health(self) -> Health:
        """Check the file of pending items. Raises `StoreTrouble`."""
        return self._pending.health()

    # Remembering

    def remember(self, content: str, kind: str = "fact", *, plain: bool = False, **fields: Any) -> Kept:
        """Save an item. `source` is one of the fields. `plain` saves a secret unmasked, as the user confirmed."""
        return self._keep(content, kind, fields, plain=plain)

    def _keep(self, content: str, kind: str, fields: dict[str, Any], *, plain: bool = False) -> Kept:
        masked = self.redaction.mask(content)
        shown = reveal(content if plain else masked.text)
        added = self._ledger.add(kind, shown.text, self._fields(fields))
        return Kept(added.item, added.new, masked="" if plain else masked.notice, revealed=shown.notice)

    def propose(self, content: str, kind: str = "fact", **fields: Any) -> Kept:
        """Save an item as pending, unless it is already known or pending."""
        return self._keep_pending(content, kind, fields)

    def _keep_pending(self, content: str, kind: str, fields: dict[str, Any]) -> Kept:
        masked = self.redaction.mask(content)
        shown = reveal(masked.text)
        known = self._ledger.known(shown.text)
        if known:
            return Kept(known, new=False)
        self._refuse_purged(shown.text)
        added = self._pending.add(kind, shown.text, self._fields(fields))
        return Kept(added.item, added.new, pending=True, masked=masked.notice, revealed=shown.notice)

    def accept(self, id: int) -> Kept:
        """Save a pending item. It keeps its origin, and is marked as confirmed by the user."""
        item = self._pending_item(id)
        fields = {name: value for name, value in item.record.items() if name not in OWN | {"kind", "content"}}
        added = self._ledger.add(item.kind, item.content, {**fields, "confirmed": True})
        self._pending.forget([id])
        return Kept(added.item, added.new)

    def reject(self, id: int) -> Item:
        """Drop a pending item, and return it."""
        item = self._pending_item(id)
        self._pending.forget([id])
        return item

    def set(self, key: str, value: str, kind: str = "fact", **fields: Any) -> Kept:
        """Save `key = value`. It supersedes the item that had this key before."""
        key = " ".join(folded(key).split())
        if not key or not value.strip():
            raise BadUsage("expected KEY = VALUE, such as: editor = helix")
        if not is_visible(key):
            raise BadUsage(f"a key must not have characters that cannot be seen: {visible(key)}")
        return self.remember(f"{key} = {value.strip()}", kind, key=key, **fields)

    def edit(self, id: int, content: str) -> Kept:
        """Replace an item by one with another text."""
        old = self.active(id)
        fields = {name: value for name, value in old.record.items() if name not in OWN | {"kind", "content"}}
        if content.strip() == old.content:
            return Kept(old, new=False)
        fields |= {"supersedes": [id], "source": "user"}
        fields.pop("origin", None)
        masked = self.redaction.mask(content)
        shown = reveal(masked.text)
        added = self._ledger.add(old.kind, shown.text, fields, instead_of=id)
        return Kept(added.item, added.new, masked=masked.notice, revealed=shown.notice)

    def forget(self, ids: Iterable[int]) -> list[int]:
        """Forget these items, and return the ids that were active."""
        return self._ledger.forget(ids)

    def prune(self, days: int) -> int:
        """Forget items older than this many days, and return how many."""
        try:
            limit = int((self._now() - timedelta(days=days)).timestamp() * 1000)
        except OverflowError:  # before the first year of the calendar
            return 0
        old = [id for id, time, _, _ in self._ledger.state().newest() if time < limit]
        return len(self._ledger.forget(old, {"reason": "pruned"})) if old else 0

    def take_in(self, records: Iterable[Record], *, trusted: bool) -> tuple[int, int, int]:
        """Import items, and return how many were new, known and rejected. They are pending unless `trusted`."""
        new = known = refused = 0
        records = list(records)
        gone = {id for record in records for id in targets(record)}
        for record in records:
            if isinstance(record.get("id"), int) and record["id"] in gone:  # forgotten or superseded in the source
                continue
            item = read_item({"id": 1, **record})
            if isinstance(item, str):
                refused += record.get("kind") != FORGET and "meta" not in record
                continue
            fields = {name: value for name, value in record.items() if name not in OWN | {"kind", "content"}}
            if trusted:
                fields["ts"] = stamp(item.time)  # a backup keeps its times
            else:
                fields = {name: value for name, value in fields.items() if name not in _CLAIMED}
                fields |= {"source": "import", "origin": "import", "confirmed": None}
            try:
                keep = self._keep if trusted else self._keep_pending
                kept = keep(
                    item.content, item.kind, fields
                )  # as a dictionary, so that an imported field cannot become an argument
            except (BadUsage, Declined):
                refused += 1
                continue
            new, known = new + kept.new, known + (not kept.new)
        return new, known, refused

    # Looking back

    def log(self) -> Iterator[Change]:
        """Yield all changes, newest first."""
        return log(self._ledger)

    def undo(self) -> Undone:
        """Undo the last change that is not undone yet. Raises `NotFound`."""
        return undo(self._ledger)

    def explain(self, id: int, conversations: Conversations) -> dict[str, Any]:
        """Return all details of an item, by name. Raises `NotFound`."""
        return explain(self._ledger, conversations, id, self._now())

    # Erasing

    def phrases(self, wanted: str) -> tuple[list[str], list[Item]]:
        """Return the phrases that a purge of an id or of words erases, and the items that contain them.

        Raises `NotFound` and `BadUsage`.
        """
        wanted = wanted.strip()
        if not wanted:
            raise BadUsage("missing id or text: :memory purge ID|WORDS")
        if wanted.isdecimal() and len(wanted) < 16:
            item = self._ledger.get(int(wanted))
            if item:
                wanted = item.content
            elif (
                len(wanted) < 4 or int(wanted) <= self._ledger.state().last_id
            ):  # a longer number may be the text to erase
                raise NotFound(f"there is no item {wanted}, or it is purged already")
        elif len(wanted) < (4 if wanted.isascii() else 2):
            raise BadUsage("the text to erase is too short and would match too much; give at least four letters")
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
        """Erase the phrases from notes, from all files below the directories, and last from the ledger.

        Raises `StoreTrouble`.
        """

        def fingerprint(text: str) -> str:
            return self.redaction.fingerprint(folded(text))

        eraser = Eraser(phrases, fingerprint)
        noted = notes.erase(eraser) if notes else 0  # first, under their lock
        files, busy = purge_files(eraser, directories, {*leave, *self._files}, self._now)
        older = self._would_reappear(eraser)
        if older:
            self._ledger.apply(lambda: [{"kind": FORGET, "target": id, "reason": SUPERSEDED} for id in older])
        lines = [ledger.erase(eraser) for ledger in (self._pending, self._ledger)]
        known = self._ledger.state().purged
        tight = [re.sub(r"\s*=\s*", "=", phrase) for phrase in phrases]  # the user may have typed it without spaces
        missing = [one for one in dict.fromkeys(map(fingerprint, phrases + tight)) if one not in known]
        if missing:  # text that was not an item must not become one
            self._ledger.apply(lambda: [{"kind": FORGET, "target": 0, "purged": one} for one in missing])
        return Erased(eraser.places, noted + files + sum(count > 0 for count in lines), busy)

    def _would_reappear(self, eraser: Eraser) -> list[int]:
        """Return the hidden items that would become active again when the items with the phrases are erased."""
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
        """Return the fields that are not empty, with secrets masked."""
        masked = self._clean(fields)
        return {name: one for name, one in masked.items() if one not in (None, "", [])}

    def _clean(self, value: Any) -> Any:
        """Mask secrets in a value and name invisible characters, at any depth."""
        match value:
            case str():
                return visible(self.redaction.text(value))
            case list() | tuple():
                return [self._clean(one) for one in value]
            case dict():
                return {self._clean(name): self._clean(one) for name, one in value.items()}
        return value

    def is_purged(self, content: str) -> bool:
        """Was this text purged?"""
        purged = self._ledger.state().purged
        return bool(purged) and self.redaction.fingerprint(folded(content)) in purged

    def _refuse_purged(self, content: str) -> None:
        if self.is_purged(content):
            raise Declined("this was purged, so it is not saved again")

    def _pending_item(self, id: int) -> Item:
        item = self._pending.get(id) if self._pending.state().shows(id) else None
        if item is None:
            raise NotFound(f"no pending item {id}; see :memory pending")
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
    """Open the memory at `path`. Also return a warning if it cannot be written. It is read on first use."""
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
