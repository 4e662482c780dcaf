"""The newest turns, exchanges and conversations, read through the index without scanning all turns."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile

import numpy as np

from aish.memory.finding.bounds import Bounds
from aish.memory.finding.catalogue import IndexedConversation
from aish.memory.finding.columns import NONE, clamp_number
from aish.memory.finding.index_writer import ROLES
from aish.memory.finding.snapshot import IndexSnapshot
from aish.values.channels import is_channel
from aish.values.hits import THREAD_TURNS, Hit, Unit
from aish.values.named_tuple import NamedTuple

_MAX_EXCHANGE = 100  # turns; an import without any question would be one endless exchange
Order = tuple[int, int, str]  # time, number and name: the order does not depend on what is indexed


class Place(NamedTuple):
    """Where a turn is: a row of the index, or the turn itself if it is not indexed."""

    order: Order
    role: str
    row: int = NONE
    hit: Hit | None = None


class _Conversation(NamedTuple):
    """A conversation: the time of its last turn or a later one, and its turns, newest first."""

    last_time: int
    name: str
    places: Iterator[Place]


def newest_pieces(
    snapshot: IndexSnapshot | None, unindexed: Iterable[Hit], invalidated: frozenset[int], within: Bounds, by: Unit
) -> Iterator[list[Place]]:
    """Yield turns, exchanges or conversations by their newest turn, each as its turns within bounds, newest first.

    `unindexed` are the turns that are not in the index, newest first. A conversation is only read when it may be next.
    """
    since, until = (round(time.timestamp() * 1000) if time else None for time in (within.since, within.until))
    split = _SPLITTERS.get(by, _turns)
    heap: list[tuple[Order, list[Place], Iterator[list[Place]]]] = []

    def push(rest: Iterator[list[Place]]) -> None:
        for piece in rest:
            heapq.heappush(heap, (piece[0].order, piece, rest))
            return

    conversations = _conversations(snapshot, unindexed, invalidated, within.channel, until)
    following = next(conversations, None)
    while heap or following:
        while following and (not heap or following.last_time >= -heap[0][0][0]):
            if since is not None and following.last_time < since:
                following = None
                break
            push(split(_between(following.places, since, until), within.roles))
            following = next(conversations, None)
        if heap:
            _, piece, rest = heapq.heappop(heap)
            yield piece
            push(rest)


def newest_first_key(hit: Hit) -> Order:
    return -round(hit.time.timestamp() * 1000), -clamp_number(hit.turn), hit.conversation


def _between(places: Iterator[Place], since: int | None, until: int | None) -> Iterator[Place]:
    early_enough = (place for place in places if until is None or -place.order[0] < until)
    return takewhile(lambda place: since is None or -place.order[0] >= since, early_enough)


def _turns(places: Iterator[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    return ([place] for place in places if not roles or place.role in roles)


def _thread(places: Iterator[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    """The newest turns of a conversation, as one piece."""
    if piece := [place for (place,) in islice(_turns(places, roles), THREAD_TURNS)]:
        yield piece


def _exchanges(places: Iterator[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    """Questions with their answers. The turns come newest first, so an exchange ends with its question."""
    piece: list[Place] = []
    for place in places:
        piece.append(place)
        if place.role == "user" or len(piece) == _MAX_EXCHANGE:
            yield from _wanted(piece, roles)
            piece = []
    yield from _wanted(piece, roles)


def _wanted(piece: list[Place], roles: frozenset[str]) -> Iterator[list[Place]]:
    if wanted := [place for place in piece if not roles or place.role in roles]:
        yield wanted


_Splitter = Callable[[Iterator[Place], frozenset[str]], Iterator[list[Place]]]
_SPLITTERS: Mapping[Unit, _Splitter] = {"thread": _thread, "exchange": _exchanges}


def _conversations(
    snapshot: IndexSnapshot | None,
    unindexed: Iterable[Hit],
    invalidated: frozenset[int],
    channel: str,
    until: int | None,
) -> Iterator[_Conversation]:
    """Conversations by their last turn, newest first; their turns may be indexed, unindexed or both."""
    new: dict[str, list[Place]] = {}
    for hit in unindexed:
        new.setdefault(hit.conversation, []).append(Place(newest_first_key(hit), hit.role, hit=hit))
    grown = []
    for name, places in new.items():
        last_time, both = -places[0].order[0], iter(places)
        known = snapshot.conversations.get(name) if snapshot else None
        if snapshot and known and _is_valid(snapshot, known, invalidated):
            both = heapq.merge(_indexed(snapshot, known), places, key=lambda place: place.order)
            last_time = max(last_time, known.last_time)
        grown.append(_Conversation(last_time, name, both))
    grown.sort(key=lambda conversation: -conversation.last_time)
    old = _indexed_conversations(snapshot, invalidated, channel, until, new) if snapshot else iter(())
    return heapq.merge(old, grown, key=lambda conversation: -conversation.last_time)


def _indexed_conversations(
    snapshot: IndexSnapshot,
    invalidated: frozenset[int],
    channel: str,
    until: int | None,
    new: Mapping[str, Sequence[Place]],
) -> Iterator[_Conversation]:
    """Conversations without unindexed turns, as this snapshot has them; the catalogue may have newer rows."""
    channels = [id for id, name in snapshot.channels.items() if is_channel(name, channel)] if channel else None
    for known in snapshot.catalogue.newest_first(channels):
        last_time = known.last_time  # the catalogue sorts by it
        known = snapshot.by_id.get(known.id, known)
        too_late = until is not None and known.first_time >= until
        if not too_late and known.name not in new and _is_valid(snapshot, known, invalidated):
            yield _Conversation(last_time, known.name, _indexed(snapshot, known))


def _is_valid(snapshot: IndexSnapshot, known: IndexedConversation, invalidated: frozenset[int]) -> bool:
    return known.id not in invalidated and NONE < known.newest_row < snapshot.rows


def _indexed(snapshot: IndexSnapshot, known: IndexedConversation) -> Iterator[Place]:
    """The indexed turns of a conversation, newest first."""
    times, numbers, roles = (snapshot.columns[name] for name in ("time", "number", "role"))
    for row in _rows(snapshot, known):
        yield Place((-int(times[row]), -int(numbers[row]), known.name), ROLES[roles[row]], row)


def _rows(snapshot: IndexSnapshot, known: IndexedConversation) -> Iterator[int]:
    columns, row = snapshot.columns, known.newest_row
    if known.unordered:
        rows = np.flatnonzero(columns["conversation"] == known.id)
        yield from map(int, rows[np.lexsort((-columns["number"][rows], -columns["time"][rows]))])
        return
    while row != NONE:
        yield row
        row = int(columns["before"][row])
