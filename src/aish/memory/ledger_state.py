"""What the lines of a ledger come to: which items there are, which are hidden, and how they are found.

The first part of a long ledger comes as a snapshot (snapshot.py), everything after it line by line. Pure but for the
snapshot, which is read when it is needed.
"""

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from aish.memory.ledger_lines import fold_number, folded, quick_item, read_item, targets, valid_id
from aish.memory.ledger_snapshot import Found, LedgerSnapshot, Stamp
from aish.storage.lines import decode
from aish.values.items import FORGET, Item, read_time

_MOST_PROBLEMS = 20
_TAIL = 200  # bytes


class Row(NamedTuple):
    """Where an item stands in the file, and what it is ordered by."""

    id: int
    time: int  # milliseconds since 1970
    offset: int
    fold: int


class State:
    """The meaning of a ledger up to `size` bytes.

    1. Hiding is a set: a tombstone or a superseding item counts wherever it stands in the file.
    2. Of the items with one key the last is there; that stays so when it is forgotten, or old facts would come back.
    3. An id counts once: the first line that has it.
    """

    def __init__(self, base: LedgerSnapshot | None = None) -> None:
        self.base = base or LedgerSnapshot.empty()
        self.size = self.base.size
        self.crc = self.base.crc
        self.tail = b""  # the last bytes, as far as they came after the snapshot
        self.lines = self.base.lines
        self.unended = self.base.unended  # the last line was whole but for its end
        self.damaged = self.base.damaged
        self.last_id = self.base.last_id
        self.problems = list(self.base.problems)
        self.purged = set(self.base.purged)
        self.keys: dict[str, int] = dict(self.base.keys)  # the id that counts
        self.fresh: list[Row] = []  # items after the snapshot
        self.hidden: set[int] = set()  # ids that the lines after the snapshot hide
        self._by_id: dict[int, int] = {}
        self._by_fold: dict[int, list[int]] = {}

    def take_bytes(self, data: bytes) -> None:
        """Take in what follows in the file: whole lines, and a last one without an end if it is whole."""
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
                    break  # somebody is writing it
                self.lines += 1
                if record is None:
                    self.damaged += 1
                else:
                    self.take(record, offset + start)
            elif end and not self.unended:
                self.lines += 1  # empty, but an editor counts it
            self.unended = written and not end
            start = end or size
        self._grow(data[:start])

    def take_written(self, record: dict[str, Any], line: bytes) -> None:
        """Take in a record that was just written at the end."""
        self.lines += 1
        self.take(record, self.size)
        self._grow(line)

    def take_new(self, id: int, time: int, fold: int, line: bytes) -> None:
        """Take in an item that was just written at the end: its id is new, and it supersedes nothing."""
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
        """Take in one record that stands at `offset`."""
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
            self._problem(f"has the id {item.id}, which is taken")
        else:
            time = int(read_time(item.ts).timestamp() * 1000)
            self._place(Row(item.id, time, offset, fold_number(folded(item.content))))
            if item.key:
                older = self.keys.get(item.key, 0)
                self.keys[item.key] = max(item.id, older)
                if older:
                    self.hidden.add(min(item.id, older))

    def row(self, id: int) -> Row | None:
        """The item with this id, hidden or not."""
        place = self._by_id.get(id)
        if place is not None:
            return self.fresh[place]
        found = self.base.row(id)
        return Row(*found) if found else None

    def shows(self, id: int) -> bool:
        """Is there an item with this id that is not hidden?"""
        return id not in self.hidden and not self.base.hides(id) and self.row(id) is not None

    def alike(self, fold: int) -> list[Row]:
        """The items that are not hidden and may say the same as a text with this fold."""
        places = self._by_fold.get(fold)
        if not places and not self.base.size:  # as it is for almost everything that is new
            return []
        rows = [self.fresh[place] for place in places or ()] + [Row(*found) for found in self.base.alike(fold)]
        return [row for row in rows if self.shows(row.id)]

    def newest(self) -> Iterator[Found]:
        """The items that are not hidden, the newest first; of two at once the higher id first."""
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
        """All of this as a snapshot of the file that has this stamp, ready to be written."""
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
