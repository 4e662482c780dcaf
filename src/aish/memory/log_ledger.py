"""A ledger on any record log. It caches all records in memory, and reads only new ones.

Files use the faster `ledger.py`. This one serves the in-memory log and all other adapters of `RecordLog`.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
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
from aish.memory.ledger_lines import checked, fold_number, folded, read_item
from aish.memory.ledger_state import State
from aish.values.items import Item, stamp
from aish.values.stores import START, Cursor, Health, Record, RecordLog, StaleCursor


class LogLedger:
    """Items in a record log. Implements `ItemStore`."""

    def __init__(
        self,
        log: RecordLog,
        *,
        now: Callable[[], datetime],
        fingerprint: Callable[[str], str] | None = None,
        allow_duplicates: bool = False,
    ) -> None:
        self._log = log
        self._now = now
        self._fingerprint = fingerprint
        self._allow_duplicates = allow_duplicates
        self._start()

    def _start(self) -> None:
        self._state, self._cursor, self._records = State(), START, list[Record]()

    @property
    def name(self) -> str:
        return self._log.health().place

    def close(self) -> None:
        """Do nothing: no file is open."""

    # Reading

    def state(self) -> State:
        try:
            self._catch_up()
        except StaleCursor:
            self._start()
            self._catch_up()
        return self._state

    def _catch_up(self) -> None:
        for cursor, record in self._log.since(self._cursor):
            self._state.lines += 1
            self._state.take(record, len(self._records))
            self._records.append(record)
            self._cursor = cursor

    def items(self) -> Iterator[Item]:
        rows = list(self.state().newest())
        return (item for _, _, place, _ in rows if isinstance(item := read_item(self._records[place]), Item))

    def get(self, id: int) -> Item | None:
        row = self.state().row(id)
        item = read_item(self._records[row.offset]) if row else None
        return item if isinstance(item, Item) else None

    def known(self, content: str) -> Item | None:
        text = folded(content)
        found = [self.get(row.id) for row in self.state().alike(fold_number(text))]
        return next((item for item in found if item and folded(item.content) == text), None)

    def records_back(self) -> Iterator[Record]:
        return self._log.read_back()

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        return self._log.since(cursor)

    def at(self, time: datetime) -> list[Item]:
        return items_at(self._log.read(), time)

    def health(self) -> Health:
        return self._log.health()._replace(problems=tuple(self.state().problems))

    # Changing

    def add(self, kind: str, content: str, fields: Fields | None = None, *, instead_of: int = 0) -> Added:
        content = checked(kind, content)
        older: Item | None = None

        def plan(state: State) -> list[dict[str, Any]]:
            nonlocal older
            check_add(state, folded(content), instead_of, self._fingerprint)
            older = None if self._allow_duplicates else self.known(content)
            return plan_add(state, older, kind, content, fields, instead_of)

        written = self._write(plan)
        if older and not written:
            return Added(older, new=False)
        record = written[-1]
        return Added(Item(record["id"], record["ts"], kind, content, record), new=True)

    def forget(self, ids: Iterable[int], fields: Fields | None = None) -> list[int]:
        gone: list[int] = []

        def plan(state: State) -> list[dict[str, Any]]:
            nonlocal gone
            gone, records = plan_forget(state, ids, fields)
            return records

        self._write(plan)
        return gone

    def apply(self, changes: Callable[[], list[dict[str, Any]]]) -> list[Record]:
        return self._write(lambda state: as_one_change(state, changes()))

    def erase(self, cleaner: ItemCleaner) -> int:
        return self._log.erase(_Items(cleaner))

    def _write(self, plan: Callable[[State], list[dict[str, Any]]]) -> list[Record]:
        """Write the records that `plan` returns, each with an id and time. Return them."""
        written: list[Record] = []

        def make() -> list[Record]:
            state = self.state()
            for number, fields in enumerate(plan(state), start=state.last_id + 1):
                written.append({"id": number, "ts": stamp(self._now()), **fields})
            return written

        self._log.extend(make)
        return written


class _Items:
    """A cleaner for the records of a ledger, which turns items into tombstones."""

    def __init__(self, cleaner: ItemCleaner) -> None:
        self.found_in, self.clean, self.clean_record = cleaner.found_in, cleaner.clean, cleaner.clean_item
