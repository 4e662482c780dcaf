"""Times in Chinese, which has no spaces between words and writes dates from the year to the day.

Pure: text and `now` in, periods out.
"""

import functools
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import islice

from aish.memory.finding import when_calendar as calendar
from aish.memory.finding.when_calendar import Count, Period
from aish.values.named_tuple import NamedTuple

_NUM = r"(?:\d{1,3}|[一二两兩三四五六七八九十]{1,3})"
_WEEK = "(?:周|週|星期|礼拜|禮拜)"
_TIME = rf"""
    (?:(?<!\d)(?P<year>\d{{4}})年|(?P<near>去年|前年|今年))(?:的?(?P<season>[春夏秋冬])[天季]|的?(?P<month>{_NUM})月份?(?P<day>{_NUM})?(?(day)[日号號]))?
  | 半[个個]?(?P<half>小时|小時|天|月|年)[以之]?前
  | (?<![以之目提])[前这這](?P<few>几|幾|两|兩)天
  | (?P<ago>{_NUM}|几|幾)[个個]?(?P<unit>分钟|分鐘|小时|小時|天|{_WEEK}|(?<=[个個])月|年)[以之]?前(?!端|面|台|途|景)
  | (?:过去|過去|最近|近)的?(?P<past>{_NUM}|几|幾)[个個]?(?P<per>分钟|分鐘|小时|小時|天|{_WEEK}|(?<=[个個])月|年)
  | (?P<only>{_NUM})月份?(?P<date>{_NUM})?(?(date)[日号號])
  | (?P<which>上上|上一|上|这|這|本)[个個]?(?:(?P<week>{_WEEK})(?P<weekday>[一二三四五六日天末])?|(?P<whole>月|季度))
  | 第?(?P<quarter>[一二三四1-4])季度
  | (?<![每下一两三四五六七八九十几个\d]){_WEEK}(?P<alone>[一二三四五六日天末])
  | (?P<relative>大前天|前天|(?<![以之目提])前晚|昨[天日晚夜]|今[天日早晚])
  | (?P<recent>最近|近来|近來|近期)
"""
_DIGITS = {sign: place for place, sign in enumerate("〇一二三四五六七八九十")} | {"两": 2, "兩": 2}
_DAYS_BACK = {"大": 3, "前": 2, "昨": 1, "今": 0}
_YEARS_BACK = {"今年": 0, "去年": 1, "前年": 2}
_PARTS = {"早": "morning", "上": "morning", "中": "noon", "下": "afternoon", "晚": "evening", "夜": "night"}
_HALVES = {"小": (30, calendar.MINUTE), "天": (12, calendar.HOUR), "月": (15, calendar.DAY), "年": (6, calendar.MONTH)}
_DAY_PARTS = ("早上", "上午", "下午", "晚上", "中午", "夜里")
# Parts of a month or a year; 年 may be repeated before them.
_THIRDS = {"初": "early", "上旬": "early", "中旬": "mid", "下旬": "late", "底": "late", "末": "late"}
_UNITS = {"分": calendar.MINUTE, "小": calendar.HOUR, "天": calendar.DAY, "月": calendar.MONTH, "年": calendar.YEAR}
_AFTER = (("以来", "since"), ("以來", "since"), ("以后", "after"), ("之后", "after"), ("之後", "after"))
_BEFORE = (("以前", "before"), ("之前", "before"))
_FROM = ("自从", "从", "從", "自")
_ON = ("开始", "開始", "起", "至今", "以来", "以來")  # after a time with one of `_FROM` before it: from yesterday on
_UP_TO = ("直到", "截至", "截止到")
_SIGNS = frozenset("年月天周週期拜日晚早夜近前度时時钟鐘")  # every time contains one of these characters
_MOST = 20  # times; a text with more is not a question
_TO = ("到", "至", "和", "与")


class Chinese(NamedTuple):
    """A period, the characters that name it, and the kind of limit (`lead`)."""

    begin: int
    end: int
    period: Period
    lead: str
    sure: bool


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_TIME, re.VERBOSE)


def find_chinese(text: str, now: datetime) -> list[Chinese]:
    """All periods that the text names in Chinese."""
    if text.isascii() or _SIGNS.isdisjoint(text):
        return []
    result: list[Chinese] = []
    for found in islice(_each(text, now), _MOST):
        before = result[-1] if result else None
        if before and text[before.end : found.begin] in _TO:
            dated = found.period.again == ""
            period = calendar.from_to(before.period, found.period, dated=dated)
            result[-1] = Chinese(before.begin, found.end, period, "from", True)
        else:
            result.append(found)
    return [_with_lead(found, text) for found in result]


def whole_chinese(text: str, now: datetime) -> tuple[Period, str] | None:
    """The period and its lead, if the whole text names it; a bare "three days" means three days ago."""
    bare = text.removeprefix("在").removesuffix("的")
    for said in (bare, f"{bare}前"):
        for begin, end, period, lead, _ in find_chinese(said, now):
            if (begin, end) == (0, len(said)):
                return period, lead
    return None


def _each(text: str, now: datetime) -> Iterator[Chinese]:
    for match in _pattern().finditer(text):
        try:
            period, end = _narrowed(_read(match, now), match.string, match.end(), now)
        except (ValueError, OverflowError):
            continue  # no such day
        if period.first <= now:
            yield Chinese(match.start(), end, period, "", not match["recent"])


def _with_lead(found: Chinese, text: str) -> Chinese:
    """Check the words on both sides of a period for a limit: since, after, before or until."""
    for words, lead in (*_AFTER, *_BEFORE):
        if text.startswith(words, found.end):
            found = found._replace(end=found.end + len(words), lead=lead)
            break
    for word in _FROM:
        if text.endswith(word, 0, found.begin):
            on = next((len(word) for word in _ON if text.startswith(word, found.end)), 0)
            return found._replace(begin=found.begin - len(word), end=found.end + on, lead=found.lead or "since")
    for word in _UP_TO:
        if text.endswith(word, 0, found.begin):
            return found._replace(begin=found.begin - len(word), lead=found.lead or "until")
    return found


def _narrowed(period: Period, text: str, end: int, now: datetime) -> tuple[Period, int]:
    """Narrow the period if the text continues with a part of it: the evening of a day, the end of a year."""
    length = (period.last - period.first).days
    if length == 1:
        for word in _DAY_PARTS:
            if text.startswith(word, end):
                part = _PARTS[word[0]]
                return calendar.part_of_day(period.first.date(), part, now)._replace(again=period.again), end + 2
    elif length >= 28:
        at = end + (length > 300 and text.startswith("年", end))
        for word, part in _THIRDS.items():
            if text.startswith(word, at):
                return calendar.part_of(period, part), at + len(word)
    return period, end


def _read(match: re.Match[str], now: datetime) -> Period:
    """The period that one match names."""
    if match["year"] or match["near"]:
        year = int(match["year"]) if match["year"] else now.year - _YEARS_BACK[match["near"]]
        if match["season"]:
            return calendar.season(year, "春夏秋冬".index(match["season"]), now)
        return _in_year(year, match["month"], match["day"], now)
    if match["half"]:
        count, unit = _HALVES[match["half"][0]]
        return calendar.ago(Count(count, count), unit, now)
    if match["few"]:
        return calendar.past(_count(match["few"]), calendar.DAY, now)
    if match["quarter"]:
        first = 3 * _number(match["quarter"]) - 2
        return calendar.newest(lambda year: calendar.months(year, first, 3, now, calendar.YEAR), now)
    if match["ago"]:
        return calendar.ago(_count(match["ago"]), _unit(match["unit"]), now)
    if match["past"]:
        return calendar.past(_count(match["past"]), _unit(match["per"]), now)
    if match["only"]:
        found = calendar.newest(lambda year: _in_year(year, match["only"], match["date"], now), now)
        return found._replace(again=calendar.YEAR)
    if match["which"]:
        return _week_or_month(match, now)
    if match["alone"]:
        return _weekday(match["alone"], now)
    if match["relative"]:
        return _relative(match["relative"], now)
    return calendar.recent(now)


def _in_year(year: int, month: str | None, day: str | None, now: datetime) -> Period:
    if not month:
        return calendar.months(year, 1, 12, now)
    if not day:
        return calendar.months(year, _number(month), 1, now)
    return calendar.one_day(date(year, _number(month), _number(day)), now)


def _week_or_month(match: re.Match[str], now: datetime) -> Period:
    back = match["which"].count("上")
    if match["whole"]:
        return calendar.current(calendar.MONTH if match["whole"] == "月" else calendar.QUARTER, now, back)
    week, name = calendar.current(calendar.WEEK, now, back), match["weekday"]
    if not name:
        return week
    monday = week.first.date()
    if name == "末":
        return calendar.days(monday + timedelta(days=5), monday + timedelta(days=6), now)
    return calendar.one_day(monday + timedelta(days=_weekday_number(name)), now)


def _weekday(name: str, now: datetime) -> Period:
    if name == "末":
        return calendar.current(calendar.WEEKEND, now)
    return calendar.weekday(_weekday_number(name), now)


def _weekday_number(name: str) -> int:
    return 6 if name in "日天" else _DIGITS[name] - 1


def _relative(word: str, now: datetime) -> Period:
    day = now.date() - timedelta(days=_DAYS_BACK[word[0]])
    if word[-1] in _PARTS:
        return calendar.part_of_day(day, _PARTS[word[-1]], now)
    return calendar.one_day(day, now)


def _unit(word: str) -> str:
    return _UNITS.get(word[0], calendar.WEEK)


def _count(word: str) -> Count:
    if word in "几幾":
        return Count(2, 9)
    return Count(_number(word), _number(word))


def _number(word: str) -> int:
    """A number up to 99, in digits or in Chinese characters."""
    if word.isdecimal():
        return int(word)
    tens, ten, ones = word.rpartition("十")
    if not ten:
        if len(word) > 1:
            raise ValueError(f"{word} is not a number")
        return _DIGITS[word]
    return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)
