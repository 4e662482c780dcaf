"""Reads the file of a ledger, and keeps its state up to date.

Other processes and users may change the file, too. The reader caches the state together with the stamp (inode, size,
change time) of the file, and reads again only if the stamp differs. A snapshot makes opening a long file fast.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aish.memory.ledger_lines import folded, quick_item, quick_items, read_item
from aish.memory.ledger_snapshot import Found, LedgerSnapshot, Stamp
from aish.memory.ledger_state import State
from aish.storage.lines import LineFile, Writer, decode
from aish.values.errors import StoreTrouble
from aish.values.items import Item

Progress = Callable[[int, int], None]
_BLOCK = 1 << 20
_MANY = 256  # after this many items, read the file in larger parts
_NEAR = 1 << 18
_TAIL = 128  # write a new snapshot after this many new lines; more in a long ledger


class Reader:
    """The cached state of one file. It is updated by our own writes, so that they are not read again."""

    def __init__(self, lines: LineFile, index: Path | None, progress: Progress | None) -> None:
        self._lines = lines
        self._index = index
        self._progress = progress
        self._state: State | None = None
        self._seen: Stamp | None = None
        self._guessed = False  # assumed that others only appended; enough for a write, but not for a snapshot

    @property
    def torn(self) -> bool:
        """Did the file end with an incomplete line when it was last read?"""
        return bool(self._state and self._seen and self._state.size < self._seen[1])

    @contextmanager
    def reading(self) -> Iterator[tuple[int, State]]:
        """Open the file and yield it with its state. Replacing the file meanwhile does not affect this read."""
        path = self._lines.path
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):  # the next write reports the error
            self.failed()
            yield -1, State()
            return
        except OSError as error:
            raise StoreTrouble(f"cannot read {path}: {error.strerror or error}") from error
        try:
            yield fd, self._read(fd)
        except OSError as error:
            raise StoreTrouble(f"cannot read {path}: {error.strerror or error}") from error
        finally:
            os.close(fd)

    def known(self, fd: int, state: State, text: str, fold: int) -> Item | None:
        """Return the active item with this folded text, if there is one."""
        rows = state.alike(fold)
        return next((item for item in self.items(fd, rows) if folded(item.content) == text), None) if rows else None

    def items(self, fd: int, rows: Iterable[Found]) -> Iterator[Item]:
        """Yield the items of these rows. Skips lines that were edited in the meantime."""
        near: dict[int, Item] = {}
        taken: set[int] = set()  # parts of the file; each is read once, because rows may come in any order
        for place, (id, _, offset, _) in enumerate(rows):
            if place >= _MANY and (part := offset // _NEAR) not in taken:  # a long list: read many items at once
                taken.add(part)
                near = quick_items(os.pread(fd, _NEAR, part * _NEAR), part * _NEAR)
            item = near.get(offset)
            if item and item[0] == id:
                yield item
                continue
            line = _line_at(fd, offset)
            read = quick_item(line) or read_item(decode(line) or {})
            if isinstance(read, Item) and read.id == id:
                yield read

    # Writing

    def begin(self, writer: Writer) -> State:
        """Return the current state at the start of a change."""
        found = writer.found
        if (found.st_ino, found.st_size, found.st_ctime_ns) == self._seen and writer.size == found.st_size:
            return self._state or self._read(writer.fd)
        return self.waiting(writer.fd)

    def waiting(self, fd: int) -> State:
        """Return the state of the open file fast: if the known end is unchanged, assume that others only appended."""
        now, state, seen = _stamp(os.fstat(fd)), self._state, self._seen
        if state is None or seen is None:
            return self._read(fd)
        if now == seen:
            return state
        if now[0] != seen[0] or now[1] <= state.size or state.unended or not _same_end(fd, state):
            return self._read(fd)
        self._guessed = True
        return self._catch_up(fd, state, now)

    def written(self, writer: Writer) -> None:
        """Store the stamp of the file after a change, while it is still locked."""
        found, state = os.fstat(writer.fd), self._state
        if state is None or state.size != found.st_size:  # somebody without the lock wrote, so our offsets are wrong
            self.failed()
            return
        self._seen = (found.st_ino, found.st_size, found.st_ctime_ns)
        self._lines.ended = (found.st_size, found.st_ctime_ns)
        if state.base.size and not self._guessed:
            state.base.set_stamp(self._seen)

    def failed(self) -> None:
        """Discard the cached state."""
        if self._state:
            self._state.base.close()
        self._state, self._seen, self._guessed = None, None, False

    # The state and its snapshot

    def _read(self, fd: int) -> State:
        """Return the state of the open file: the cached state, updated by all new lines."""
        now = _stamp(os.fstat(fd))
        if self._state and now == self._seen and not self._guessed:
            return self._state
        state = self._state = self._state or State(LedgerSnapshot.load(self._index) if self._index else None)
        if state.unended or now[1] < state.size or not _unchanged(fd, state, now):
            self.failed()
            state = State()  # lines that we had read were edited
        self._guessed = False
        return self._catch_up(fd, state, now)

    def _catch_up(self, fd: int, state: State, now: Stamp) -> State:
        whole = now[1]
        while state.size < whole:
            data = os.pread(fd, min(_BLOCK, whole - state.size), state.size)
            before = state.size
            self._take(state, data)
            if state.size == before:
                if len(data) < whole - state.size:
                    self._take(state, os.pread(fd, whole - state.size, state.size))  # a line longer than a block
                if state.size == before:
                    break  # an incomplete last line
            if self._progress and whole > 8 * _BLOCK:
                self._progress(state.size, whole)
        self._state, self._seen = state, now
        if self._guessed:
            return state
        if len(state.fresh) > 8 * max(_TAIL, state.lines // 400):
            self._write_snapshot()
        else:
            state.base.set_stamp(now)
        return self._state

    def _take(self, state: State, data: bytes) -> None:
        try:
            state.take_bytes(data)
        except BaseException:  # after Ctrl-C, some lines would be counted twice
            self.failed()
            raise

    def tidy(self) -> None:
        """Write a snapshot if there are many new lines."""
        with self.reading() as (_, state):
            if len(state.fresh) > _TAIL:
                self._write_snapshot()

    def close(self) -> None:
        """Write a snapshot if that needs no reading, and discard the state."""
        state = self._state
        if state and len(state.fresh) > max(_TAIL, state.lines // 400) and self._is_current():
            self._write_snapshot()
        self.failed()

    def _is_current(self) -> bool:
        """Is the file unchanged since we read it? A snapshot must not contain text that was purged since."""
        try:
            return not self._guessed and _stamp(self._lines.path.stat()) == self._seen
        except OSError:
            return False

    def _write_snapshot(self) -> None:
        """Replace the snapshot. Errors are ignored, because everything works without one."""
        state = self._state
        if self._index is None or self._seen is None or state is None:
            return
        try:
            LedgerSnapshot.write(self._index, state.snapshot(self._seen))
        except StoreTrouble:
            return
        fresh = LedgerSnapshot.load(self._index)
        if fresh and (fresh.size, fresh.crc) == (state.size, state.crc):
            state.base.close()
            self._state = State(fresh)
        elif fresh:
            fresh.close()  # another process replaced it first


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_ctime_ns


def _same_end(fd: int, state: State) -> bool:
    """Are the last bytes that we read unchanged? Then others probably only appended."""
    return bool(state.tail) and os.pread(fd, len(state.tail), state.size - len(state.tail)) == state.tail


def _unchanged(fd: int, state: State, now: Stamp) -> bool:
    """Is everything that we read unchanged? A matching stamp proves it only for the part in the snapshot."""
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
