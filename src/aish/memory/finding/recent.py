"""Recency: the newest turns of all conversations, by the index and never by a scan."""

import heapq
from collections.abc import Iterable, Iterator

import numpy as np

from aish.memory.finding.catalogue import Known
from aish.memory.finding.columns import NONE
from aish.memory.finding.snapshot import Snapshot


def newest_rows(
    snapshot: Snapshot, channels: Iterable[int] | None, stale: frozenset[int], until: int | None = None
) -> Iterator[int]:
    """Rows, newest first. A conversation is looked at when its last turn could be the next one."""
    times, numbers = snapshot.columns["time"], snapshot.columns["number"]
    heap: list[tuple[int, int, str, int, Iterator[int]]] = []  # ordered by time, number and name, not by the row

    def push(name: str, rows: Iterator[int]) -> None:
        for row in rows:
            heapq.heappush(heap, (-int(times[row]), -int(numbers[row]), name, row, rows))
            return

    waiting = _conversations(snapshot, channels, stale)
    following = next(waiting, None)
    while heap or following:
        while following and (not heap or following.last >= -heap[0][0]):
            push(following.name, _rows(snapshot, following))
            following = next(waiting, None)
        if heap:
            time, _, name, row, rows = heapq.heappop(heap)
            if until is None or -time < until:
                yield row
            push(name, rows)


def _conversations(snapshot: Snapshot, channels: Iterable[int] | None, stale: frozenset[int]) -> Iterator[Known]:
    """Conversations by their last turn, as this snapshot has them: the catalogue may be further already."""
    for known in snapshot.catalogue.newest(channels):
        known = snapshot.by_id.get(known.id, known)
        if known.id not in stale and NONE < known.newest < snapshot.rows:
            yield known


def _rows(snapshot: Snapshot, known: Known) -> Iterator[int]:
    """The rows of a conversation, newest first."""
    columns, row = snapshot.columns, known.newest
    if known.jumps:
        rows = np.flatnonzero(columns["journal"] == known.id)
        yield from map(int, rows[np.lexsort((-columns["number"][rows], -columns["time"][rows]))])
        return
    while row != NONE:
        yield row
        row = int(columns["before"][row])
