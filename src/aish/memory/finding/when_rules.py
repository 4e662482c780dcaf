"""Rules for phrases that name a time, and the calendar period that each of them means.

Pure: a row of tokens and `now` in, periods out. A rule is a regular expression over kinds of words, written with the
names of the kinds. Rules are tried in order, so longer phrases come first.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta

from aish.memory.finding import when_calendar as calendar
from aish.memory.finding.when_calendar import Count, Period
from aish.memory.finding.when_words import KINDS, NAMES, Token, figures
from aish.values.named_tuple import NamedTuple

_DAYS = frozenset("days tage tagen jours días dias".split())  # "the last days", without a number
_LAST_DAYS = 6
_NUM = "(?:one? couple of?|one? few|one? half one? dash?|number|count|one|sept)"
_UNIT = "(?:unit|weekend)"
_MONTH = "(?:month|(?:mon|sept) stop?)"
_DAY = "(?:weekday comma?)? the?"
_HALVES = {
    calendar.HOUR: (30, calendar.MINUTE),
    calendar.DAY: (12, calendar.HOUR),
    calendar.MONTH: (15, calendar.DAY),
    calendar.YEAR: (6, calendar.MONTH),
}
_COUNTS = {"couple": Count(2, 3), "few": Count(2, 6)}


class TimeMatch(NamedTuple):
    """A period in a row of tokens, and the rule that found it; `dated` if a year is named."""

    rule: str
    begin: int
    end: int
    period: Period
    dated: bool = False


class TimeWords:
    """The tokens of one match, by kind."""

    def __init__(self, row: Sequence[Token], now: datetime) -> None:
        self.now = now
        self._values: dict[str, list[Token]] = {}
        for token in row:
            self._values.setdefault(NAMES.get(token.kind, ""), []).append(token)

    def __contains__(self, kind: str) -> bool:
        return kind in self._values

    def number(self, kind: str, place: int = 0) -> int:
        value = self._values[kind][place].value
        return value if isinstance(value, int) else 0

    def name(self, kind: str) -> str:
        return str(self._values[kind][0].value)

    def text(self, kind: str) -> str:
        return self._values[kind][0].text.lower()

    def figures(self, kind: str) -> tuple[int, ...]:
        return figures(self._values[kind][0])

    @property
    def unit(self) -> str:
        if "unit" in self or "weekend" in self:
            unit = self.name("unit" if "unit" in self else "weekend")
            return _HALVES.get(unit, (0, unit))[1] if "half" in self else unit
        return calendar.YEAR  # "il y a un an", where the last word is an article in other languages

    @property
    def month(self) -> int:
        return next(self.number(kind) for kind in ("month", "mon", "sept") if kind in self)

    @property
    def count(self) -> Count:
        if "half" in self:
            half = _HALVES.get(self.name("unit"), (1, ""))[0] if "unit" in self else 1
            return Count(half, half)
        for kind, count in _COUNTS.items():
            if kind in self:
                return count
        number = next((self.number(kind) for kind in ("number", "count") if kind in self), 7 if "sept" in self else 1)
        return Count(number, number)


def _each_year(words: TimeWords, make: Callable[[int, str], Period]) -> Period:
    """In the named year, or the most recent one that has started."""
    if "year" in words:
        return make(words.number("year"), "")
    return calendar.newest(lambda year: make(year, calendar.YEAR), words.now)


def _numeric(words: TimeWords) -> Period:
    year, month, *day = words.figures("date")
    if not day:
        return calendar.months(year, month, 1, words.now)
    return calendar.one_day(date(year, month, day[0]), words.now)


def _day_of_month(words: TimeWords) -> Period:
    """One day, or a range of days in one month."""
    first, last = words.number("number"), words.number("number", -1)
    if first > last:
        raise ValueError("days in the wrong order")
    month = words.month
    return _each_year(
        words, lambda year, again: calendar.days(date(year, month, first), date(year, month, last), words.now, again)
    )


def _month(words: TimeWords) -> Period:
    month, now = words.month, words.now
    if "unit" in words:
        if words.unit != calendar.YEAR:
            raise ValueError("a month of a unit that is not a year")
        return calendar.months(now.year - words.number("last"), month, 1, now)
    if "last" in words:
        over = now - timedelta(days=now.day)  # "last May", said in May, is not this one
        return calendar.newest(lambda year: calendar.months(year, month, 1, now), over)
    return _each_year(words, lambda year, again: calendar.months(year, month, 1, now, again))


def _named_month(words: TimeWords) -> Period:
    """In the month of May."""
    return _each_year(words, lambda year, again: calendar.months(year, words.month, 1, words.now, again))


def _quarter(words: TimeWords) -> Period:
    first = words.number("quarter") * 3 - 2
    return _each_year(words, lambda year, again: calendar.months(year, first, 3, words.now, again))


def _season(words: TimeWords) -> Period:
    """The most recent season that has started; the "last" one is over."""
    number, now = words.number("season"), words.now
    found = _each_year(words, lambda year, again: calendar.season(year, number, now, again))
    if "last" in words and found.last > now:
        return calendar.season(found.first.year - 1, number, now)
    return found


def _years(words: TimeWords) -> Period:
    if "unit" in words and words.unit != calendar.YEAR:
        raise ValueError("two weeks 2023")
    first, last = words.figures("years") if "years" in words else (words.number("year"),) * 2
    return calendar.months(first, 1, 12 * (last - first + 1), words.now)


def _ago(words: TimeWords) -> Period:
    return calendar.ago(words.count, words.unit, words.now)


def _past(words: TimeWords) -> Period:
    return calendar.past(words.count, words.unit, words.now)


def _last_unit(words: TimeWords) -> Period:
    unit, now = words.unit, words.now
    if unit == calendar.DAY and "last" in words and words.text("unit") in _DAYS:
        return calendar.past(Count(_LAST_DAYS, _LAST_DAYS), unit, now)
    if unit in (calendar.DAY, calendar.MINUTE):
        raise ValueError("at the last minute, on the last day of school, to this day: not a definite time")
    if "last" not in words:
        return calendar.current(unit, now)
    return calendar.last_one(unit, now, words.number("last") + ("before" in words))


def _running_unit(words: TimeWords) -> Period:
    """The current unit, as in "at the beginning of the month"."""
    if words.unit in (calendar.DAY, calendar.MINUTE, calendar.HOUR):
        raise ValueError("the end of the day, the start of the hour")
    return calendar.current(words.unit, words.now)


def _weekday_of(words: TimeWords) -> Period:
    if words.unit != calendar.WEEK:
        raise ValueError("a weekday of a unit that is not a week")
    monday = calendar.current(calendar.WEEK, words.now, words.number("last") if "last" in words else 0).first.date()
    return calendar.one_day(monday + timedelta(days=words.number("weekday")), words.now)


def _weekday(words: TimeWords) -> Period:
    number = words.number("weekday" if "weekday" in words else "wday")
    back = (words.number("last") if "last" in words else 1) + ("before" in words)
    found = calendar.weekday(number, words.now, back)
    return _part(found.first.date(), words) if "daypart" in words else found


def _weekend(words: TimeWords) -> Period:
    return calendar.current(calendar.WEEKEND, words.now)


def _day(words: TimeWords) -> Period:
    if "unit" in words and words.unit != calendar.DAY:
        raise ValueError("the week before yesterday")
    back = (words.number("yesterday") if "yesterday" in words else 0) + ("before" in words)
    day = words.now.date() - timedelta(days=back)
    if "last" in words:  # last night
        day -= timedelta(days=1)
    elif "tonight" in words:
        day -= timedelta(days=words.number("tonight") or words.now.hour < 6)  # the night has not ended yet
    elif "daypart" in words and words.text("daypart") in ("nuit", "nacht") and not back and words.now.hour < 12:
        day -= timedelta(days=1)  # in the morning, "cette nuit" means last night
    return _part(day, words) if "daypart" in words or "tonight" in words else calendar.one_day(day, words.now)


def _part(day: date, words: TimeWords) -> Period:
    return calendar.part_of_day(day, words.name("daypart") if "daypart" in words else "night", words.now)


def _clock(words: TimeWords) -> Period:
    """The most recent moment with this time of day."""
    hour, minute = words.figures("clock")
    moment = calendar.start_of(words.now.date(), words.now).replace(hour=hour, minute=minute)
    if moment > words.now:
        moment -= timedelta(days=1)
    return Period(moment, moment, again=calendar.DAY)


def _now(words: TimeWords) -> Period:
    return calendar.one_day(words.now.date(), words.now)


class _Rule(NamedTuple):
    """A phrase and its meaning. The text must have at least one kind of each group in `needs`."""

    read: Callable[[TimeWords], Period]
    order: str
    needs: str


_RULES = {
    "days": _Rule(
        _day_of_month,
        f"the? number stop? (?:to|dash|and|until|y|the)(?:the)? number stop? of? {_MONTH} (?:(?:of|comma)? year)?"
        f"|{_MONTH} the? number (?:to|dash|and|until) the? number (?:comma? year)?",
        "number, month mon sept, to dash and until y the",
    ),
    "date": _Rule(_numeric, f"{_DAY} date", "date"),
    "day": _Rule(
        _day_of_month,
        f"{_DAY} number stop? of? {_MONTH} (?:(?:of|comma)? year)?"
        f"|{_DAY} {_MONTH} the? number (?!{_UNIT}|dash) (?:comma? year)?",
        "number, month mon sept",
    ),
    "dated month": _Rule(
        _month,
        f"{_MONTH} (?:of|comma|dash|mark)? year|month (?:of|the)* last unit",
        "month mon sept, year last",
    ),
    "named month": _Rule(_named_month, "(?:in|on) the? unit of? month (?! the? number) (?:of? year)?", "month, unit"),
    "last month": _Rule(_month, "(?:last|this) month|month last", "month, last this"),
    "month": _Rule(_month, _MONTH, "month mon sept"),
    "dated quarter": _Rule(_quarter, "quarter (?:of|the)* year|year quarter", "quarter, year"),
    "quarter": _Rule(_quarter, "quarter", "quarter"),
    "dated season": _Rule(_season, "season (?:of|the)* year", "season, year"),
    "last season": _Rule(_season, "(?:last|this) season|season last", "season, last this"),
    "season": _Rule(_season, "season", "season"),
    "ago": _Rule(
        _ago,
        f"{_NUM} {_UNIT} ago|(?:vor|hace|il y one) {_NUM} {_UNIT}|il y one {_NUM} one|(?<=since) {_NUM} {_UNIT}",
        "ago vor hace il since",
    ),
    "past": _Rule(
        _past,
        f"this? (?:last|past) {_NUM} {_UNIT}|this? {_NUM} (?:last|past) {_UNIT}|this? past unit",
        "last past, unit weekend",
    ),
    "weekday of": _Rule(
        _weekday_of,
        "weekday (?:of|the|in)* (?:(?:last|this) unit|unit last)|last unit (?:on|in|the)* weekday",
        "weekday, unit, last this",
    ),
    "unit": _Rule(
        _last_unit,
        f"(?:last|this last|this) {_UNIT}|this? past weekend|{_UNIT} before last|{_UNIT} last",
        "last this past, unit weekend",
    ),
    "part": _Rule(
        _running_unit, "(?:(?<=part of the)|(?<=part of the mark)|(?<=part of)|(?<=part the)) unit", "part, unit"
    ),
    "last weekday": _Rule(
        _weekday,
        "(?:last|this|past|this past) weekday daypart?|weekday last daypart?|weekday the? before last"
        "|weekday (?:in|the)* daypart|(?<=on) wday|last wday|(?<=since) wday",
        "weekday wday, last this past daypart on since",
    ),
    "weekday": _Rule(_weekday, "weekday", "weekday"),
    "weekend": _Rule(_weekend, "(?:on|in) the? weekend", "weekend"),
    "yesterday": _Rule(
        _day,
        "(?<!number)(?<!count)(?:the unit|unit) before yesterday"
        "|yesterday (?:in|the|one|to)* daypart|yesterday|tonight|(?:this|last) daypart|daypart last",
        "yesterday tonight daypart",
    ),
    "recent": _Rule(lambda words: calendar.recent(words.now), "(?:vor|hace)? recent", "recent"),
    "year": _Rule(_years, "years|unit? year", "year years"),
    "now": _Rule(_now, "now", "now"),
    "clock": _Rule(_clock, "clock", "clock"),
}


def spelled(rule: str) -> str:
    """Translate a rule from the names of kinds to their characters."""
    return re.sub(r"[a-z]+", lambda name: KINDS[name[0]], rule).replace(" ", "").replace(")*", "){0,3}")


@functools.cache
def _pattern(rule: str) -> re.Pattern[str]:
    """Each rule is compiled when it is needed first, because compiling all of them delays the first search."""
    return re.compile(spelled(_RULES[rule].order))


@functools.cache
def _needs(rule: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(KINDS[name] for name in group.split()) for group in _RULES[rule].needs.split(","))


def find_periods(row: Sequence[Token], kinds: str, now: datetime) -> Iterator[TimeMatch]:
    """All periods that the words name, without the words before them; dates that do not exist are skipped."""
    present = frozenset(kinds)
    rules = [rule for rule in _RULES if all(present & group for group in _needs(rule))]
    found = {rule: _pattern(rule).search(kinds) for rule in rules}
    while True:
        # The leftmost match; if several start there, the first rule.
        rule, match = min(
            ((rule, match) for rule, match in found.items() if match),
            key=lambda one: one[1].start(),
            default=("", None),
        )
        if match is None:
            return
        words = TimeWords(row[match.start() : match.end()], now)
        try:
            period = _RULES[rule].read(words)
            yield TimeMatch(rule, match.start(), match.end(), period, "year" in words or "date" in words)
        except (ValueError, OverflowError):
            pass  # 30 February, ten thousand years ago
        for other in rules:
            later = found[other]
            if later and later.start() < match.end():
                found[other] = _pattern(other).search(kinds, match.end())
