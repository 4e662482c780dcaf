"""Times as text: ages, local times, and parsing of moments."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import at

from aish.values.errors import BadUsage
from aish.values.times import age, local, read_moment

NOW = at("2026-11-15T12:00:00")


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """Set the time zone of this process for one test."""
    name: str = request.param
    monkeypatch.setenv("TZ", name)
    time.tzset()
    yield name
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(seconds=-61), "in the future"),
        (timedelta(seconds=-60), "now"),
        (timedelta(0), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=59, seconds=59), "59 min"),
        (timedelta(minutes=60), "1 hour"),
        (timedelta(hours=23, minutes=59), "23 hours"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=13, hours=23), "13 days"),
        (timedelta(days=14), "2 weeks"),
        (timedelta(weeks=9), "2 months"),
        (timedelta(days=365), "11 months"),
        (timedelta(days=740), "2 years"),
        (timedelta(days=3653), "10 years"),
    ],
)
def test_an_age_is_a_word_or_two(ago: timedelta, said: str) -> None:
    """Old times use large units. A slightly wrong clock does not give a future time."""
    assert age(NOW - ago, NOW) == said


@settings(max_examples=60, deadline=None)
@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)))
def test_every_moment_there_is_has_an_age_and_a_place_on_the_clock(moment: datetime) -> None:
    """A ledger may have been edited by hand, or written with a wrong clock."""
    moment = moment.replace(tzinfo=UTC)

    assert 0 < len(age(moment, NOW)) < 20
    assert len(local(moment)) == len("2026-11-15 12:00")


@pytest.mark.parametrize(
    ("zone", "moment"), [("America/New_York", datetime.min), ("Pacific/Kiritimati", datetime.max)], indirect=["zone"]
)
def test_the_ends_of_the_calendar_can_be_shown_everywhere_on_earth(zone: str, moment: datetime) -> None:
    """West of Greenwich, the first day of year 1 in UTC is in year 0, which Python does not support."""
    assert local(moment.replace(tzinfo=UTC))[:4] in ("0001", "9999")


@pytest.mark.parametrize("zone", ["Asia/Kolkata"], indirect=True)
def test_the_clock_is_the_users(zone: str) -> None:
    """Files use UTC; users see local time."""
    assert local(at("2031-07-15T20:00:00")) == "2031-07-16 01:30"
    assert read_moment("2031-07-16 01:30", NOW) == at("2031-07-15T20:00:00")
    assert read_moment("2031-07-16", NOW) == at("2031-07-16T18:29:59.999999")


@pytest.mark.proves("M60")
@pytest.mark.parametrize("zone", ["UTC"], indirect=True)
@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("now", "2026-11-15T12:00:00"),
        ("", "2026-11-15T12:00:00"),
        ("today", "2026-11-15T23:59:59.999999"),
        ("Yesterday", "2026-11-14T23:59:59.999999"),
        ("2026-11-01", "2026-11-01T23:59:59.999999"),
        ("20261101", "2026-11-01T23:59:59.999999"),
        ("2026-11-01 18:30", "2026-11-01T18:30:00"),
        ("2026-11-01T18:30", "2026-11-01T18:30:00"),
        ("2026-11-01t18:30:05z", "2026-11-01T18:30:05"),
        ("2026-11-01 18:30 utc", "2026-11-01T18:30:00"),
        ("2026-11-01 18:30+02:00", "2026-11-01T16:30:00"),
        ("3 days ago", "2026-11-12T12:00:00"),
        ("1 day ago", "2026-11-14T12:00:00"),
        ("  2   Weeks  ago ", "2026-11-01T12:00:00"),
        ("5min ago", "2026-11-15T11:55:00"),
        ("5 minutes ago", "2026-11-15T11:55:00"),
        ("1 hour ago", "2026-11-15T11:00:00"),
        ("2024-02-29", "2024-02-29T23:59:59.999999"),
        ("3d", "2026-11-12T12:00:00"),
        ("2w", "2026-11-01T12:00:00"),
        ("9mo", "2026-02-15T12:00:00"),
        ("1y", "2025-11-15T12:00:00"),
        ("90 min", "2026-11-15T10:30:00"),
        ("the day before yesterday", "2026-11-13T23:59:59.999999"),
        ("on Tuesday", "2026-11-10T23:59:59.999999"),
        ("sunday", "2026-11-08T23:59:59.999999"),
        ("last week", "2026-11-08T23:59:59.999999"),
        ("last month", "2026-10-31T23:59:59.999999"),
        ("this month", "2026-11-30T23:59:59.999999"),
        ("last year", "2025-12-31T23:59:59.999999"),
        ("2026-02", "2026-02-28T23:59:59.999999"),
        ("2024", "2024-12-31T23:59:59.999999"),
        ("2026-W45", "2026-11-08T23:59:59.999999"),
    ],
)
def test_words_mean_a_moment(zone: str, words: str, moment: str) -> None:
    """A day without a time means its end, so that items of that day are included."""
    assert read_moment(words, NOW) == at(moment)


@pytest.mark.parametrize("zone", ["UTC"], indirect=True)
def test_a_day_of_a_week_is_a_day_too(zone: str) -> None:
    """ISO week dates are days too, and end like others."""
    assert read_moment("2026-W46-7", NOW) == read_moment("2026-11-15", NOW)


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
def test_a_day_on_which_the_clock_is_changed_ends_at_midnight(zone: str) -> None:
    """The end of a day uses the UTC offset of that evening, not of the morning or of today."""
    forward, back = at("2026-03-29T21:59:59.999999"), at("2026-10-25T22:59:59.999999")

    assert read_moment("2026-03-29", NOW) == forward
    assert read_moment("2026-10-25", NOW) == back
    assert read_moment("today", at("2026-03-29T00:30:00")) == forward
    assert read_moment("yesterday", at("2026-10-26T12:00:00")) == back


@pytest.mark.parametrize(
    "words",
    [
        "soon",
        "2026-13-01",
        "2026-02-30",
        "99999 years ago",
        "-1 days ago",
        "3 days",
        "12:30",
        "0000-01-01",
        "2026-11-15 25:00",
        "\0",
        "١٢ days",
        "x" * 5000,
    ],
)
def test_words_that_mean_no_moment_are_said_to_be_none(words: str) -> None:
    """The message gives examples of valid dates."""
    with pytest.raises(BadUsage, match=r"is not a date; try 2026-11-15, 2026-11-15 18:30, yesterday or 3 days ago"):
        read_moment(words, NOW)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20) | st.from_regex(r"[0-9]{1,6} ?(day|week|month|year)s? ago", fullmatch=True))
def test_any_text_is_a_moment_or_a_mistake_and_never_a_crash(words: str) -> None:
    """Users type these texts, so any input is possible."""
    try:
        moment = read_moment(words, NOW)
    except BadUsage:
        return
    assert moment.tzinfo is not None
    assert local(moment)


@pytest.mark.parametrize("zone", ["UTC"], indirect=True)
@pytest.mark.parametrize(
    ("now", "short", "moment"),
    [
        ("2026-03-31T12:00:00", "1mo", "2026-02-28T12:00:00"),
        ("2024-03-31T12:00:00", "1mo", "2024-02-29T12:00:00"),
        ("2026-01-31T12:00:00", "1mo", "2025-12-31T12:00:00"),
        ("2026-12-31T12:00:00", "1mo", "2026-11-30T12:00:00"),
        ("2024-02-29T12:00:00", "1y", "2023-02-28T12:00:00"),
    ],
)
def test_a_month_ago_is_in_the_month_before(zone: str, now: str, short: str, moment: str) -> None:
    """A shorter month gives its last day."""
    assert read_moment(short, at(now)) == at(moment)
