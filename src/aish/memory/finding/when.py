"""Finds times in plain language: which part of the past a question is about.

Pure: `now` is passed in, with the time zone. A wrong time limit hides the answer; a missed one only lowers its rank. So
an ambiguous word gives a time that is not `sure`, or none.
"""

import functools
import re
from datetime import UTC, datetime, timedelta
from itertools import islice

from aish.memory.finding import when_calendar as calendar
from aish.memory.finding.when_calendar import Period
from aish.memory.finding.when_chinese import find_chinese, whole_chinese
from aish.memory.finding.when_rules import TimeMatch, find_periods, spelled
from aish.memory.finding.when_words import KINDS, NAMES, Token, doubtful, figures, is_french, may_name_time, tokens
from aish.values.named_tuple import NamedTuple
from aish.values.times import exact_moment, plain_days

# Text beyond this length was pasted; its dates say nothing about when a conversation took place.
MAX_CHARACTERS, _MAX_PERIODS = 2_000, 20
_TALKED_SINCE = 2000  # an earlier year is a topic, because there are no conversations from then
_LEAD = (
    "(?:(between|from|since|until|before|vor|after|about|in|on) (?:of|the|about|mark|to)*)?"
    "(part (?:dash|of|the|mark)*)? (?:the)*$"
)
_NEAR = 8  # words before a period that are checked
_NEED_OF = frozenset(
    "start end beginning middle".split()
)  # these need "of": "does it end Friday" does not name the end of a Friday
_TO, _AND = "comma? (?:to|until|dash|one) (?:the|part|of)*", "(?:and|y) (?:the|part|of)*"
_BARE = frozenset(["month", "year", "season", "quarter", "weekday", "recent", "part"])
_BOUNDS = frozenset("since until before vor after".split())
_TAKES_TIME = _BOUNDS | {"about", "between"}
# Words before a time that add nothing to it, in a text that is a time only.
_SILENT = frozenset("the of in on mark one".split())
_FILLERS = frozenset("earlier back sometime all just cours laufe lauf transcurso".split())


class TimeSpan(NamedTuple):
    """A part of the past, and the characters of the text that name it.

    `last` is the first moment after it. If `sure`, the text limits the search to this time; otherwise the words may
    also belong to the topic.
    """

    first: datetime | None
    last: datetime | None
    begin: int
    end: int
    sure: bool


class _Said(NamedTuple):
    """A period with the words around it: the preposition before it (`lead`) and the time of day (`moment`)."""

    found: TimeMatch
    lead: str
    begin: int
    end: int
    moment: datetime | None = None


@functools.cache
def _rule(rule: str) -> re.Pattern[str]:
    return re.compile(spelled(rule))


def find_times(text: str, now: datetime) -> list[TimeSpan]:
    """The times that a question names, in text order, without periods in the future."""
    text = text[:MAX_CHARACTERS]
    try:
        row = tokens(text) if may_name_time(text) else []
        spans = [_span(said, sure, row) for said, sure in _judged(row, now)]
        spans += [TimeSpan(*_bounds(said.period, said.lead), *said[:2], said.sure) for said in find_chinese(text, now)]
    except (ValueError, OverflowError):
        return []  # outside the years that `datetime` supports
    settled = (_with_time_zone(span) for span in spans)
    return sorted((span for span in settled if span), key=lambda span: span.begin)


def read_moment(text: str, now: datetime, *, end: bool = False) -> datetime | None:
    """The moment that a text as a whole names: the start of the period, or with `end` the first moment after it."""
    text = text.strip()
    if not text or len(text) > 100:
        return None
    try:
        moment = exact_moment(text, now)
        if moment is None:
            days = plain_days(text, now.date())
            ends = calendar.days(*days, now)[:2] if days else _whole(text, now)
            moment = ends[end]
        return moment if moment is None or moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError):
        return None


_Ends = tuple[datetime | None, datetime | None]


def _whole(text: str, now: datetime) -> _Ends:
    """Start and end of the time that the whole text names."""
    if ends := whole_chinese(text, now):
        return _ends(*ends)
    row = tokens(text)
    while row and (NAMES.get(row[-1].kind) in ("stop", "comma", "dash") or row[-1].text == "ci"):  # "ce mois-ci"
        row = row[:-1]
    for place in range(len(row)):
        ahead = any(token.kind == KINDS["in"] for token in row[:place])  # in two weeks
        if found := _of_row(row[place:], now, counted=not ahead):
            return found
        if NAMES.get(row[place].kind) not in _SILENT and row[place].text.lower() not in _FILLERS:
            break
    return _day_number(row, now)


def _of_row(row: list[Token], now: datetime, *, counted: bool) -> _Ends | None:
    """The time that all tokens of a row name together; a bare count, like "2 weeks", means so long ago."""
    rows = [row]
    if counted and row[-1].kind == KINDS["unit"]:
        rows.append([*row, *tokens("ago")])  # "2 weeks" means "2 weeks ago" here; "last week" is a time by itself
    elif len(row) == 1 and row[0].kind == KINDS["wday"]:
        rows = [[*tokens("last"), *row]]
    elif len(row) == 1 and row[0].kind == KINDS["weekend"]:
        rows = [[*tokens("on"), *row]]
    for one in rows:
        for said in _said(one, now):
            if (said.begin, said.end) == (0, len(one)) and not (one is not row and said.lead == "in"):
                period = Period(said.moment, said.moment) if said.moment else said.found.period
                return _ends(period, said.lead)
    return None


def _ends(period: Period, lead: str) -> _Ends:
    """Start and end after applying the preposition: "since May" starts with May and has no end."""
    return _bounds(period, lead) if lead in _BOUNDS else (period.first, period.last)


def _day_number(row: list[Token], now: datetime) -> _Ends:
    """The most recent day with this number in its month, for "since the 5th" and "am 5."."""
    lead = [NAMES.get(token.kind, "") for token in row[:-1]]
    number = row[-1] if row else None
    if not number or number.kind != KINDS["number"] or not isinstance(number.value, int) or not 1 <= number.value <= 31:
        return None, None
    if (number.text.isdigit() and not lead) or not {*lead} <= {"the", "on", *_BOUNDS}:
        return None, None
    month = now.date().replace(day=1)
    for back in range(12):
        try:
            day = calendar.add_months(month, -back).replace(day=number.value)
        except ValueError:
            continue  # a shorter month
        if day <= now.date():
            return _ends(calendar.one_day(day, now), next((name for name in lead if name in _BOUNDS), ""))
    return None, None


def _said(row: list[Token], now: datetime) -> list[_Said]:
    """The periods in a row of tokens with the words around them; two periods may be joined to a range."""
    kinds = "".join(token.kind for token in row)
    found = list(islice(find_periods(row, kinds, now), _MAX_PERIODS))
    result: list[_Said] = []
    place = 0
    while place < len(found):
        said = _with_lead(found[place], row, kinds)
        if place + 1 < len(found) and (both := _range(said, found[place + 1], row, kinds)):
            said = both
        said = _with_clock(said, row, kinds)
        while place < len(found) and found[place].begin < said.end:
            place += 1
        result.append(said)
    return result


def _with_lead(found: TimeMatch, row: list[Token], kinds: str) -> _Said:
    """Check the words before a period for a preposition and for "early", "mid" or "late"."""
    shift = max(found.begin - _NEAR, 0)
    match = _rule(_LEAD).search(kinds[shift : found.begin])
    if match is None:
        return _Said(found, "", found.begin, found.end)
    lead, begin = NAMES.get(match[1] or "", ""), found.begin
    if match[2] and not (row[match.start(2) + shift].text.lower() in _NEED_OF and KINDS["of"] not in match[2]):
        begin = match.start(2) + shift
        found = found._replace(period=calendar.part_of(found.period, str(row[begin].value)))
        lead = lead if lead in _TAKES_TIME else "in"
    if match[1]:
        begin = match.start(1) + shift
    if lead == "about":
        found = found._replace(period=calendar.about(found.period))
    return _Said(found, lead, begin, found.end)


def _range(said: _Said, other: TimeMatch, row: list[Token], kinds: str) -> _Said | None:
    """Join two periods to a range, if the words between them say so."""
    gap = kinds[said.found.end : other.begin]
    if other.rule == "clock" != said.found.rule and row[other.begin - 1].text.lower() in ("à", "las", "la"):
        return None  # yesterday at five, in French and Spanish
    if said.lead == "between":
        joined = _rule(f"{_TO}|{_AND}").fullmatch(gap)
    else:
        joined = _rule(_TO).fullmatch(gap)
        if joined and row[other.begin - 1].kind == KINDS["dash"] and said.found.rule != other.rule:
            return None  # a dash between two phrases
    if not joined and (_before(said.found, row), gap) not in (("du", KINDS["in"]), ("del", KINDS["the"])):
        return None  # and not "du lundi au mercredi" or "del lunes al miércoles" either
    end = _with_lead(other, row, kinds).found.period
    period = calendar.from_to(said.found.period, end, dated=other.dated and not said.found.dated)
    found = TimeMatch("range", said.found.begin, other.end, period, other.dated)
    begin = said.begin - (said.begin > 0 and row[said.begin - 1].kind == KINDS["of"])  # "von … bis", "de … à"
    return _Said(found, "from" if said.lead in ("", "in", "on") else said.lead, begin, other.end)


def _before(found: TimeMatch, row: list[Token]) -> str:
    return row[found.begin - 1].text.lower() if found.begin else ""


def _with_clock(said: _Said, row: list[Token], kinds: str) -> _Said:
    """Join a day and a time of day to one moment, for questions about what came before or after it."""
    match = _rule("comma? (?:on|to|one the)? clock").match(kinds, said.end)
    day = said.found.period
    if said.found.rule == "clock":
        return said._replace(moment=day.first)
    if not match or day.last - day.first > timedelta(days=1):
        return said
    hour, minute = figures(row[match.end() - 1])
    return said._replace(end=match.end(), moment=day.first.replace(hour=hour, minute=minute))


def _judged(row: list[Token], now: datetime) -> list[tuple[_Said, bool]]:
    """The times in a row of tokens, and whether each limits the search."""
    return [(said, sure) for said in _said(row, now) if (sure := _sure(said, row, now)) is not None]


def _sure(said: _Said, row: list[Token], now: datetime) -> bool | None:
    """Does it limit the search? None if it is not a time at all."""
    found, lead = said.found, said.lead
    word, after = row[found.begin], row[said.end] if said.end < len(row) else None
    led = lead in _TAKES_TIME or lead == "in"
    if _is_not_a_time(said, row, now, led=led):
        return None
    if after and after.begin == row[said.end - 1].end and after.text[0] in "'’(":
        return False  # this year's budget, today() in a program
    if found.rule == "date" and word.text.count(".") == 2 and len(word.text) == 8:
        return False  # 10.06.05 may be a version number
    if found.period.last.year < _TALKED_SINCE and lead not in ("since", "after"):
        return False
    if found.rule in ("day", "days") and not found.dated:
        return lead != "" or not any(token.text in ("may", "march") for token in row[found.begin : found.end])
    if found.rule in ("year", "range") and row[found.end - 1].kind == KINDS["year"] and after and _are_things(after):
        return False  # after 2000 requests
    if found.rule not in _BARE:
        return True
    match found.rule:
        case "recent":
            return False
        case "part":
            return lead in _BOUNDS
        case "weekday":
            return led or lead in ("on", "from") or (found.begin > 0 and row[found.begin - 1].text.lower() == "el")
        case "year":
            return (led or lead == "from") and not _is_edition(found, row)
        case "season":
            return led and not (lead == "in" and word.text.lower() in ("spring", "fall"))
    return led and word.kind not in (KINDS["mon"], KINDS["sept"])


def _is_edition(found: TimeMatch, row: list[Token]) -> bool:
    """In the 2007 edition, not in the year 2007."""
    return row[found.begin].kind == KINDS["year"] and row[found.begin - 1].kind == KINDS["the"]


def _are_things(token: Token) -> bool:
    return token.text.islower() and token.text.endswith("s") and len(token.text) > 3


def _is_not_a_time(said: _Said, row: list[Token], now: datetime, *, led: bool) -> bool:
    """Is it in the future, a habit, or a word that only looks like a time?"""
    found, rule = said.found, said.found.rule
    word, before = row[found.begin], row[said.begin - 1] if said.begin else None
    if found.period.first > now or (before and before.kind == KINDS["never"]):
        return True
    if rule == "clock":
        return said.lead not in _TAKES_TIME
    if rule == "now":
        return said.lead != "until"
    if rule in ("month", "season") and doubtful(row, found.begin, led=led):
        return True
    if rule == "last month" and row[found.end - 1].text in ("may", "march") and word.kind == KINDS["this"]:
        return True  # this may be
    if rule == "month" and word.kind != KINDS["month"]:
        return not (led and word.text[0].isupper())  # Jan, Dec, Sep
    if rule == "unit" and said.end < len(row) and row[said.end].text.lower() == "of":
        return True  # the last week of May
    if rule == "unit" and word.text.lower() == "mes" and row[found.begin + 1].text.lower().startswith("derni"):
        return True  # "mes" means "my" in French, and "month" in Spanish
    if rule == "weekday" and before and before.text.lower() == "los":
        return True  # every Tuesday, in Spanish
    return word.text.lower() == "hier" and len(row) > 1 and not is_french(row)


def _span(said: _Said, sure: bool, row: list[Token]) -> TimeSpan:
    first, last = _bounds(said.found.period, said.lead)
    if said.moment and said.lead in _TAKES_TIME:
        first, last = first and said.moment, last and said.moment
    return TimeSpan(first, last, row[said.begin].begin, row[said.end - 1].end, sure)


def _bounds(period: Period, lead: str) -> tuple[datetime | None, datetime | None]:
    """Apply the preposition to a period: "until May" includes May, "before May" does not."""
    match lead:
        case "since":
            return period.first, None
        case "after":
            return period.last, None
        case "until":
            return None, period.last
        case "before" | "vor":
            return None, period.first
    return period.first - period.slack, period.last + period.slack


def _with_time_zone(span: TimeSpan) -> TimeSpan | None:
    """Add the local time zone if there is none; None if a moment cannot be converted to UTC."""
    try:
        first, last = (
            moment if moment is None or moment.tzinfo else moment.astimezone() for moment in (span.first, span.last)
        )
        for moment in (first, last):
            if moment is not None:
                moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return span._replace(first=first, last=last)
