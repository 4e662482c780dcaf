"""The queue of turns whose lasting facts are not in the notes yet. It is on disk, so that a crash loses nothing.

Each record names a conversation and an exact range of turns. A range is finished once, and never read a second time.
"""

from collections.abc import Iterator
from datetime import datetime

from aish.values.items import stamp
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Record, RecordLog

MOST_TRIES = 3


class QueuedRange(NamedTuple):
    """Turns of a conversation that wait for consolidation, and how often that has failed."""

    conversation: str
    first: int
    last: int
    tries: int = 0

    @property
    def source(self) -> str:
        """The range as the notes and their log name it."""
        return f"{self.conversation}/{self.first}-{self.last}"


class ConsolidationQueue:
    """The queue of one channel."""

    def __init__(self, log: RecordLog) -> None:
        self._log = log

    def add(self, conversation: str, first: int, last: int, now: datetime) -> QueuedRange | None:
        """Queue the part of a range that was not queued before. None if there is no such part."""
        added: list[QueuedRange] = []

        def record() -> Iterator[Record]:  # under the lock, so that two shells never queue the same turn
            begin = max(first, self.covered(conversation) + 1)
            if begin <= last:
                added.append(QueuedRange(conversation, begin, last))
                yield _record("queued", added[0], now)

        self._log.extend(record)
        return added[0] if added else None

    def covered(self, conversation: str) -> int:
        """Return the last turn of a conversation that was ever queued."""
        return max((each.last for each, _ in self._read() if each.conversation == conversation), default=0)

    def waiting(self) -> list[QueuedRange]:
        """Return the ranges that wait, oldest first, without those that failed too often."""
        return [each for each in self._open() if each.tries < MOST_TRIES]

    def given_up(self) -> list[QueuedRange]:
        """Return the ranges that failed too often."""
        return [each for each in self._open() if each.tries >= MOST_TRIES]

    def finish(self, done: QueuedRange, now: datetime) -> None:
        self._log.append(_record("done", done, now))

    def fail(self, failed: QueuedRange, now: datetime) -> None:
        self._log.append(_record("failed", failed, now))

    def _open(self) -> list[QueuedRange]:
        """Return what was queued and is not done. Adjacent ranges that failed equally often are one."""
        ranges: list[QueuedRange] = []
        for each, outcome in self._read():
            if outcome == "queued":
                ranges.append(each)
            elif outcome == "done":
                ranges = [part for one in ranges for part in _without(one, each)]
            else:
                ranges = [one._replace(tries=one.tries + 1) if _overlap(one, each) else one for one in ranges]
        joined: list[QueuedRange] = []
        for one in ranges:
            before = joined[-1] if joined else None
            if before and before[0::3] == one[0::3] and before.last + 1 == one.first:
                joined[-1] = before._replace(last=one.last)
            else:
                joined.append(one)
        return joined

    def _read(self) -> Iterator[tuple[QueuedRange, str]]:
        for record in self._log.read():
            match record:
                case {"consolidation": str(outcome), "conversation": str(name), "turns": [int(first), int(last)]}:
                    yield QueuedRange(name, first, last), outcome


def _record(outcome: str, each: QueuedRange, now: datetime) -> Record:
    return {
        "ts": stamp(now),
        "consolidation": outcome,
        "conversation": each.conversation,
        "turns": [each.first, each.last],
    }


def _overlap(one: QueuedRange, other: QueuedRange) -> bool:
    return one.conversation == other.conversation and one.first <= other.last and other.first <= one.last


def _without(one: QueuedRange, done: QueuedRange) -> list[QueuedRange]:
    """Return the parts of a range that are not done."""
    if not _overlap(one, done):
        return [one]
    parts = (one._replace(last=done.first - 1), one._replace(first=done.last + 1))
    return [part for part in parts if part.first <= part.last]
