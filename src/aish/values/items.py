"""Memory items: their content, kind and origin."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from aish.values.named_tuple import NamedTuple

KINDS = ("fact", "pref", "context")
FORGET = "forget"  # the kind of a tombstone
_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)


class Item(NamedTuple):
    """One item of the ledger; `record` has all fields of its line, including unknown ones."""

    id: int
    ts: str
    kind: str
    content: str
    record: dict[str, Any]

    @property
    def time(self) -> datetime:
        return read_time(self.ts)

    @property
    def source(self) -> str:
        """Where it came from: user, model, tool:NAME, file, import, or the conversation it was learned in."""
        return str(self.record.get("source") or "by hand")

    @property
    def origin(self) -> str:
        """The author of the content, which decides trust; `source` may only name a place."""
        return str(self.record.get("origin") or self.source)

    @property
    def key(self) -> str:
        key = self.record.get("key")
        return key if isinstance(key, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        tags = self.record.get("tags")
        return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()


def read_time(text: str) -> datetime:
    """Parse a timestamp; an invalid one gives the epoch."""
    try:
        return utc_time(text)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)


def utc_time(text: str) -> datetime:
    """Parse a timestamp as UTC; one without a zone is UTC. Raises `ValueError` or `OverflowError`."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is not UTC:
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    if time.year in (1, 9999):
        time.astimezone()  # the first and last days do not exist in every time zone
    return time


def stamp(time: datetime) -> str:
    """Format a moment as in all files: UTC, with milliseconds, ending in Z."""
    return f"{_second((time - _EPOCH) // _SECOND)}.{time.microsecond // 1000:03}Z"


@lru_cache(maxsize=2)  # consecutive timestamps are usually close together
def _second(seconds: int) -> str:
    return (_EPOCH + seconds * _SECOND).isoformat()[:-6]
