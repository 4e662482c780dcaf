"""Keeping in step with the file of a ledger: what it says now, and the items in it.

Other programs and people write it too. What is known of it is a state with the stamp (inode, size, time) that the file
had; while the stamp fits, nothing is read. A snapshot saves reading a long file when it is opened.
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
_MANY = 256  # items after which a list is long
_NEAR = 1 << 18
_TAIL = 128  # lines after the snapshot that are worth a new one; more in a long ledger


class Reader:
    """What is known of one file. It watches the writes to it, so that our own lines are never read again."""

    def __init__(self, lines: LineFile, index: Path | None, progress: Progress | None) -> None:
        self._lines = lines
        self._index = index
        self._progress = progress
        self._state: State | None = None
        self._seen: Stamp | None = None
        self._guessed = False  # that others have only appended since: good enough to write, not to vouch for

    @property
    def torn(self) -> bool:
        """Did the file, as it was read last, end in the middle of a line?"""
        return bool(self._state and self._seen and self._state.size < self._seen[1])

    @contextmanager
    def reading(self) -> Iterator[tuple[int, State]]:
        """The open file and its state. Whoever puts another file in its place does not change what is read here."""
        path = self._lines.path
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):  # what stands in the way is said when something is written
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
        """The active item whose folded text is this, if there is one."""
        rows = state.alike(fold)
        return next((item for item in self.items(fd, rows) if folded(item.content) == text), None) if rows else None

    def items(self, fd: int, rows: Iterable[Found]) -> Iterator[Item]:
        """The items of these rows. What was edited under us is left out."""
        near: dict[int, Item] = {}
        taken: set[int] = set()  # parts of the file; once each, because rows may come in any order
        for place, (id, _, offset, _) in enumerate(rows):
            if place >= _MANY and (part := offset // _NEAR) not in taken:  # a long list: take in many at once
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
        """The state that a change starts from."""
        found = writer.found
        if (found.st_ino, found.st_size, found.st_ctime_ns) == self._seen and writer.size == found.st_size:
            return self._state or self._read(writer.fd)
        return self.waiting(writer.fd)

    def waiting(self, fd: int) -> State:
        """The state of the open file for one who is in a hurry: where it ends as before, others have only appended."""
        now, state, seen = _stamp(os.fstat(fd)), self._state, self._seen
        if state is None or seen is None:
            return self._read(fd)
        if now == seen:
            return state
        if now[0] != seen[0] or now[1] <= state.size or state.unended or not _ends_so(fd, state):
            return self._read(fd)
        self._guessed = True
        return self._catch_up(fd, state, now)

    def written(self, writer: Writer) -> None:
        """Remember the file as a change left it, while no other aish can have written."""
        found, state = os.fstat(writer.fd), self._state
        if state is None or state.size != found.st_size:  # a person wrote, and our lines stand elsewhere
            self.failed()
            return
        self._seen = (found.st_ino, found.st_size, found.st_ctime_ns)
        self._lines.ended = (found.st_size, found.st_ctime_ns)
        if state.base.size and not self._guessed:
            state.base.set_stamp(self._seen)

    def failed(self) -> None:
        """Know nothing."""
        if self._state:
            self._state.base.close()
        self._state, self._seen, self._guessed = None, None, False

    # The state and its snapshot

    def _read(self, fd: int) -> State:
        """The state of the open file: what is known already, and what came since."""
        now = _stamp(os.fstat(fd))
        if self._state and now == self._seen and not self._guessed:
            return self._state
        state = self._state = self._state or State(LedgerSnapshot.load(self._index) if self._index else None)
        if state.unended or now[1] < state.size or not _unchanged(fd, state, now):
            self.failed()
            state = State()  # somebody edited what we had read
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
                    self._take(state, os.pread(fd, whole - state.size, state.size))  # one line longer than a block
                if state.size == before:
                    break  # a torn line at the end
            if self._progress and whole > 8 * _BLOCK:
                self._progress(state.size, whole)
        self._state, self._seen = state, now
        if self._guessed:
            return state
        if len(state.fresh) > 8 * max(_TAIL, state.lines // 400):
            self._leave_snapshot()
        else:
            state.base.set_stamp(now)
        return self._state

    def _take(self, state: State, data: bytes) -> None:
        try:
            state.take_bytes(data)
        except BaseException:  # Ctrl-C: lines that were taken in already would be taken in once more
            self.failed()
            raise

    def tidy(self) -> None:
        """Leave a snapshot of a long file for the next who opens it, if there is something new to say."""
        with self.reading() as (_, state):
            if len(state.fresh) > _TAIL:
                self._leave_snapshot()

    def close(self) -> None:
        """The same, but reading nothing for it, and know nothing from then on."""
        state = self._state
        if state and len(state.fresh) > max(_TAIL, state.lines // 400) and self._is_current():
            self._leave_snapshot()
        self.failed()

    def _is_current(self) -> bool:
        """Is the file as we saw it last? What was read before a purge must not come back as an index."""
        try:
            return not self._guessed and _stamp(self._lines.path.stat()) == self._seen
        except OSError:
            return False

    def _leave_snapshot(self) -> None:
        """Replace the snapshot; where that is not possible everything works without."""
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
            fresh.close()  # somebody else's, who was faster


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_ctime_ns


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
