"""Recency: the newest turns, exchanges and conversations of all, by the index and never by a scan."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np

from aish.memory.finding.batch import ROLES
from aish.memory.finding.catalogue import Known
from aish.memory.finding.columns import NONE, numbered
from aish.memory.finding.question import Bounds
from aish.memory.finding.snapshot import IndexSnapshot
from aish.values.channels import is_channel
from aish.values.hits import THREAD_TURNS, Hit, Unit

_LONGEST = 100  # turns of an exchange; in what has no questions it would never end
Order = tuple[int, int, str]  # by time, number and name: the same whatever is in the index


class Place(NamedTuple):
    """Where a turn is: a row of the index, or the turn itself while it is in none."""

    order: Order
    role: str
    row: int = NONE
    hit: Hit | None = None


class _Talk(NamedTuple):
    """A conversation: when its last turn was said, or later, and its turns, newest first."""

    last: int
    name: str
    places: Iterator[Place]


def newest(
    snapshot: IndexSnapshot | None, fresh: Iterable[Hit], stale: frozenset[int], within: Bounds, by: Unit
) -> Iterator[list[Place]]:
    """Turns, exchanges or conversations by their newest turn, each as its turns within the bounds, newest first.

    `fresh` are the turns that are in no index, newest first. A conversation is looked at when it could be the next.
    """
    since, until = (round(time.timestamp() * 1000) if time else None for time in (within.since, within.until))
    pieces = _CUTS.get(by, _turns)
    heap: list[tuple[Order, list[Place], Iterator[list[Place]]]] = []

    def push(rest: Iterator[list[Place]]) -> None:
        for piece in rest:
            heapq.heappush(heap, (piece[0].order, piece, rest))
            return

    waiting = _talks(snapshot, fresh, stale, within.channel, until)
    following = next(waiting, None)
    while heap or following:
        while following and (not heap or following.last >= -heap[0][0][0]):
            if since is not None and following.last < since:
                following = None
                break
            push(pieces(_between(following.places, since, until), within.roles))
            following = next(waiting, None)
        if heap:
            _, piece, rest = heapq.heappop(heap)
            yield piece
            push(rest)


def newness(hit: Hit) -> Order:
    return -round(hit.time.timestamp() * 1000), -numbered(hit.turn), hit.conversation


def _between(places: Iterator[Place], since: int | None, until: int | None) -> Iterator[Place]:
    early_enough = (place for place in places if until is None or -place.order[0] < until)
    return takewhile(lambda place: since is None or -place.order[0] >= since, early_enough)


def _turns(places: Iterator[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    return ([place] for place in places if not roles or place.role in roles)


def _thread(places: Iterator[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    """The newest turns of a conversation, as one."""
    if piece := [place for (place,) in islice(_turns(places, roles), THREAD_TURNS)]:
        yield piece


def _exchanges(places: Iterator[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    """Questions with what answers them; seen from its end, an exchange ends with its question."""
    piece: list[Place] = []
    for place in places:
        piece.append(place)
        if place.role == "user" or len(piece) == _LONGEST:
            yield from _wanted(piece, roles)
            piece = []
    yield from _wanted(piece, roles)


def _wanted(piece: list[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    if wanted := [place for place in piece if not roles or place.role in roles]:
        yield wanted


_Cut = Callable[[Iterator[Place], frozenset[str]], Iterator[list[Place]]]
_CUTS: Mapping[Unit, _Cut] = {"thread": _thread, "exchange": _exchanges}


def _talks(
    snapshot: IndexSnapshot | None, fresh: Iterable[Hit], stale: frozenset[int], channel: str, until: int | None
) -> Iterator[_Talk]:
    """Conversations by their last turn, newest first: of the index, of what is new, and of both."""
    new: dict[str, list[Place]] = {}
    for hit in fresh:
        new.setdefault(hit.conversation, []).append(Place(newness(hit), hit.role, hit=hit))
    growing = []
    for name, places in new.items():
        last, both = -places[0].order[0], iter(places)
        known = snapshot.journals.get(name) if snapshot else None
        if snapshot and known and _counts(snapshot, known, stale):
            both = heapq.merge(_indexed(snapshot, known), places, key=lambda place: place.order)
            last = max(last, known.last)
        growing.append(_Talk(last, name, both))
    growing.sort(key=lambda talk: -talk.last)
    old = _indexed_talks(snapshot, stale, channel, until, new) if snapshot else iter(())
    return heapq.merge(old, growing, key=lambda talk: -talk.last)


def _indexed_talks(
    snapshot: IndexSnapshot, stale: frozenset[int], channel: str, until: int | None, new: Mapping[str, Sequence[Place]]
) -> Iterator[_Talk]:
    """Conversations that only the index has turns of, as this snapshot has them: the catalogue may be further."""
    channels = [id for id, name in snapshot.channels.items() if is_channel(name, channel)] if channel else None
    for known in snapshot.catalogue.newest(channels):
        last = known.last  # by which they come
        known = snapshot.by_id.get(known.id, known)
        too_late = until is not None and known.first >= until
        if not too_late and known.name not in new and _counts(snapshot, known, stale):
            yield _Talk(last, known.name, _indexed(snapshot, known))


def _counts(snapshot: IndexSnapshot, known: Known, stale: frozenset[int]) -> bool:
    return known.id not in stale and NONE < known.newest < snapshot.rows


def _indexed(snapshot: IndexSnapshot, known: Known) -> Iterator[Place]:
    """The turns of a conversation in the index, newest first."""
    times, numbers, roles = (snapshot.columns[name] for name in ("time", "number", "role"))
    for row in _rows(snapshot, known):
        yield Place((-int(times[row]), -int(numbers[row]), known.name), ROLES[roles[row]], row)


def _rows(snapshot: IndexSnapshot, known: Known) -> Iterator[int]:
    columns, row = snapshot.columns, known.newest
    if known.jumps:
        rows = np.flatnonzero(columns["journal"] == known.id)
        yield from map(int, rows[np.lexsort((-columns["number"][rows], -columns["time"][rows]))])
        return
    while row != NONE:
        yield row
        row = int(columns["before"][row])
