"""Format moments as text, and parse text that means a moment.

Pure: `now` is an argument.
"""

import re
from datetime import UTC, date, datetime, timedelta

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
_SHORT = r"(\d{1,5}) ?(s|min|m|h|d|w|mo|y)"
_SHORT_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}
_SHORT_DAYS = {"d": 1, "w": 7}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_DAY = r"\d{4}-?\d{2}-?\d{2}|\d{4}-?w\d{2}(?:-?[1-7])?"


def age(time: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in a word or two."""
    seconds = (now - time).total_seconds()
    if seconds < -60:
        return "in the future"
    if seconds < 60:
        return "now"
    for size, most, name in _UNITS:
        if seconds < size * most:
            count = int(seconds // size)
            return f"{count} {name}" if count == 1 or name == "min" else f"{count} {name}s"
    return "ages"


def ago(time: datetime, now: datetime) -> str:
    """Return the age for a sentence: "3 min ago", "now"."""
    told = age(time, now)
    return told if told in ("now", "in the future") else f"{told} ago"


def local(time: datetime) -> str:
    """Return a moment in local time, to the minute."""
    try:
        time = time.astimezone()
    except (ValueError, OverflowError):
        pass  # the first and last days do not exist in every time zone
    return time.isoformat(" ", "minutes")[:16]


def read_moment(words: str, now: datetime) -> datetime:
    """Parse a moment in local time; a day without a time means its end. Raises `BadUsage`."""
    text = " ".join(words.lower().split())
    if text in ("now", ""):
        return now
    try:
        if ago := re.fullmatch(_AGO, text):
            return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        here = now.astimezone().replace(tzinfo=None)  # the UTC offset may differ on another day
        if days := plain_days(text, here.date()):
            return _end_of(days[1])
        if moment := exact_moment(text, here):
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass  # an invalid day
    raise BadUsage(f"{words!r} is not a date; try 2026-11-15, 2026-11-15 18:30, yesterday or 3 days ago")


def exact_moment(text: str, now: datetime) -> datetime | None:
    """Parse an exact moment: `now`, `3d` for three days ago, or a date with a time and an optional zone."""
    if text.lower() == "now":
        return now
    if short := re.fullmatch(_SHORT, text.lower(), re.ASCII):
        return _back(int(short[1]), short[2], now)
    if not re.match(r"\d{4}\S*\d[Tt ]\d", text, re.ASCII):
        return None
    try:
        moment = datetime.fromisoformat(text.upper().replace(" UTC", "Z"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


def plain_days(text: str, today: date) -> tuple[date, date] | None:
    """Return the first and last day of a simple period: a numeric date or month, yesterday, last week."""
    text = " ".join(text.lower().split()).removeprefix("the ").removeprefix("on ")
    near = {"today": 0, "yesterday": 1, "day before yesterday": 2}
    if text in near:
        return (today - timedelta(days=near[text]),) * 2
    if re.fullmatch(_DAY, text, re.ASCII):
        try:
            first = date.fromisoformat(text.upper())
        except ValueError:
            return None
        return first, first + timedelta(days=6 if "w" in text and not re.search(r"w\d\d-?\d", text) else 0)
    if match := re.fullmatch(r"((?:19|20)\d\d)(?:-(0[1-9]|1[0-2]))?", text, re.ASCII):
        first = date(int(match[1]), int(match[2] or 1), 1)
        return _running("month" if match[2] else "year", first, before=False)
    if match := re.fullmatch(r"(?:last )?(\w+day)", text):
        if match[1] not in _WEEKDAYS:
            return None
        return (today - timedelta(days=(today.weekday() - _WEEKDAYS.index(match[1]) - 1) % 7 + 1),) * 2
    if match := re.fullmatch(r"(last|this) (week|month|year)", text):
        return _running(match[2], today, before=match[1] == "last")
    return None


def _running(unit: str, today: date, *, before: bool) -> tuple[date, date]:
    """Return the week, month or year of a day, or the one before it."""
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * before)
        return monday, monday + timedelta(days=6)
    if unit == "year":
        return date(today.year - before, 1, 1), date(today.year - before, 12, 31)
    day = today.replace(day=1) - timedelta(days=before)
    first = day.replace(day=1)
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _back(count: int, unit: str, now: datetime) -> datetime:
    """Go back in time: hours by elapsed time, days by the calendar, months to the last day if one is shorter."""
    if unit in _SHORT_SECONDS:
        gone = timedelta(seconds=count * _SHORT_SECONDS[unit])
        return (now.astimezone(UTC) - gone).astimezone(now.tzinfo).replace(tzinfo=now.tzinfo)
    if unit in _SHORT_DAYS:
        return now - timedelta(days=count * _SHORT_DAYS[unit])
    year, month = divmod(now.year * 12 + now.month - 1 - count * (12 if unit == "y" else 1), 12)
    last = (date(year + month // 11, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return now.replace(year=year, month=month + 1, day=min(now.day, last))


def _end_of(day: date) -> datetime:
    """Return the end of a local day, even if daylight saving time changes on that day."""
    return datetime(day.year, day.month, day.day, 23, 59, 59, 999999).astimezone(UTC)
