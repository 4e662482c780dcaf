"""The ledger: curated memory in one append-only file, `memory.jsonl`.

{"meta": …} first, then one line a change: an item, or a tombstone that forgets one. Only a purge rewrites anything.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from aish.memory.entries import (
    checked,
    fold_number,
    folded,
    quick_item,
    quick_items,
    read_item,
    usual_item,
    valid_id,
)
from aish.memory.snapshot import Snapshot, Stamp
from aish.memory.state import Row, State
from aish.storage.lines import LineFile, Record, Writer, decode
from aish.values.errors import Declined, NotFound, StoreTrouble
from aish.values.items import FORGET, Item, read_time, stamp

FORMAT = 1
_BLOCK = 1 << 20
_MANY = 256  # items that are worth reading the whole file for
_TAIL = 128  # lines after the snapshot that are worth a new one; more in a long ledger
Progress = Callable[[int, int], None]
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
        seal: Callable[[str], str] | None = None,
        allow_duplicates: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.path = path
        self._index = index
        self._now = now
        self._seal = seal
        self._allow_duplicates = allow_duplicates
        self._progress = progress
        self.lines = LineFile(path, first=lambda: {"meta": _meta()}, keep_open=True)
        self._state: State | None = None
        self._seen: Stamp | None = None
        self._guessed = False  # that others have only appended since: good enough to write, not to vouch for

    def hold(self) -> None:
        """Keep other writers out until `close`. Raises `StoreTrouble`."""
        self.lines.hold()

    def close(self) -> None:
        """Let go of the file, and leave a snapshot for the next who opens it."""
        if self._state and len(self._state.fresh) > max(_TAIL, self._state.lines // 400) and self._is_current():
            self._write_snapshot(self._state)
        self.lines.close()
        self.drop()

    # Reading

    def state(self) -> State:
        """What the file says now. Raises `StoreTrouble`."""
        with self._reading() as (_, state):
            return state

    @property
    def torn(self) -> bool:
        """Did the file, as `state` saw it last, end in the middle of a line? The next change sets that end aside."""
        return bool(self._state and self._seen and self._state.size < self._seen[1])

    def items(self) -> Iterator[Item]:
        """The active items, newest first. Each is read from the file when it is asked for."""
        with self._reading() as (fd, state):
            yield from self._items(fd, state.newest())

    def get(self, id: int) -> Item | None:
        """The item with this id, also if it was forgotten; None if there was none, or it is purged."""
        with self._reading() as (fd, state):
            row = state.row(id)
            return next(self._items(fd, [row]), None) if row else None

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
        with self._reading() as (fd, state):
            return self._known(fd, state, text, fold_number(text))

    def records_back(self) -> Iterator[Record]:
        """Every whole line, newest first."""
        return self.lines.read_back()

    def at(self, time: datetime) -> list[Item]:
        """The active items as they were at that time, newest first."""
        state, records, offset = State(), [], 0
        for record in self.lines.read():
            if read_time(str(record.get("ts", ""))) <= time:
                state.take(record, offset)
                records.append(record)
                offset += 1
        found = [read_item(records[row.offset]) for row in state.newest()]
        return [item for item in found if isinstance(item, Item)]

    # Changing

    def add(self, kind: str, content: str, fields: Fields | None = None, *, instead_of: int = 0) -> Added:
        """Write an item, unless another says the same already; `instead_of` is the item that it supersedes.

        Raises `BadUsage`, `Declined`, `NotFound` and `StoreTrouble`; nothing is written then.
        """
        content = checked(kind, content)
        with self._changing() as (writer, state):
            text = folded(content)
            fold = fold_number(text)
            if state.purged and self._seal and self._seal(text) in state.purged:
                raise Declined("this was purged, so it is not learned again; say it in other words to have it back")
            if instead_of and not state.shows(instead_of):
                raise NotFound(f"item {instead_of} is not there any more; nothing was changed")
            older = None if self._allow_duplicates else self._known(writer.fd, state, text, fold)
            if older and older.id != instead_of and not _adds(older, fields):
                return Added(older, new=False)
            record = {"kind": kind, "content": content, **(fields or {})}
            if older and older.id != instead_of and not older.key:  # or it would stay when the key gets another value
                record["change"] = state.last_id + 1
                self._write(writer, state, {"kind": FORGET, "target": older.id, "change": record["change"]})
            record = self._write(writer, state, record, fold)
            return Added(Item(record["id"], record["ts"], kind, content, record), new=True)

    def forget(self, ids: Iterable[int], fields: Fields | None = None) -> list[int]:
        """Write a tombstone for each of these that is active, and return which were."""
        with self._changing() as (writer, state):
            gone = [id for id in dict.fromkeys(ids) if state.shows(id)]
            change = {"change": state.last_id + 1} if len(gone) > 1 else {}
            for id in gone:
                self._write(writer, state, {"kind": FORGET, "target": id, **change, **(fields or {})})
            return gone

    def apply(self, changes: Callable[[], list[dict[str, Any]]]) -> list[Record]:
        """Write records as one change, each with its id and time. They are made while nobody else can write."""
        with self._changing() as (writer, state):
            records = changes()
            state = self._state or state  # they may have read the file more closely than we did
            group = {"change": state.last_id + 1} if len(records) > 1 else {}
            return [self._write(writer, state, {**fields, **group}) for fields in records]

    def rewrite(self, change: Callable[[bytes], bytes]) -> int:
        """Change lines in place, for a purge. The index, which may quote them, goes first."""
        try:
            if self._index:
                self._index.unlink(missing_ok=True)
        except OSError as error:
            raise StoreTrouble(f"cannot purge {self._index}: {error.strerror or error}") from error
        self.drop()
        return self.lines.rewrite(change)

    def tidy(self) -> None:
        """Leave a snapshot of a long ledger now."""
        state = self.state()
        if len(state.fresh) > _TAIL:
            self._write_snapshot(state)

    def _changing(self) -> "Changing":
        return Changing(self)

    def begin(self, writer: Writer) -> State:
        """The state that a change starts from."""
        return self.read_on(writer.fd, writer.found if writer.size == writer.found.st_size else None)

    def settle(self, writer: Writer, state: State) -> None:
        """Remember the file as a change left it, while no other aish can have written."""
        self._seen = _stamp(os.fstat(writer.fd))
        alone = (self._state or state).size == self._seen[1]  # or a person wrote, and our lines stand elsewhere
        if alone:
            self.lines.ended = self._seen[1:]
        else:
            self.drop()
        if alone and not self._guessed:
            state.base.set_stamp(self._seen)

    def _write(self, writer: Writer, state: State, fields: Fields, fold: int | None = None) -> Record:
        if not valid_id(state.last_id + 1):
            raise StoreTrouble(f"cannot write {self.path}: the id {state.last_id} in it is the last there is")
        now = self._now()
        record = {"id": state.last_id + 1, "ts": stamp(now), **fields}
        line = writer.write(record)
        if fold is None or "supersedes" in record or "key" in record or "ts" in fields:
            state.take_written(record, line)
        else:  # the usual item, with nothing that is not known already
            state.take_new(Row(record["id"], int(now.timestamp() * 1000), state.size, fold), line)
        return record

    def _known(self, fd: int, state: State, text: str, fold: int) -> Item | None:
        rows = state.alike(fold)
        return next((item for item in self._items(fd, rows) if folded(item.content) == text), None) if rows else None

    # The file and its index

    def read_on(self, fd: int, found: os.stat_result | None = None) -> State:
        """The state of the open file for one who is in a hurry: where it ends as before, others have only appended."""
        now, state, seen = _stamp(found or os.fstat(fd)), self._state, self._seen
        if state is None or seen is None:
            return self._read(fd, found)
        if now == seen:
            return state
        if now[0] != seen[0] or now[1] <= state.size or state.unended or not _ends_so(fd, state):
            return self._read(fd, found)
        self._guessed = True
        return self._catch_up(fd, state, now)

    def _read(self, fd: int, found: os.stat_result | None = None) -> State:
        """The state of the open file: what is known already, and what came since."""
        now = _stamp(found or os.fstat(fd))
        if self._state and now == self._seen and not self._guessed:
            return self._state
        state = self._state or self._from_snapshot()
        if state.unended or now[1] < state.size or not _unchanged(fd, state, now):
            state.base.close()
            state = State()  # somebody edited what we had read
        self._guessed = False
        return self._catch_up(fd, state, now)

    def _catch_up(self, fd: int, state: State, now: Stamp) -> State:
        whole = now[1]
        while state.size < whole:
            data = os.pread(fd, min(_BLOCK, whole - state.size), state.size)
            before = state.size
            state.take_bytes(data)
            if state.size == before:
                if len(data) < whole - state.size:
                    state.take_bytes(os.pread(fd, whole - state.size, state.size))  # one line longer than a block
                if state.size == before:
                    break  # a torn line at the end
            if self._progress and whole > 8 * _BLOCK:
                self._progress(state.size, whole)
        self._state, self._seen = state, now
        if self._guessed:
            return state
        if len(state.fresh) > 8 * max(_TAIL, state.lines // 400):
            self._write_snapshot(state)
        else:
            state.base.set_stamp(now)
        return self._state

    def _is_current(self) -> bool:
        """Is the file as we saw it last? What was read before a purge must not come back as an index."""
        try:
            return not self._guessed and _stamp(self.path.stat()) == self._seen
        except OSError:
            return False

    def drop(self) -> None:
        if self._state:
            self._state.base.close()
        self._state, self._seen, self._guessed = None, None, False

    def _from_snapshot(self) -> State:
        return State(Snapshot.load(self._index) if self._index else None)

    def _write_snapshot(self, state: State) -> None:
        """Replace the snapshot; where that is not possible everything works without."""
        if self._index is None or self._seen is None:
            return
        try:
            Snapshot.write(self._index, state.snapshot(self._seen))
        except StoreTrouble:
            return
        fresh = Snapshot.load(self._index)
        if fresh and (fresh.size, fresh.crc) == (state.size, state.crc):
            state.base.close()
            self._state = State(fresh)
        elif fresh:
            fresh.close()  # somebody else's, who was faster

    @contextmanager
    def _reading(self) -> Iterator[tuple[int, State]]:
        """The open file and its state. Whoever puts another file in its place does not change what is read here."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):  # what stands in the way is said when something is written
            self.drop()
            yield -1, State()
            return
        except OSError as error:
            raise self._trouble(error) from error
        try:
            yield fd, self._read(fd)
        except OSError as error:
            raise self._trouble(error) from error
        finally:
            os.close(fd)

    def _items(self, fd: int, rows: Iterable[Row]) -> Iterator[Item]:
        """The items of these rows. What was edited under us is left out."""
        usual: dict[int, tuple[str, ...]] = {}
        for place, row in enumerate(rows):
            if place == _MANY:  # take in the whole file at once
                usual = quick_items(os.pread(fd, os.fstat(fd).st_size, 0))
            parts = usual.get(row.id)
            if parts:
                yield usual_item(parts)
                continue
            line = _line_at(fd, row.offset)
            item = quick_item(line) or read_item(decode(line) or {})
            if isinstance(item, Item) and item.id == row.id:
                yield item

    def _trouble(self, error: OSError) -> StoreTrouble:
        return StoreTrouble(f"cannot read {self.path}: {error.strerror or error}")


class Changing:
    """The time of one change: the file is held, and the state is what it says."""

    __slots__ = ("_ledger", "_state", "_writer", "_writing")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._writing = ledger.lines.writing(waiting=ledger.read_on)

    def __enter__(self) -> tuple[Writer, State]:
        self._writer = self._writing.__enter__()
        try:
            self._state = self._ledger.begin(self._writer)
        except BaseException as error:  # whatever it was, the file must be let go
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self._writer, self._state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._ledger.settle(self._writer, self._state)
        except OSError as failed:
            error = failed
        done = False
        try:
            self._writing.__exit__(type(error) if error else None, error, trace)
            done = error is None
        finally:
            if not done:
                self._ledger.drop()  # nothing is trusted after a failure


def _adds(older: Item, fields: Fields | None) -> bool:
    """Does the new item say more than the one with the same text: a key that it has not?"""
    return bool(fields and fields.get("key") and fields["key"] != older.key)


def _meta() -> dict[str, object]:
    """The first line. The name of the ledger makes its ids unique in the world."""
    return {"format": FORMAT, "what": "memory", "ledger": os.urandom(8).hex()}


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _ends_so(fd: int, state: State) -> bool:
    """Does the file still have, where our knowledge of it ended, what it had? Then others have only appended."""
    return bool(state.tail) and os.pread(fd, len(state.tail), state.size - len(state.tail)) == state.tail


def _unchanged(fd: int, state: State, now: Stamp) -> bool:
    """Is what we read still there? The stamp vouches for what the snapshot covers, and for nothing after it."""
    covered = state.base.stamp == now
    return _crc(fd, state.size, *((state.base.size, state.base.crc) if covered else (0, 0))) == state.crc


def _crc(fd: int, size: int, done: int = 0, crc: int = 0) -> int:
    while done < size:
        data = os.pread(fd, min(_BLOCK, size - done), done)
        if not data:
            return -1
        crc, done = zlib.crc32(data, crc), done + len(data)
    return crc


def _line_at(fd: int, offset: int) -> bytes:
    line, size = b"", 1024
    while b"\n" not in line:
        more = os.pread(fd, size, offset + len(line))
        if not more:
            break
        line, size = line + more, size * 4
    return line.partition(b"\n")[0]
