"""Periods of the calendar: days, weeks, seasons, two weeks ago.

Pure: `now` is passed in, with the time zone. Days are local calendar days, also when daylight saving time starts or
ends; only hours and minutes count elapsed time. A date that does not exist raises `ValueError` or `OverflowError`;
callers treat that as "no such time".
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from aish.values.named_tuple import NamedTuple

MINUTE, HOUR, DAY, WEEK, MONTH, YEAR = "minute", "hour", "day", "week", "month", "year"
WEEKEND, QUARTER = "weekend", "quarter"
# How inexact people count, in days. The inexactness also grows with the distance: a tenth of it is added.
_SLACK = {MINUTE: 10 / 1440, HOUR: 1 / 24, DAY: 0, WEEK: 3, WEEKEND: 2, MONTH: 15, QUARTER: 45, YEAR: 183}
_VAGUE = 10
_MONTHS = {MONTH: 1, QUARTER: 3, YEAR: 12}
# First and last hour; a night ends on the next morning.
_PARTS = {"morning": (4, 12), "noon": (11, 15), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_LONG = timedelta(days=5)  # longer periods have an early and a late part
_RECENT = 14


class Count(NamedTuple):
    """A number, or a range of numbers: "a few" is two to six."""

    low: int
    high: int


class Period(NamedTuple):
    """A period in local time; `slack` is added on both sides where people are vague.

    `again` is year, week or day if the words fit a period in each of them; the most recent one was taken.
    """

    first: datetime
    last: datetime
    slack: timedelta = timedelta()
    again: str = ""


def start_of(day: date, now: datetime) -> datetime:
    """The first moment of a day in the time zone of `now`."""
    return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)


def days(first: date, last: date, now: datetime, again: str = "") -> Period:
    """Whole days, the last one included."""
    return Period(start_of(first, now), start_of(last + timedelta(days=1), now), again=again)


def one_day(day: date, now: datetime) -> Period:
    return days(day, day, now)


def add_months(day: date, count: int) -> date:
    """The same day `count` months later, or the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    for last in (day.day, 30, 29):
        try:
            return date(year, month + 1, min(day.day, last))
        except ValueError:
            continue  # the month is shorter
    return date(year, month + 1, 28)


def months(year: int, month: int, count: int, now: datetime, again: str = "") -> Period:
    """`count` whole months, starting with this one."""
    first = date(year, month, 1)
    return days(first, add_months(first, count) - timedelta(days=1), now, again)


def season(year: int, number: int, now: datetime, again: str = "") -> Period:
    """A season: spring is 0 and starts in March; the winter of a year starts in December."""
    return months(year, 3 + 3 * number, 3, now, again)


def newest(make: Callable[[int], Period], now: datetime) -> Period:
    """The most recent yearly period that has started, because conversations are in the past."""
    for year in range(now.year, now.year - 9, -1):
        try:
            found = make(year)
        except ValueError:
            continue  # 29 February does not exist in most years
        if found.first <= now:
            return found
    raise ValueError("no such day in this calendar")


def current(unit: str, now: datetime, back: int = 0) -> Period:
    """The current week, month, quarter or year, or the one `back` before it."""
    today = now.date()
    if unit in _MONTHS:
        size = _MONTHS[unit]
        begin = add_months(date(today.year, (today.month - 1) // size * size + 1, 1), -back * size)
        return months(begin.year, begin.month, size, now)
    if unit == WEEK:
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return days(monday, monday + timedelta(days=6), now)
    if unit == WEEKEND:
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 + 7 * back)
        return days(saturday, saturday + timedelta(days=1), now)
    if unit == DAY:
        return one_day(today - timedelta(days=back), now)
    return past(Count(1, 1), unit, now)


def last_one(unit: str, now: datetime, back: int = 1) -> Period:
    """The unit before the current one; from Monday to Friday the last weekend is the most recent one."""
    if unit == WEEKEND and now.weekday() < 5:
        back -= 1
    return current(unit, now, back)


def weekday(number: int, now: datetime, back: int = 1) -> Period:
    """The most recent such weekday before today."""
    day = now.date() - timedelta(days=(now.weekday() - number - 1) % 7 + 1 + 7 * (back - 1))
    return one_day(day, now)._replace(again=WEEK)


def elapsed(now: datetime, gone: timedelta) -> datetime:
    """The moment that long ago in elapsed time."""
    return (now.astimezone(UTC) - gone).astimezone(now.tzinfo).replace(tzinfo=now.tzinfo)


def counted_back(count: int, unit: str, now: datetime) -> Period:
    """The day that many units ago; for hours and minutes, the exact moment."""
    if unit in (MINUTE, HOUR):
        moment = elapsed(now, timedelta(minutes=count * (60 if unit == HOUR else 1)))
        return Period(moment, moment)
    if unit in _MONTHS:
        return one_day(add_months(now.date(), -count * _MONTHS[unit]), now)
    if unit == WEEKEND:
        return last_one(WEEKEND, now, count)
    return one_day(now.date() - timedelta(days=count * (7 if unit == WEEK else 1)), now)


def ago(count: Count, unit: str, now: datetime) -> Period:
    """The period of "two weeks ago": a day, with a slack that grows with the distance."""
    far, near = counted_back(count.high, unit, now), counted_back(count.low, unit, now)
    distance = (now - far.first).total_seconds() / 86400 / _VAGUE
    slack = timedelta(days=_SLACK[unit] + (distance if unit in (MINUTE, HOUR) else int(distance)))
    return Period(far.first, near.last, slack)


def past(count: Count, unit: str, now: datetime) -> Period:
    """The last `count` units up to now."""
    return Period(counted_back(count.high, unit, now).first, one_day(now.date(), now).last)


def recent(now: datetime) -> Period:
    return past(Count(_RECENT, _RECENT), DAY, now)


def part_of_day(day: date, part: str, now: datetime) -> Period:
    """The morning, evening or night of a day."""
    begin, end = (timedelta(hours=hour) for hour in _PARTS[part])
    midnight = start_of(day, now)
    return Period(midnight + begin, midnight + end)


def part_of(period: Period, part: str) -> Period:
    """The early, mid or late part of a week, month or year; the parts overlap."""
    length = period.last - period.first
    if length < _LONG:
        return period
    begin, end = {"early": (0.0, 0.4), "mid": (0.3, 0.7), "late": (0.6, 1.0)}[part]
    whole = length.days
    return period._replace(
        first=period.first + timedelta(days=int(whole * begin)),
        last=period.first + timedelta(days=int(whole * end)) if end < 1 else period.last,
    )


def about(period: Period) -> Period:
    """The period with more slack on both sides."""
    room = max((period.last - period.first) / 2, timedelta(days=3))
    return period._replace(slack=max(period.slack, room))


def from_to(one: Period, other: Period, *, dated: bool) -> Period:
    """From the start of one to the end of the other; `dated` if the other names a year that applies to both."""
    if one.again == YEAR and dated:
        one = _in_year(one, other.first.year)
    if one.first > other.first and one.again == YEAR:
        one = _in_year(one, one.first.year - 1)
    elif one.first > other.first and one.again in (WEEK, DAY):
        step = timedelta(days=7 if one.again == WEEK else 1)
        one = one._replace(first=one.first - step, last=one.last - step)
    return Period(min(one.first, other.first), max(one.last, other.last))


def _in_year(period: Period, year: int) -> Period:
    """The same period in another year."""
    by = (year - period.first.year) * 12
    first, last = (datetime.combine(add_months(at.date(), by), at.timetz()) for at in (period.first, period.last))
    return period._replace(first=first, last=last)
