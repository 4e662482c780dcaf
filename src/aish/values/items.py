"""Items of memory: one thing worth keeping, what kind it is and where it came from."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

KINDS = ("fact", "pref", "context")
FORGET = "forget"  # the kind of a tombstone
_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)


class Item(NamedTuple):
    """One item as it stands in a ledger; `record` has every field of its line, also those we do not know."""

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
        """Whose words these are, whatever `source` says of the place: what trust depends on."""
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
    """The moment a time stamp means; the beginning of time for one that means none."""
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not UTC:
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if time.year in (1, 9999):
            time.astimezone()  # the ends of the calendar do not exist everywhere on earth
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)
    return time


def stamp(time: datetime) -> str:
    """A moment as all files write it: UTC, to the millisecond, ending in Z."""
    return f"{_second((time - _EPOCH) // _SECOND)}.{time.microsecond // 1000:03}Z"


@lru_cache(maxsize=2)  # most moments that are written lie close together
def _second(seconds: int) -> str:
    return (_EPOCH + seconds * _SECOND).isoformat()[:-6]
