"""Recency: the conversations, exchanges and days that were last active, also when they overlap in time."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer, delete_index
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.values.hits import THREAD_TURNS, Hit, Scope
from aish.values.turns import Role, Turn

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
ROLES: tuple[Role, ...] = ("user", "assistant")


class Talks:
    """Conversations that are written turn by turn, and a finder for them."""

    def __init__(self, top: Path) -> None:
        self.sessions, self.directory = top / "sessions", top / "index"
        self.said: list[tuple[int, str, int, Role]] = []  # time, conversation, turn number, role

    def say(self, name: str, minute: int, role: Role = "user") -> None:
        turn = Turn(role, f"{role} in {name} at {minute}")
        number = Journal(self.sessions, name, {"channel": name[:1]}).add(turn, NOW + timedelta(minutes=minute))
        self.said.append((minute, name, number, role))

    def index(self) -> None:
        assert Indexer(JournalFeed(self.sessions), self.directory).catch_up()

    def finder(self) -> ConversationFinder:
        return ConversationFinder(JournalFeed(self.sessions), self.directory, now=lambda: NOW + timedelta(days=1))

    def clear(self) -> None:
        shutil.rmtree(self.sessions, ignore_errors=True)
        delete_index(self.directory)
        self.said.clear()


@pytest.fixture
def talks() -> Iterator[Talks]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Talks(Path(directory))


def places(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.conversation, hit.turn) for hit in hits]


@pytest.mark.proves("N2")
@pytest.mark.parametrize("indexed", [0, 13, 40], ids=["no index", "half an index", "an index"])
def test_conversations_that_overlap_are_all_listed(talks: Talks, indexed: int) -> None:
    """One that was active just before another is not cut off, and a long one does not fill the page."""
    for minute in range(40):
        talks.say("abc"[minute % 3] if minute < 24 else "a", minute)
        if minute + 1 == indexed:
            talks.index()
    finder = talks.finder()
    hits = finder.recent(2, by="thread")
    assert {hit.conversation for hit in hits} == {"a", "c"}
    assert [hit.turn for hit in hits if hit.conversation == "a"] == list(range(24, 24 - THREAD_TURNS, -1))
    assert [hit.turn for hit in hits if hit.conversation == "c"] == list(range(8, 0, -1))
    times = [hit.time for hit in hits]
    assert times == sorted(times, reverse=True)
    until = NOW + timedelta(minutes=23)
    assert {hit.conversation for hit in finder.recent(2, Scope(until=until), "thread")} == {"a", "b"}
    assert {hit.conversation for hit in finder.recent(9, Scope(channel="b"), "thread")} == {"b"}


@pytest.mark.proves("N2")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.sampled_from(ROLES)), max_size=14),
    indexed=st.integers(0, 14),
    limit=st.integers(1, 4),
    since=st.none() | st.integers(0, 9),
    until=st.none() | st.integers(0, 9),
)
@example(said=[("a", 9, "user"), ("b", 5, "user"), ("a", 0, "user")], indexed=2, limit=1, since=None, until=None)
@example(said=[("a", 4, "user"), ("b", 5, "user")], indexed=2, limit=1, since=None, until=5)
def test_recent_activity_equals_a_full_scan(
    talks: Talks, said: list[tuple[str, int, Role]], indexed: int, limit: int, since: int | None, until: int | None
) -> None:
    """Conversations and exchanges, with times in any order and any part of them indexed."""
    talks.clear()
    for number, (name, minute, role) in enumerate(said):
        talks.say(name, minute, role)
        if number + 1 == indexed:
            talks.index()
    bounds = (NOW + timedelta(minutes=minute) if minute is not None else None for minute in (since, until))
    scope, finder = Scope("", "", *bounds), talks.finder()
    within = [one for one in talks.said if (since is None or one[0] >= since) and (until is None or one[0] < until)]
    newest = sorted(within, key=lambda one: (-one[0], -one[2], one[1]))
    threads = list(dict.fromkeys(name for _, name, _, _ in newest))[:limit]
    assert places(finder.recent(limit, scope, "thread")) == [(one[1], one[2]) for one in newest if one[1] in threads]
    exchanges: dict[str, list[list[tuple[str, int]]]] = {}
    for _, name, turn, role in newest[::-1]:  # in the order they were said
        begun = exchanges.setdefault(name, [])
        if role == "user" or not begun:
            begun.append([])
        begun[-1].append((name, turn))
    order = [(one[1], one[2]) for one in newest]
    ended = sorted((group for groups in exchanges.values() for group in groups), key=lambda one: order.index(one[-1]))
    chosen = {turn for group in ended[:limit] for turn in group}
    assert places(finder.recent(limit, scope, "exchange")) == [turn for turn in order if turn in chosen]


@pytest.mark.proves("N2")
def test_an_answer_comes_with_its_question_even_if_another_came_between(talks: Talks) -> None:
    """With two shells, a question in one does not end the exchange in the other."""
    for minute, (name, role) in enumerate([("a", "user"), ("b", "user"), ("a", "assistant"), ("b", "assistant")]):
        talks.say(name, minute, "user" if role == "user" else "assistant")
    assert places(talks.finder().recent(1, by="exchange")) == [("b", 2), ("b", 1)]
    assert places(talks.finder().recent(2, by="exchange")) == [("b", 2), ("a", 2), ("b", 1), ("a", 1)]
    answers = talks.finder().recent(2, Scope(role="assistant"), "exchange")
    assert places(answers) == [("b", 2), ("a", 2)]


@pytest.mark.proves("N2")
def test_days_are_complete(talks: Talks) -> None:
    """All turns of the last active days, in all conversations."""
    for day in (0, 1, 5):
        for number in range(15):
            talks.say(f"{'abc'[number % 3]}{day}", -day * 1440 + number)
    talks.index()
    finder = talks.finder()
    assert places(finder.recent(2, by="day")) == places(finder.recent(30))
    assert len(finder.recent(3, by="day")) == len(finder.recent(4, by="day")) == 45
