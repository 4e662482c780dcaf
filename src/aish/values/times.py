"""Moments in words, and words that mean a moment.

Pure: `now` comes in as an argument.
"""

import re
from datetime import UTC, datetime, timedelta

from aish.values.errors import BadUsage

_UNITS = (
    (60, 60, "min"),
    (3600, 24, "hour"),
    (86400, 14, "day"),
    (604800, 9, "week"),
    (2629800, 24, "month"),
    (31557600, 10**9, "year"),
)
_AGO = r"(\d{1,5}) *(min|minute|hour|day|week|month|year)s? ago"
_SECONDS = {name: seconds for seconds, _, name in _UNITS} | {"minute": 60}


def age(time: datetime, now: datetime) -> str:
    """How long ago, in a word or two."""
    seconds = (now - time).total_seconds()
    if seconds < -60:
        return "in future"
    if seconds < 60:
        return "now"
    for size, most, name in _UNITS:
        if seconds < size * most:
            count = int(seconds // size)
            return f"{count} {name}" if count == 1 or name == "min" else f"{count} {name}s"
    return "ages"


def local(time: datetime) -> str:
    """A moment on the user's clock, to the minute."""
    try:
        time = time.astimezone()
    except (ValueError, OverflowError):
        pass  # the ends of the calendar do not exist everywhere on earth
    return time.isoformat(" ", "minutes")[:16]


def read_moment(words: str, now: datetime) -> datetime:
    """The moment that words mean; a day without a time means its end, on the user's clock. Raises `BadUsage`."""
    text = " ".join(words.lower().split())
    here = now.astimezone()
    if text in ("now", ""):
        return now
    if text in ("today", "yesterday"):
        return _end_of(here - timedelta(days=text == "yesterday"))
    try:
        if ago := re.fullmatch(_AGO, text):
            return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        time = datetime.fromisoformat(text.upper().replace(" UTC", "Z"))
        if re.fullmatch(r"\d{4}-?\d{2}-?\d{2}|\d{4}-?w\d{2}-?\d", text):
            return _end_of(time)
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadUsage(f"{words!r} is no date; try 2026-11-15, 2026-11-15 18:30, yesterday or 3 days ago") from None


def _end_of(day: datetime) -> datetime:
    """The end of a day on the user's clock, which may be set forward or back on that day."""
    return day.replace(hour=23, minute=59, second=59, microsecond=999999, tzinfo=None).astimezone(UTC)
