"""A snapshot of the state of a long ledger, so that opening the ledger does not read all of it.

It is derived data and can be deleted at any time. It stores the size and checksum of the part that it covers, and a
stamp (inode, size, change time) of the ledger. Each aish updates the stamp when it writes. While the stamp matches,
nothing else has changed the file, and the covered part need not be read again.
"""

import json
import os
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from aish.storage.files import replace_file

Stamp = tuple[int, int, int]
Found = tuple[int, int, int, int]  # id, time, offset, fold

_MAGIC = b"aish-idx"
_VERSION = 2
_STAMP = struct.Struct("<qqq")
_HEAD = struct.Struct("<8sqqqqqqqq")
_SUM = struct.Struct("<q")  # checksum of the head and the JSON at the end; with a wrong last id, ids would be reused
_BODY = _HEAD.size + _STAMP.size + _SUM.size
_WIDTH = 4 * 8
_CHUNK = 256


class LedgerSnapshot:
    """The covered part of a ledger. Columns are read on demand."""

    def __init__(self, fd: int | None, sizes: Sequence[int], extra: Mapping[str, Any]) -> None:
        self._fd = fd
        self.size, self.crc, self.last_id, self._rows, self._order, self._hidden = sizes
        self.lines = int(extra.get("lines", 0))
        self.unended = bool(extra.get("unended"))
        self.damaged = int(extra.get("damaged", 0))
        self.problems = [str(problem) for problem in extra.get("problems", ())]
        self.purged = {str(fingerprint) for fingerprint in extra.get("purged", ())}
        self.keys = {str(key): int(id) for key, id in extra.get("keys", {}).items()}

    @classmethod
    def empty(cls) -> "LedgerSnapshot":
        return cls(None, (0,) * 6, {})

    @classmethod
    def load(cls, path: Path) -> "LedgerSnapshot | None":
        """Load a snapshot. None if there is none, or if it is damaged or has another version."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            head = os.pread(fd, _HEAD.size, 0)
            magic, version, *sizes, length = _HEAD.unpack(head)
            body = _BODY + (sizes[3] + sizes[4]) * _WIDTH + (sizes[5] + 2 * sizes[3]) * 8
            if (magic, version) == (_MAGIC, _VERSION) and os.fstat(fd).st_size == body + length:
                more = os.pread(fd, length, body)
                if os.pread(fd, _SUM.size, _BODY - _SUM.size) == _SUM.pack(zlib.crc32(more, zlib.crc32(head))):
                    return cls(fd, sizes, json.loads(more))
        except (OSError, struct.error, ValueError, TypeError, AttributeError):
            pass
        os.close(fd)
        return None

    @staticmethod
    def encode(
        rows: Sequence[Found],
        order: Iterable[Found],
        hidden: Iterable[int],
        *,
        size: int,
        crc: int,
        last_id: int,
        stamp: Stamp,
        extra: Mapping[str, Any],
    ) -> bytes:
        """Return the bytes of a snapshot. `rows` are sorted by id, `order` is newest first."""
        folds = sorted((row[3], place) for place, row in enumerate(rows))
        columns = [array("q", chain.from_iterable(table)) for table in (rows, order)]
        columns += [array("q", sorted(hidden)), array("q", [f for f, _ in folds]), array("q", [p for _, p in folds])]
        more = json.dumps(extra).encode()
        counts = (len(columns[0]) // 4, len(columns[1]) // 4, len(columns[2]))
        head = _HEAD.pack(_MAGIC, _VERSION, size, crc, last_id, *counts, len(more))
        check = _SUM.pack(zlib.crc32(more, zlib.crc32(head)))
        return b"".join((head, _STAMP.pack(*stamp), check, *(column.tobytes() for column in columns), more))

    @staticmethod
    def write(path: Path, content: bytes) -> None:
        """Write a snapshot. Raises `StoreTrouble`."""
        replace_file(path, content)  # synced, because a power cut must not leave a partial snapshot

    @property
    def stamp(self) -> Stamp | None:
        """The stamp of the ledger after the last write by aish."""
        if self._fd is None:
            return None
        return _STAMP.unpack(os.pread(self._fd, _STAMP.size, _HEAD.size))

    def set_stamp(self, stamp: Stamp) -> None:
        if self._fd is not None:
            try:
                os.pwrite(self._fd, _STAMP.pack(*stamp), _HEAD.size)
            except OSError:
                pass  # the covered part is read again next time

    def rows(self) -> Iterator[Found]:
        """Yield all items, sorted by id."""
        return _fours(self._table)

    def row(self, id: int) -> Found | None:
        place = bisect_left(self._ids, id)
        return self._at(place) if place < self._rows and self._ids[place] == id else None

    def alike(self, fold: int) -> Iterator[Found]:
        """Yield the items whose text has this fold."""
        values, places = self._folds
        place = bisect_left(values, fold)
        while place < self._rows and values[place] == fold:
            yield self._at(places[place])
            place += 1

    def hides(self, id: int) -> bool:
        return id in self._hidden_set

    def hidden(self) -> "array[int]":
        return self._column(_BODY + (self._rows + self._order) * _WIDTH, self._hidden)

    def newest(self) -> Iterator[Found]:
        """Yield the items that are not hidden, newest first, reading on demand."""
        for first in range(0, self._order, _CHUNK):
            count = min(_CHUNK, self._order - first)
            yield from _fours(self._column(_BODY + (self._rows + first) * _WIDTH, count * 4))

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @cached_property
    def _table(self) -> "array[int]":
        return self._column(_BODY, self._rows * 4)

    @cached_property
    def _ids(self) -> "array[int]":
        return self._table[0::4]

    @cached_property
    def _folds(self) -> "tuple[array[int], array[int]]":
        """The sorted folds, and the row of each."""
        start = _BODY + (self._rows + self._order) * _WIDTH + self._hidden * 8
        return self._column(start, self._rows), self._column(start + self._rows * 8, self._rows)

    @cached_property
    def _hidden_set(self) -> frozenset[int]:
        return frozenset(self.hidden())

    def _at(self, place: int) -> Found:
        id, time, offset, fold = self._table[place * 4 : place * 4 + 4]
        return id, time, offset, fold

    def _column(self, offset: int, count: int) -> "array[int]":
        numbers = array("q")
        if self._fd is not None and count:
            numbers.frombytes(os.pread(self._fd, count * 8, offset))
        return numbers


def _fours(numbers: "array[int]") -> Iterator[Found]:
    each = iter(numbers)
    return zip(each, each, each, each, strict=True)
