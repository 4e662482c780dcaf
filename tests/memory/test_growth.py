"""The cost of finding as conversations grow. These tests count work; the benchmark measures time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aish.memory.finding.finder import ConversationFinder
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.values.turns import Turn

NOW = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)
TOPICS = ("bread", "trains", "violins", "gardens", "taxes")


def talk(sessions: Path, conversations: int, turns: int = 100) -> None:
    """Write conversations on different subjects that share one common word."""
    for number in range(conversations):
        topic = TOPICS[number % len(TOPICS)]
        time = NOW - timedelta(days=conversations - number)
        texts = [f"question {turn} about {topic} number {number}" for turn in range(turns)]
        said: list[tuple[Turn, datetime, dict[str, Any]]] = [(Turn("user", text), time, {}) for text in texts]
        Journal(sessions, f"20260101-{number:06}-abc").extend(said)


def finder(tmp_path: Path) -> ConversationFinder:
    return ConversationFinder(JournalFeed(tmp_path / "sessions"), tmp_path / "index", now=lambda: NOW)


@pytest.mark.proves("N10")
def test_a_search_ranks_no_more_turns_in_a_larger_index(tmp_path: Path) -> None:
    """The index selects the candidates, however many turns have the word."""
    weighed = []
    for conversations in (20, 60):
        talk(tmp_path / "sessions", conversations)
        mine = finder(tmp_path)
        mine.catch_up(wait=True)
        weighed.append(mine.search("question about bread").considered)
        assert mine.search("bread number 15", 1).hits
    assert 0 < weighed[1] <= weighed[0] * 1.2


@pytest.mark.proves("N10")
def test_indexing_a_new_turn_does_not_reread_the_conversation(tmp_path: Path) -> None:
    """Measured by the progress, which counts the bytes to read."""
    talk(tmp_path / "sessions", 3)
    finder(tmp_path).catch_up(wait=True)
    journal = Journal(tmp_path / "sessions", "20260101-000000-abc")
    before = journal.path.stat().st_size
    journal.extend([(Turn("user", f"and bread again, {number}"), NOW, {}) for number in range(60)])
    steps: list[tuple[int, int]] = []
    follower = ConversationFinder(
        JournalFeed(tmp_path / "sessions"),
        tmp_path / "index",
        now=lambda: NOW,
        progress=lambda: lambda done, whole: steps.append((done, whole)),
    )

    follower.catch_up(wait=True)

    assert steps[-1][1] == journal.path.stat().st_size - before
    assert [hit.turn for hit in follower.recent(2)] == [160, 159]
