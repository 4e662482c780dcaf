"""Times in plain language: the part of the past that a question is about, in five languages and in any time zone."""

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.memory.finding import when_rules
from aish.memory.finding.when import TimeSpan, find_times, read_moment
from aish.memory.finding.when_words import lexicon, may_name_time, tokens
from aish.values.times import read_moment as moment_of_memory

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 15, 20, tzinfo=BERLIN)  # a Wednesday


def shown(moment: datetime | None) -> str:
    """Format a moment as short as possible."""
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")


def spans_in(text: str, now: datetime = NOW) -> str:
    """Format the found spans: `first..last`, with a `?` if uncertain."""
    return ", ".join(
        f"{shown(span.first)}..{shown(span.last)}{'' if span.sure else '?'}" for span in find_times(text, now)
    )


@pytest.mark.proves("N8")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("what did we say today", "2026-11-18..2026-11-19"),
        ("yesterday we said", "2026-11-17..2026-11-18"),
        ("the day before yesterday", "2026-11-16..2026-11-17"),
        ("this morning", "2026-11-18 04:00..2026-11-18 12:00"),
        ("last night", "2026-11-17 18:00..2026-11-18 06:00"),
        ("yesterday evening", "2026-11-17 17:00..2026-11-18"),
        ("this week", "2026-11-16..2026-11-23"),
        ("last week", "2026-11-09..2026-11-16"),
        ("the week before last", "2026-11-02..2026-11-09"),
        ("over the past week", "2026-11-11..2026-11-19"),
        ("last month", "2026-10-01..2026-11-01"),
        ("this year", "2026-01-01..2027-01-01"),
        ("last year", "2025-01-01..2026-01-01"),
        ("last quarter", "2026-07-01..2026-10-01"),
        ("last weekend", "2026-11-14..2026-11-16"),
        ("over the weekend", "2026-11-14..2026-11-16"),
        ("the last two weekends", "2026-11-07..2026-11-19"),
        ("the last few days", "2026-11-12..2026-11-19"),
        ("in the last 24 hours", "2026-11-17 15:20..2026-11-19"),
        ("last Tuesday", "2026-11-17..2026-11-18"),
        ("on Friday", "2026-11-13..2026-11-14"),
        ("on Wednesday", "2026-11-11..2026-11-12"),
        ("Tuesday before last", "2026-11-10..2026-11-11"),
        ("Thursday of last week", "2026-11-12..2026-11-13"),
        ("last week on Monday", "2026-11-09..2026-11-10"),
        ("last sat", "2026-11-14..2026-11-15"),
        ("Tuesday morning", "2026-11-17 04:00..2026-11-17 12:00"),
    ],
)
def test_words_for_the_near_past_are_calendar_days_of_the_user(text: str, meant: str) -> None:
    """Conversations are about the past: a weekday means the last such day, and the user says "today" for today."""
    assert spans_in(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3 days ago", "2026-11-15..2026-11-16"),
        ("a few days ago", "2026-11-12..2026-11-17"),
        ("two weeks ago", "2026-10-31..2026-11-09"),
        ("a couple of weeks ago", "2026-10-23..2026-11-10"),
        ("six months ago", "2026-04-15..2026-06-21"),
        ("twelve days ago", "2026-11-05..2026-11-08"),
        ("an hour ago", "2026-11-18 13:14..2026-11-18 15:26"),
        ("20 minutes ago", "2026-11-18 14:48..2026-11-18 15:12"),
    ],
)
def test_counting_back_gives_a_wider_span(text: str, meant: str) -> None:
    """ "Two weeks ago" is rarely the exact day, and a span that is too narrow hides the answer."""
    assert spans_in(text) == meant


@pytest.mark.proves("N8")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("in May", "2026-05-01..2026-06-01"),
        ("in December", "2025-12-01..2026-01-01"),
        ("in November", "2026-11-01..2026-12-01"),
        ("last November", "2025-11-01..2025-12-01"),
        ("in May 2024", "2024-05-01..2024-06-01"),
        ("Sept. 2023", "2023-09-01..2023-10-01"),
        ("May last year", "2025-05-01..2025-06-01"),
        ("8 May 2023", "2023-05-08..2023-05-09"),
        ("May 8, 2023", "2023-05-08..2023-05-09"),
        ("on Monday, May 8th", "2026-05-08..2026-05-09"),
        ("the 8th of December", "2025-12-08..2025-12-09"),
        ("29 February", "2024-02-29..2024-03-01"),
        ("2023-05-08", "2023-05-08..2023-05-09"),
        ("2023-05", "2023-05-01..2023-06-01"),
        ("08.05.2023", "2023-05-08..2023-05-09"),
        ("5/8/2023", "2023-05-08..2023-05-09"),
        ("18/5/2023", "2023-05-18..2023-05-19"),
        ("early May", "2026-05-01..2026-05-13"),
        ("mid-May", "2026-05-10..2026-05-22"),
        ("at the end of May 2024", "2024-05-19..2024-06-01"),
        ("in 2023", "2023-01-01..2024-01-01"),
        ("in the\nyear 2023", "2023-01-01..2024-01-01"),
        ("in summer", "2026-06-01..2026-09-01"),
        ("spring 2025", "2025-03-01..2025-06-01"),
        ("last winter", "2025-12-01..2026-03-01"),
        ("last autumn", "2025-09-01..2025-12-01"),
        ("Q2 2024", "2024-04-01..2024-07-01"),
        ("in Q4", "2026-10-01..2027-01-01"),
    ],
)
def test_a_date_without_a_year_is_the_latest_one_that_has_begun(text: str, meant: str) -> None:
    """With slashes the month comes first if possible; with dots the day does."""
    assert spans_in(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("since May", "2026-05-01.."),
        ("until May", "..2026-06-01"),
        ("before May 2024", "..2024-05-01"),
        ("after 8 May", "2026-05-09.."),
        ("between 3 and 5 May", "2026-05-03..2026-05-06"),
        ("May 3-5, 2024", "2024-05-03..2024-05-06"),
        ("between May 3 and June 5", "2026-05-03..2026-06-06"),
        ("from May to July 2024", "2024-05-01..2024-08-01"),
        ("between November and February", "2025-11-01..2026-03-01"),
        ("from Monday to Friday", "2026-11-09..2026-11-14"),
        ("between 2024 and 2022", "2022-01-01..2025-01-01"),
        ("around 8 May", "2026-05-05..2026-05-12"),
        ("since the beginning of October", "2026-10-01.."),
        ("since two weeks ago", "2026-11-04.."),
        ("since 14:30", "2026-11-18 14:30.."),
        ("before 4pm", "..2026-11-17 16:00"),
        ("since yesterday at 14:30", "2026-11-17 14:30.."),
        ("yesterday at 14:30", "2026-11-17..2026-11-18"),
        ("between 1pm and 2pm", "2026-11-18 13:00..2026-11-18 14:00"),
        ("yesterday or last week", "2026-11-17..2026-11-18, 2026-11-09..2026-11-16"),
    ],
)
def test_a_word_before_a_period_makes_it_a_bound(text: str, meant: str) -> None:
    """ "Until May" includes May, "before May" does not; a range takes its year from the part that names one."""
    assert spans_in(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *(
            "may I ask",
            "May I ask",
            "what may have happened",
            "it may be wrong",
            "since may be it fails",
            "this may take long",
            "over and over may help",
            "march on",
        ),
        *(
            "sat down in the sun",
            "wed in haste",
            "second try",
            "fall over",
            "spring boot",
            "mars attacks",
            "hold the mayo",
        ),
        *("in two weeks", "for two weeks", "tomorrow", "next Tuesday", "next May", "every Friday", "on Tuesdays"),
        *("in 2030", "8 May 2031", "30 February", "on 31 April 2024", "2023-02-30", "13.13.2023", "5 o'clock"),
        *("at the last minute", "to this day", "the past", "last attempt", "a week", "what do I do now"),
        *(
            "port 8080",
            "v2023",
            "$2023",
            "10.12.2023.1",
            "logs/2023/05/08/app",
            "#2024",
            "2023.1",
            "release 2024.5.1",
            "1,999",
            "ab 12:30 cd",
        ),
        *(
            "hier ist der Fehler",
            "was hat die AI hier gesagt",
            "nächste Woche",
            "il a été malade",
            "mes derniers messages",
            "los martes",
            "每周二",
            "下周",
        ),
        *("2月30日", "前端", "", " ", "1000000000000 years ago", "9999 years ago", "99 99 9999", "in the end"),
    ],
)
def test_text_that_only_looks_like_a_time_is_ignored(text: str) -> None:
    """A wrong bound hides the answer, which is worse than a missed one."""
    assert spans_in(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("what did May say about it", "the October invoice", "photos of June", "Friday deploys", "windows 2019"),
        *("recently", "lately we spoke", "this year's budget", "step 8 may fail", "in the fall", "in Jan"),
        *(
            "after 2000 requests",
            "in the 2007 edition",
            "today() fails",
            "10.06.05",
            "between 2000 and 2020 rows",
            "the war in 1950",
            "does it end Friday",
            "最近",
        ),
    ],
)
def test_a_time_that_may_be_the_topic_is_uncertain(text: str) -> None:
    """May is also a name, and a year alone may be a version."""
    assert [span.sure for span in find_times(text, NOW)] == [False]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("was haben wir heute besprochen", "2026-11-18..2026-11-19"),
        ("gestern Abend", "2026-11-17 17:00..2026-11-18"),
        ("vorgestern", "2026-11-16..2026-11-17"),
        ("letzte Woche", "2026-11-09..2026-11-16"),
        ("vorletzte Woche", "2026-11-02..2026-11-09"),
        ("letzten Dienstag", "2026-11-17..2026-11-18"),
        ("vor zwei Wochen", "2026-10-31..2026-11-09"),
        ("in den letzten drei Tagen", "2026-11-15..2026-11-19"),
        ("im Mai", "2026-05-01..2026-06-01"),
        ("am 8. Mai 2023", "2023-05-08..2023-05-09"),
        ("seit März", "2026-03-01.."),
        ("seit zwei Wochen", "2026-11-04.."),
        ("vor Mai", "..2026-05-01"),
        ("bis zum 8. Mai", "..2026-05-09"),
        ("zwischen März und Juni 2024", "2024-03-01..2024-07-01"),
        ("von Mai bis Juli", "2026-05-01..2026-08-01"),
        ("Ende letzten Monats", "2026-10-19..2026-11-01"),
        ("qu'avons-nous dit hier", "2026-11-17..2026-11-18"),
        ("hier", "2026-11-17..2026-11-18"),
        ("avant-hier", "2026-11-16..2026-11-17"),
        ("aujourd’hui", "2026-11-18..2026-11-19"),
        ("la semaine dernière", "2026-11-09..2026-11-16"),
        ("mardi dernier", "2026-11-17..2026-11-18"),
        ("il y a deux semaines", "2026-10-31..2026-11-09"),
        ("il y a sept jours", "2026-11-11..2026-11-12"),
        ("l'an dernier", "2025-01-01..2026-01-01"),
        ("en mars", "2026-03-01..2026-04-01"),
        ("le 8 mai", "2026-05-08..2026-05-09"),
        ("jusqu'à mai", "..2026-06-01"),
        ("entre mars et juin", "2026-03-01..2026-07-01"),
        ("de mai à juillet 2024", "2024-05-01..2024-08-01"),
        ("le week-end dernier", "2026-11-14..2026-11-16"),
        ("ayer por la noche", "2026-11-17 18:00..2026-11-18 06:00"),
        ("anteayer", "2026-11-16..2026-11-17"),
        ("la semana pasada", "2026-11-09..2026-11-16"),
        ("el martes pasado", "2026-11-17..2026-11-18"),
        ("el miercoles", "2026-11-11..2026-11-12"),
        ("hace dos semanas", "2026-10-31..2026-11-09"),
        ("en mayo", "2026-05-01..2026-06-01"),
        ("el 8 de mayo de 2023", "2023-05-08..2023-05-09"),
        ("del 3 al 5 de mayo", "2026-05-03..2026-05-06"),
        ("los últimos tres días", "2026-11-15..2026-11-19"),
        ("antes de mayo", "..2026-05-01"),
        ("今天我们说了什么", "2026-11-18..2026-11-19"),
        ("昨天前端出错", "2026-11-17..2026-11-18"),
        ("前天", "2026-11-16..2026-11-17"),
        ("昨晚", "2026-11-17 17:00..2026-11-18"),
        ("上周", "2026-11-09..2026-11-16"),
        ("上周二", "2026-11-10..2026-11-11"),
        ("上个月", "2026-10-01..2026-11-01"),
        ("两周前", "2026-10-31..2026-11-09"),
        ("三天前", "2026-11-15..2026-11-16"),
        ("最近三天", "2026-11-15..2026-11-19"),
        ("十二月", "2025-12-01..2026-01-01"),
        ("2023年5月8日", "2023-05-08..2023-05-09"),
        ("去年五月", "2025-05-01..2025-06-01"),
        ("去年", "2025-01-01..2026-01-01"),
        ("从五月到七月", "2026-05-01..2026-08-01"),
        ("从昨天", "2026-11-17.."),
        ("五月之前", "..2026-05-01"),
    ],
)
def test_the_basics_are_understood_in_german_french_spanish_and_chinese(text: str, meant: str) -> None:
    """Users ask in the language of their conversations; `hier` is "here" in German and "yesterday" in French."""
    assert spans_in(text) == meant


def test_a_time_names_its_words() -> None:
    """They are shown as the reason of a hit, and are not searched for."""
    text = "What did we decide in early May 2024, or since last Tuesday?"

    assert [text[span.begin : span.end] for span in find_times(text, NOW)] == [
        "in early May 2024",
        "since last Tuesday",
    ]


def test_days_follow_clock_changes() -> None:
    """On the last Sunday of October the hour from two to three occurs twice."""
    (span,) = find_times("on 25 October", NOW)
    now = datetime(2026, 10, 25, 4, tzinfo=BERLIN)

    assert span.first and span.last
    assert span.last.astimezone(UTC) - span.first.astimezone(UTC) == timedelta(hours=25)
    for text in ("3h", "3 hours ago"):
        moment = read_moment(text, now)
        assert moment and moment.astimezone(UTC) == datetime(2026, 10, 25, tzinfo=UTC)


def test_a_day_begins_where_the_clock_skips_midnight() -> None:
    """In Santiago the clock jumps from midnight to one in September."""
    (span,) = find_times("6 September 2026", datetime(2026, 11, 1, tzinfo=ZoneInfo("America/Santiago")))

    assert span.first and span.first.astimezone(UTC) == datetime(2026, 9, 6, 4, tzinfo=UTC)


def test_a_clock_without_a_zone_uses_the_zone_of_the_machine() -> None:
    """Without a zone the result can still be compared with other moments."""
    (span,) = find_times("yesterday", NOW.replace(tzinfo=None))

    assert span.first == datetime(2026, 11, 17).astimezone()
    assert read_moment("yesterday", NOW.replace(tzinfo=None)) == span.first


def test_a_night_continues_after_midnight() -> None:
    """At two in the morning, "tonight" is the night that began yesterday."""
    assert spans_in("tonight", datetime(2026, 11, 18, 2, tzinfo=BERLIN)) == "2026-11-17 18:00..2026-11-18 06:00"
    assert spans_in("tonight", NOW) == ""


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-05-08", "2026-05-08", "2026-05-09"),
        ("20260508", "2026-05-08", "2026-05-09"),
        ("2026-05", "2026-05-01", "2026-06-01"),
        ("2026-05-08 14:30", "2026-05-08 14:30", "2026-05-08 14:30"),
        ("2026-05-08T14:30:15", "2026-05-08 14:30", "2026-05-08 14:30"),
        ("14:30", "2026-11-18 14:30", "2026-11-18 14:30"),
        ("23:30", "2026-11-17 23:30", "2026-11-17 23:30"),
        ("tuesday 9am", "2026-11-17 09:00", "2026-11-17 09:00"),
        ("yesterday", "2026-11-17", "2026-11-18"),
        ("now", "2026-11-18 15:20", "2026-11-18 15:20"),
        ("3d", "2026-11-15 15:20", "2026-11-15 15:20"),
        ("2w", "2026-11-04 15:20", "2026-11-04 15:20"),
        ("9mo", "2026-02-18 15:20", "2026-02-18 15:20"),
        ("90m", "2026-11-18 13:50", "2026-11-18 13:50"),
        ("2 weeks", "2026-11-04", "2026-11-05"),
        ("2 weeks ago", "2026-11-04", "2026-11-05"),
        ("last tuesday", "2026-11-17", "2026-11-18"),
        ("sat", "2026-11-14", "2026-11-15"),
        ("may", "2026-05-01", "2026-06-01"),
        ("May 2024", "2024-05-01", "2024-06-01"),
        ("2024", "2024-01-01", "2025-01-01"),
        ("vorgestern", "2026-11-16", "2026-11-17"),
        ("去年", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_bound_is_read_exactly(text: str, begin: str, end: str) -> None:
    """ "Until May" includes May. In a bound, `may` is always a month and two weeks are exactly two weeks."""
    assert shown(read_moment(text, NOW)) == begin
    assert shown(read_moment(text, NOW, end=True)) == end


SINCE = {  # expressions, separated by semicolons
    "2026-11-17": """
        since last tuesday; the last tuesday; this past tuesday; on tuesday; am Dienstag; letzten Dienstag;
        am letzten Dienstag; seit Dienstag; mardi dernier; depuis mardi; el martes pasado; el martes;
        desde el martes pasado; el pasado martes; 周二; 自周二; since yesterday; seit gestern; depuis hier;
        desde ayer; 昨天以来; 从昨天开始""",
    "2026-11-10": """
        tuesday of last week; last week on tuesday; Dienstag letzter Woche; mardi de la semaine dernière;
        el martes de la semana pasada; 上周二; 从上周二起""",
    "2026-11-09": """
        the last week; since last week; all of last week; letzte Woche; in der letzten Woche; vorige Woche;
        die letzte Woche; im Laufe der letzten Woche; seit letzter Woche; la semaine dernière; la semaine passée;
        depuis la semaine dernière; la semana pasada; la última semana; la semana anterior;
        desde la semana pasada; 上周; 在上周; 上一周; 上周以来; du lundi au mercredi;
        del lunes al miércoles; from monday to wednesday; von Montag bis Mittwoch; 周一到周三""",
    "2026-10-01": """
        the previous month; im letzten Monat; vorigen Monat; le mois dernier; depuis le mois dernier;
        durant le mois dernier; el mes pasado; el último mes; 上个月; 上个月的; 上一个月""",
    "2025-01-01": """
        the last year; im letzten Jahr; l'année dernière; l’an passé; el año pasado; el último año; 去年; 从去年起""",
    "2026-11-16": "the day before yesterday; vorgestern; avant-hier; avant hier; antes de ayer; anteayer; 前天",
    "2026-11-01": """
        this month; in diesem Monat; ce mois-ci; este mes; since the beginning of the month;
        seit Anfang des Monats; depuis le début du mois; desde principios de mes; 本月; 本月初""",
    "2026-01-01": "since the start of the year; seit Anfang des Jahres; depuis le début de l'année; 今年; 今年年初",
    "2026-05-01": """
        since may; back in May; in the month of May; im Mai; seit Mai; au mois de mai; depuis mai; en mayo;
        desde mayo; 5月以来; between May and June; entre mayo y junio; 5月到6月""",
    "2026-11-15": "the last 3 days; die letzten 3 Tage; ces 3 derniers jours; los últimos 3 días; 最近三天",
    "2026-11-04": "the last two weeks; les deux dernières semaines; las últimas dos semanas; 过去两周; 两周前; 两周",
    "2026-11-12": "in den letzten Tagen; ces derniers jours; los últimos días; a few days ago; some days ago",
    "2026-11-14": """
        the weekend; this past weekend; am Wochenende; le week-end dernier; el fin de semana pasado; 上周末""",
    "2026-05-18": "half a year ago; vor einem halben Jahr; hace medio año; 半年前; 6 months ago",
    "2026-11-18 14:50": """
        half an hour ago; vor einer halben Stunde; il y a une demi-heure; hace media hora; 半小时前""",
    "2026-11-17 18:00": "last night; gestern Nacht; la nuit dernière; anoche; 昨夜",
    "2026-11-13 17:00": "Freitagabend; am Freitag Abend; vendredi soir; 周五晚上",
    "2026-11-17 17:00": """
        yesterday at 5pm; gestern um 17 Uhr; gestern um 17:00; hier à 17h; hier à 17:00; ayer a las 17:00""",
    "2026-11-05": "on the 5th; since the 5th; am 5.; le 5; el 5; seit dem 5.",
    "2026-06-01": "last summer; letzten Sommer; l'été dernier; el verano pasado; 今年夏天",
    "2026-07-01": "last quarter; im letzten Quartal; le trimestre dernier; el último trimestre; 上个季度; 第三季度",
}


@pytest.mark.proves("N8")
@pytest.mark.parametrize(("meant", "texts"), SINCE.items())
def test_since_accepts_natural_expressions(meant: str, texts: str) -> None:
    """With an article, a preposition, or the word that the option already implies."""
    said = " ".join(texts.split()).split("; ")
    assert {text: shown(read_moment(text, NOW)) for text in said} == dict.fromkeys(said, meant)


@pytest.mark.parametrize(
    "text", ["until May", "before last week", "bis gestern", "jusqu'à hier", "hasta ayer", "直到昨天"]
)
def test_a_span_with_only_an_end_is_not_a_start(text: str) -> None:
    """And the other way round."""
    assert read_moment(text, NOW) is None
    assert read_moment(text, NOW, end=True) is not None
    assert read_moment("since May", NOW, end=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "by the end of the year",
        "the end of the day",
        "in 3 days",
        "dans 3 jours",
        "the 5 of us",
        "chapter 5",
        "un poco más",
    ],
)
def test_text_that_is_no_bound_stays_words(text: str) -> None:
    """Words that may mean the future or the topic limit nothing."""
    assert not [span for span in find_times(f"what about {text}", NOW) if span.sure]


@pytest.mark.proves("N8")
@pytest.mark.parametrize(
    "text",
    "today; yesterday; the day before yesterday; tuesday; on friday; last monday; this week; last week; last month; "
    "last year; 2026-05-08; 20260508; 2026-05; 2024; 2026-W45; 2026-W45-3; 3d; 2w; 9mo; 1y; 90m; 2026-05-08 14:30; "
    "2026-05-08T14:30Z; now".split("; "),
)
def test_simple_moments_are_the_same_for_memory_and_for_conversations(text: str) -> None:
    """`:memory at` takes the end of a day; a search until then means the same."""
    now = NOW.astimezone()
    searched = read_moment(text, now.replace(tzinfo=None), end=True)
    remembered = moment_of_memory(text, now)
    assert searched is not None
    assert searched - remembered in (timedelta(0), timedelta(microseconds=1))


def test_a_zone_in_the_text_counts() -> None:
    """A moment copied from a log may have a zone."""
    for text in ("2026-05-08T14:30Z", "2026-05-08 14:30 UTC", "2026-05-08T16:30+02:00"):
        assert read_moment(text, NOW) == datetime(2026, 5, 8, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gestarn",
        "2026-02-30",
        "2026-13",
        "2026-05-08 25:00",
        "until May",
        "in 3 days",
        "dans 3 jours",
        "May or June",
        "99999y",
        "x" * 9999,
    ],
)
def test_text_that_is_no_moment_gives_none(text: str) -> None:
    """The caller says what to type instead."""
    assert read_moment(text, NOW) is None


WORDS = st.sampled_from(
    "last next this the of in on since until between and to from vor il y a 3 31 12 2024 9999 0 99999 May may Tuesday "
    "week weeks ago year 前 昨天 上周 十 月 日 五 1/2/2023 30.02.2023 2023-00 25:00 12:30 Q2 summer - , . 's".split()
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=12).map(" ".join)))
def test_any_text_gives_times_in_order_and_none_at_all_is_fine(text: str) -> None:
    """There is never an error, and every bound can be compared with any moment."""
    spans = find_times(text, NOW)

    assert all(a.end <= b.begin for a, b in pairwise(spans))
    for span in spans:
        assert 0 <= span.begin < span.end <= len(text)
        assert span.first is not None or span.last is not None
        assert span.first is None or span.last is None or span.first <= span.last
        assert _can_be_compared(span)
    read_moment(text, NOW, end=True)


def _can_be_compared(span: TimeSpan) -> bool:
    return all(bound is None or (bound < NOW) in (True, False) for bound in (span.first, span.last))


@settings(max_examples=60, deadline=None)
@given(st.datetimes(timezones=st.sampled_from([UTC, BERLIN])), st.lists(WORDS, max_size=6).map(" ".join))
def test_any_moment_works_as_now(now: datetime, text: str) -> None:
    """A clock may be wrong by thousands of years; then nothing is found, and nothing fails."""
    find_times(text, now)
    find_times(f"3 weeks ago in May last Tuesday {text}", now)
    read_moment(text, now)


def test_a_long_text_is_not_searched_for_times() -> None:
    """Dates in a pasted text do not say when it was discussed, and parsing them would take long."""
    for text in ("may 1/2/ " * 10_000, "between May and " * 6_000, "昨天到" * 30_000, "“" * 100_000):
        assert len(find_times(text, NOW)) <= 20
        tenth = cpu_seconds(partial(find_times, text[: len(text) // 10], NOW))
        assert cpu_seconds(partial(find_times, text, NOW)) < 5 * tenth + 0.05
    assert len(find_times("word " * 300 + "yesterday", NOW)) == 1
    assert find_times("word " * 500 + "yesterday", NOW) == []


@settings(max_examples=200, deadline=None)
@example(words=["il", "y", "a", "un", "an"])
@example(words=["aujourd'hui"])
@example(words=["l’an", "dernier"])
@given(words=st.lists(st.sampled_from(sorted(lexicon())) | WORDS, max_size=5))
def test_text_skipped_by_the_quick_check_has_no_time(words: list[str]) -> None:
    """Neither a text without any time word, nor a rule whose kind of word is missing."""
    text = " ".join(words)
    row = tokens(text)
    kinds = "".join(token.kind for token in row)
    fitting = {rule for rule in when_rules._RULES if when_rules._pattern(rule).search(kinds)}
    assert all(frozenset(kinds) & group for rule in fitting for group in when_rules._needs(rule))
    assert may_name_time(text) or not fitting
