"""The state of a ledger: which items exist, which are hidden, and where they are in the file.

The first part of a long ledger comes from a snapshot (ledger_snapshot.py), the rest line by line. Pure except for the
snapshot, which is read on demand.
"""

import zlib
from collections.abc import Iterator
from typing import Any

from aish.memory.ledger_lines import fold_number, folded, quick_item, read_item, targets, valid_id
from aish.memory.ledger_snapshot import Found, LedgerSnapshot, Stamp
from aish.storage.lines import decode
from aish.values.items import FORGET, Item, read_time
from aish.values.named_tuple import NamedTuple

_MOST_PROBLEMS = 20
_TAIL = 200  # bytes


class Row(NamedTuple):
    """The position of an item in the file, and its sort keys."""

    id: int
    time: int  # milliseconds since 1970
    offset: int
    fold: int


class State:
    """The state of a ledger up to `size` bytes.

    1. Hiding does not depend on order: a tombstone or a superseding item may be anywhere in the file.
    2. Of the items with the same key only the last can be active. Forgetting it does not restore an older one.
    3. If several lines have the same id, only the first counts.
    """

    def __init__(self, base: LedgerSnapshot | None = None) -> None:
        self.base = base or LedgerSnapshot.empty()
        self.size = self.base.size
        self.crc = self.base.crc
        self.tail = b""  # the last bytes after the snapshot
        self.lines = self.base.lines
        self.unended = self.base.unended  # the last line is complete except for its newline
        self.damaged = self.base.damaged
        self.last_id = self.base.last_id
        self.problems = list(self.base.problems)
        self.purged = set(self.base.purged)
        self.keys: dict[str, int] = dict(self.base.keys)  # the last id of each key
        self.fresh: list[Row] = []  # items after the snapshot
        self.hidden: set[int] = set()  # ids hidden by lines after the snapshot
        self._by_id: dict[int, int] = {}
        self._by_fold: dict[int, list[int]] = {}

    def take_bytes(self, data: bytes) -> None:
        """Add the next bytes of the file: complete lines, and a valid last line without a newline."""
        offset, start, size = self.size, 0, len(data)
        while start < size:
            end = data.find(b"\n", start) + 1
            line = data[start : end or size]
            item = quick_item(line)
            written = bool(line.strip())
            if item:
                self.lines += 1
                self._take_item(item, offset + start)
            elif written:
                record = decode(line)
                if not end and record is None:
                    break  # still being written
                self.lines += 1
                if record is None:
                    self.damaged += 1
                else:
                    self.take(record, offset + start)
            elif end and not self.unended:
                self.lines += 1  # an empty line counts for line numbers
            self.unended = written and not end
            start = end or size
        self._grow(data[:start])

    def take_written(self, record: dict[str, Any], line: bytes) -> None:
        """Add a record that was just appended."""
        self.lines += 1
        self.take(record, self.size)
        self._grow(line)

    def take_new(self, id: int, time: int, fold: int, line: bytes) -> None:
        """Add an item that was just appended, has a new id and supersedes nothing."""
        self.lines += 1
        self.last_id = id
        self._place(Row(id, time, self.size, fold))
        self._grow(line)

    def _place(self, row: Row) -> None:
        place = len(self.fresh)
        self._by_id[row.id] = place
        self._by_fold.setdefault(row.fold, []).append(place)
        self.fresh.append(row)

    def _grow(self, data: bytes) -> None:
        self.crc = zlib.crc32(data, self.crc)
        self.size += len(data)
        self.tail = data[-_TAIL:] if len(data) >= _TAIL else (self.tail + data)[-_TAIL:]

    def take(self, record: dict[str, Any], offset: int) -> None:
        """Add one record at `offset`."""
        if "meta" in record and "id" not in record:
            return
        id = record.get("id")
        if isinstance(id, int) and valid_id(id):
            self.last_id = max(self.last_id, id)
        if record.get("kind") == FORGET or "supersedes" in record:
            self.hidden.update(targets(record))
        if record.get("kind") == FORGET:
            if isinstance(record.get("purged"), str):
                self.purged.add(record["purged"])
            return
        item = read_item(record)
        if isinstance(item, str):
            self._problem(item)
        else:
            self._take_item(item, offset)

    def _take_item(self, item: Item, offset: int) -> None:
        self.last_id = max(self.last_id, item.id)
        if item.id in self._by_id or (item.id <= self.base.last_id and self.base.row(item.id)):
            self._problem(f"has the id {item.id}, which another line already has")
        else:
            time = int(read_time(item.ts).timestamp() * 1000)
            self._place(Row(item.id, time, offset, fold_number(folded(item.content))))
            if item.key:
                older = self.keys.get(item.key, 0)
                self.keys[item.key] = max(item.id, older)
                if older:
                    self.hidden.add(min(item.id, older))

    def row(self, id: int) -> Row | None:
        """Return the row of an item, hidden or not."""
        place = self._by_id.get(id)
        if place is not None:
            return self.fresh[place]
        found = self.base.row(id)
        return Row(*found) if found else None

    def shows(self, id: int) -> bool:
        """Is there an item with this id that is not hidden?"""
        return id not in self.hidden and not self.base.hides(id) and self.row(id) is not None

    def alike(self, fold: int) -> list[Row]:
        """Return the items that are not hidden and may have the same text, because their fold is the same."""
        places = self._by_fold.get(fold)
        if not places and not self.base.size:  # the usual case for a new item
            return []
        rows = [self.fresh[place] for place in places or ()] + [Row(*found) for found in self.base.alike(fold)]
        return [row for row in rows if self.shows(row.id)]

    def newest(self) -> Iterator[Found]:
        """Yield the items that are not hidden, newest first; at the same time, the higher id first."""
        ours = sorted((row for row in self.fresh if self.shows(row.id)), key=_age)
        place, hidden = 0, self.hidden
        for found in self.base.newest():
            while place < len(ours) and _age(ours[place]) < _age(found):
                yield ours[place]
                place += 1
            if found[0] not in hidden:
                yield found
        yield from ours[place:]

    def snapshot(self, stamp: Stamp) -> bytes:
        """Return this state as the bytes of a snapshot with this stamp."""
        rows = [*self.base.rows(), *self.fresh]
        rows.sort()
        return LedgerSnapshot.encode(
            rows,
            self.newest(),
            {*self.base.hidden(), *self.hidden},
            size=self.size,
            crc=self.crc,
            last_id=self.last_id,
            stamp=stamp,
            extra={
                "lines": self.lines,
                "unended": self.unended,
                "damaged": self.damaged,
                "problems": self.problems,
                "purged": sorted(self.purged),
                "keys": self.keys,
            },
        )

    def _problem(self, text: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"line {self.lines} {text}")


def _age(row: Found) -> tuple[int, int]:
    return -row[1], -row[0]
