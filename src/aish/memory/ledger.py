"""The ledger: curated memory in one append-only file, `memory.jsonl`.

The first line is {"meta": …}. Each other line is a change: an item, or a tombstone that hides one. Only a purge
rewrites lines.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from aish.memory.item_store import (
    Added,
    Fields,
    ItemCleaner,
    as_one_change,
    check_add,
    items_at,
    plan_add,
    plan_forget,
)
from aish.memory.ledger_lines import LARGEST_ID, checked, fold_number, folded, usual_line
from aish.memory.ledger_reader import Progress, Reader
from aish.memory.ledger_state import State
from aish.storage.files import erase_from
from aish.storage.lines import LineFile, Writer, cleaned_line, with_checksum
from aish.values.errors import StoreTrouble
from aish.values.items import Item, stamp
from aish.values.stores import START, Cursor, Health, Record

FORMAT = 1


class Ledger:
    """Items that are active until they are forgotten.

    1. Once a change returns, it survives a crash and a power cut.
    2. Ids grow and are never reused, with any number of writers.
    3. Only a purge edits or removes lines. Forgetting and undoing append.
    4. Reading needs no lock. `state` includes changes by other processes and manual edits.
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

    @property
    def name(self) -> str:
        return self.path.name

    def hold(self) -> None:
        """Keep other writers out until `close`. Raises `StoreTrouble`."""
        self._lines.hold()

    def close(self) -> None:
        """Close the file, and write a snapshot that makes the next opening fast."""
        self._reader.close()
        self._lines.close()

    # Reading

    def state(self) -> State:
        """Return the current state of the file. Raises `StoreTrouble`."""
        with self._reader.reading() as (_, state):
            return state

    def items(self) -> Iterator[Item]:
        """Yield the active items, newest first. Each is read from the file on demand."""
        with self._reader.reading() as (fd, state):
            yield from self._reader.items(fd, state.newest())

    def get(self, id: int) -> Item | None:
        """Return the item with this id, also a forgotten one. None if it never existed or was purged."""
        with self._reader.reading() as (fd, state):
            row = state.row(id)
            return next(self._reader.items(fd, [row]), None) if row else None

    def known(self, content: str) -> Item | None:
        """Return the active item with the same text, if there is one."""
        text = folded(content)
        with self._reader.reading() as (fd, state):
            return self._reader.known(fd, state, text, fold_number(text))

    def records_back(self) -> Iterator[Record]:
        """Yield all valid records, newest first."""
        return self._lines.read_back()

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        """Yield all records after `cursor`, oldest first, each with its cursor. Raises `StaleCursor`."""
        return self._lines.since(cursor)

    def at(self, time: datetime) -> list[Item]:
        """Return the items that were active at that time, newest first."""
        return items_at(self._lines.read(), time)

    def health(self) -> Health:
        """Check the file. Raises `StoreTrouble`."""
        state, aside = self.state(), self._lines.torn_path
        set_aside = str(aside) if aside.exists() else ""
        return Health(str(self.path), state.damaged, tuple(state.problems), self._reader.torn, set_aside)

    # Changing

    def add(self, kind: str, content: str, fields: Fields | None = None, *, instead_of: int = 0) -> Added:
        """Write an item, unless an active item has the same text. `instead_of` is the item that it supersedes.

        Raises `BadUsage`, `Declined`, `NotFound` and `StoreTrouble`. Nothing is written in these cases.
        """
        content = checked(kind, content)
        text = folded(content)
        fold = fold_number(text)
        with self._lines.writing(watcher=self._reader) as writer:
            state = self._reader.begin(writer)
            if state.purged or instead_of:
                check_add(state, text, instead_of, self._fingerprint)
            older = None if self._allow_duplicates else self._reader.known(writer.fd, state, text, fold)
            if not older and not instead_of:
                return self._add_new(writer, state, kind, content, fields or {}, fold)
            plan = plan_add(state, older, kind, content, fields, instead_of)
            if older and not plan:
                return Added(older, new=False)
            record = [self._write(writer, state, each) for each in plan][-1]
            return Added(Item(record["id"], record["ts"], kind, content, record), new=True)

    def forget(self, ids: Iterable[int], fields: Fields | None = None) -> list[int]:
        """Write a tombstone for each of these items that is active, and return their ids."""
        with self._lines.writing(watcher=self._reader) as writer:
            state = self._reader.begin(writer)
            gone, records = plan_forget(state, ids, fields)
            for record in records:
                self._write(writer, state, record)
            return gone

    def apply(self, changes: Callable[[], list[dict[str, Any]]]) -> list[Record]:
        """Write records as one change, each with an id and time. `changes` is called under the lock."""
        with self._lines.writing(watcher=self._reader) as writer:
            records = changes()
            state = self._reader.begin(writer)
            return [self._write(writer, state, fields) for fields in as_one_change(state, records)]

    def erase(self, cleaner: ItemCleaner) -> int:
        """Erase phrases from all lines and the `.torn` file. Return how many had them. Raises `StoreTrouble`."""
        count = self.rewrite(partial(cleaned_line, cleaner, cleaner.clean_item))
        return count + erase_from(self._lines.torn_path, cleaner)

    def rewrite(self, change: Callable[[bytes], bytes]) -> int:
        """Rewrite lines, for a purge. The snapshot is deleted first, because it may contain text of the lines."""
        try:
            if self._index:
                self._index.unlink(missing_ok=True)
        except OSError as error:
            raise StoreTrouble(f"cannot purge {self._index}: {error.strerror or error}") from error
        self._reader.failed()
        return self._lines.rewrite(change)

    def tidy(self) -> None:
        """Write a snapshot of a long ledger now."""
        self._reader.tidy()

    def _add_new(self, writer: Writer, state: State, kind: str, content: str, fields: Fields, fold: int) -> Added:
        """Write an item that supersedes nothing. This is the most frequent change, so it has a fast path."""
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
            raise StoreTrouble(f"cannot write {self.path}: its id {id - 1} is the largest possible")
        return id


def _meta() -> dict[str, object]:
    """Return the first line. The random name of the ledger makes its ids globally unique."""
    return {"format": FORMAT, "what": "memory", "ledger": os.urandom(8).hex()}
