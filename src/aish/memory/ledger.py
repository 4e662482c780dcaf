"""The ledger: curated memory in one append-only file, `memory.jsonl`.

{"meta": …} first, then one line a change: an item, or a tombstone that forgets one. Only a purge rewrites anything.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from aish.memory.ledger_lines import LARGEST_ID, checked, fold_number, folded, read_item, usual_line
from aish.memory.ledger_reader import Progress, Reader
from aish.memory.ledger_state import State
from aish.storage.lines import LineFile, Record, Writer, with_checksum
from aish.values.errors import Declined, NotFound, StoreTrouble
from aish.values.items import FORGET, Item, read_time, stamp

FORMAT = 1
Fields = Mapping[str, Any]


class Added(NamedTuple):
    """What came of an item: it stands in the ledger now, or it did already."""

    item: Item
    new: bool


class Ledger:
    """Items that stay until they are forgotten.

    1. Once a change returns, it survives a crash and a power cut.
    2. Ids grow and are never given twice, whatever the number of writers.
    3. A line is never edited or removed, but by a purge; forgetting and undoing append.
    4. Reading needs no lock. What other programs and people wrote is noticed by `state`.
    """

    def __init__(
        self,
        path: Path,
        index: Path | None = None,
        *,
        now: Callable[[], datetime],
        fingerprint: Callable[[str], str] | None = None,
        allow_duplicates: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.path = path
        self._index = index
        self._now = now
        self._fingerprint = fingerprint
        self._allow_duplicates = allow_duplicates
        self._lines = LineFile(path, first=lambda: {"meta": _meta()}, keep_open=True)
        self._reader = Reader(self._lines, index, progress)

    def hold(self) -> None:
        """Keep other writers out until `close`. Raises `StoreTrouble`."""
        self._lines.hold()

    def close(self) -> None:
        """Let go of the file, and leave a snapshot for the next who opens it."""
        self._reader.close()
        self._lines.close()

    # Reading

    def state(self) -> State:
        """What the file says now. Raises `StoreTrouble`."""
        with self._reader.reading() as (_, state):
            return state

    @property
    def torn(self) -> bool:
        """Did the file, as `state` saw it last, end in the middle of a line? The next change sets that end aside."""
        return self._reader.torn

    def items(self) -> Iterator[Item]:
        """The active items, newest first. Each is read from the file when it is asked for."""
        with self._reader.reading() as (fd, state):
            yield from self._reader.items(fd, state.newest())

    def get(self, id: int) -> Item | None:
        """The item with this id, also if it was forgotten; None if there was none, or it is purged."""
        with self._reader.reading() as (fd, state):
            row = state.row(id)
            return next(self._reader.items(fd, [row]), None) if row else None

    def active(self, id: int) -> Item:
        """The active item with this id. Raises `NotFound`."""
        item = self.get(id) if self.state().shows(id) else None
        if item:
            return item
        state = self.state()
        if state.row(id) or id <= state.last_id:
            raise NotFound(f"item {id} is not there any more; nothing was changed")
        raise NotFound(f"there is no item {id}; :memory list shows them")

    def known(self, content: str) -> Item | None:
        """The active item that says the same, if there is one."""
        text = folded(content)
        with self._reader.reading() as (fd, state):
            return self._reader.known(fd, state, text, fold_number(text))

    def records_back(self) -> Iterator[Record]:
        """Every whole line, newest first."""
        return self._lines.read_back()

    def at(self, time: datetime) -> list[Item]:
        """The active items as they were at that time, newest first."""
        state, records, offset = State(), [], 0
        for record in self._lines.read():
            if read_time(str(record.get("ts", ""))) <= time:
                state.take(record, offset)
                records.append(record)
                offset += 1
        found = [read_item(records[offset]) for _, _, offset, _ in state.newest()]
        return [item for item in found if isinstance(item, Item)]

    # Changing

    def add(self, kind: str, content: str, fields: Fields | None = None, *, instead_of: int = 0) -> Added:
        """Write an item, unless another says the same already; `instead_of` is the item that it supersedes.

        Raises `BadUsage`, `Declined`, `NotFound` and `StoreTrouble`; nothing is written then.
        """
        content = checked(kind, content)
        text = folded(content)
        fold = fold_number(text)
        with self._lines.writing(watcher=self._reader) as writer:
            state = self._reader.begin(writer)
            if state.purged and self._fingerprint and self._fingerprint(text) in state.purged:
                raise Declined("this was purged, so it is not learned again; say it in other words to have it back")
            if instead_of and not state.shows(instead_of):
                raise NotFound(f"item {instead_of} is not there any more; nothing was changed")
            older = None if self._allow_duplicates else self._reader.known(writer.fd, state, text, fold)
            if older and older.id != instead_of and not _adds(older, fields):
                return Added(older, new=False)
            if not older and not instead_of:
                return self._add_new(writer, state, kind, content, fields or {}, fold)
            record = {"kind": kind, "content": content, **(fields or {})}
            if older and older.id != instead_of and not older.key:  # or it would stay when the key gets another value
                record["change"] = state.last_id + 1
                self._write(writer, state, {"kind": FORGET, "target": older.id, "change": record["change"]})
            record = self._write(writer, state, record)
            return Added(Item(record["id"], record["ts"], kind, content, record), new=True)

    def forget(self, ids: Iterable[int], fields: Fields | None = None) -> list[int]:
        """Write a tombstone for each of these that is active, and return which were."""
        with self._lines.writing(watcher=self._reader) as writer:
            state = self._reader.begin(writer)
            gone = [id for id in dict.fromkeys(ids) if state.shows(id)]
            change = {"change": state.last_id + 1} if len(gone) > 1 else {}
            for id in gone:
                self._write(writer, state, {"kind": FORGET, "target": id, **change, **(fields or {})})
            return gone

    def apply(self, changes: Callable[[], list[dict[str, Any]]]) -> list[Record]:
        """Write records as one change, each with its id and time. They are made while nobody else can write."""
        with self._lines.writing(watcher=self._reader) as writer:
            records = changes()
            state = self._reader.begin(writer)
            group = {"change": state.last_id + 1} if len(records) > 1 else {}
            return [self._write(writer, state, {**fields, **group}) for fields in records]

    def rewrite(self, change: Callable[[bytes], bytes]) -> int:
        """Change lines in place, for a purge. The index, which may quote them, goes first."""
        try:
            if self._index:
                self._index.unlink(missing_ok=True)
        except OSError as error:
            raise StoreTrouble(f"cannot purge {self._index}: {error.strerror or error}") from error
        self._reader.failed()
        return self._lines.rewrite(change)

    def tidy(self) -> None:
        """Leave a snapshot of a long ledger now."""
        self._reader.tidy()

    def _add_new(self, writer: Writer, state: State, kind: str, content: str, fields: Fields, fold: int) -> Added:
        """Write an item that nothing else depends on: what is done most often is done with the least."""
        now = self._now()
        id, ts = self._next_id(state), stamp(now)
        record = {"id": id, "ts": ts, "kind": kind, "content": content, **fields}
        text = usual_line(id, ts, kind, content, fields)
        if text:
            state.take_new(id, int(now.timestamp() * 1000), fold, writer.write_line(with_checksum(text)))
        else:
            state.take_written(record, writer.write(record))
        return Added(Item(id, record["ts"], kind, content, record), new=True)

    def _write(self, writer: Writer, state: State, fields: Fields) -> Record:
        record = {"id": self._next_id(state), "ts": stamp(self._now()), **fields}
        state.take_written(record, writer.write(record))
        return record

    def _next_id(self, state: State) -> int:
        id = state.last_id + 1
        if id >= LARGEST_ID:
            raise StoreTrouble(f"cannot write {self.path}: the id {id - 1} in it is the last there is")
        return id


def _adds(older: Item, fields: Fields | None) -> bool:
    """Does the new item say more than the one with the same text: a key that it has not?"""
    return bool(fields and fields.get("key") and fields["key"] != older.key)


def _meta() -> dict[str, object]:
    """The first line. The name of the ledger makes its ids unique in the world."""
    return {"format": FORMAT, "what": "memory", "ledger": os.urandom(8).hex()}
