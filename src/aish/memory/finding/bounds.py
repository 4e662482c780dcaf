"""Which turns a search may return: the limits of the query and of the caller, combined.

Pure: plain values.
"""

from datetime import datetime

from aish.memory.finding.query import Query
from aish.values.hits import Scope
from aish.values.named_tuple import NamedTuple

_NO_ROLE = "none"  # matches no turn


class Bounds(NamedTuple):
    """Which turns may be found; empty and None mean any."""

    channel: str
    roles: frozenset[str]
    since: datetime | None
    until: datetime | None


def combine_bounds(query: Query, scope: Scope) -> Bounds:
    """Combine the limits of a query and of a scope; the narrower one applies."""
    sinces = [time for time in (query.since, scope.since) if time]
    untils = [time for time in (query.until, scope.until) if time]
    roles = query.roles
    if scope.role:
        roles = frozenset({scope.role} if scope.role in roles or not roles else {_NO_ROLE})
    return Bounds(scope.channel or query.channel, roles, max(sinces, default=None), min(untils, default=None))
