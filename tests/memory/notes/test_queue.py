"""The queue of turns that wait for consolidation: exact ranges, never twice, and nothing lost."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.notes.queue import MOST_TRIES, ConsolidationQueue, QueuedRange
from aish.storage.in_memory import InMemoryLog
from aish.storage.lines import open_log
from aish.values.stores import RecordLog

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
ONE, TWO = "20261117-101500-abc", "20261117-111500-def"


@pytest.fixture(params=["memory", "file"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> RecordLog:
    return InMemoryLog() if request.param == "memory" else open_log(tmp_path / "context.jsonl", "upkeep of notes")


@pytest.fixture
def queue(log: RecordLog) -> ConsolidationQueue:
    return ConsolidationQueue(log)


@pytest.mark.proves("S41")
def test_a_range_is_queued_with_its_exact_turns(queue: ConsolidationQueue) -> None:
    """A retry must read the same turns, and no others."""
    added = queue.add(ONE, 1, 6, NOW)

    assert added == QueuedRange(ONE, 1, 6)
    assert queue.waiting() == [added]
    assert added.source == f"{ONE}/1-6"


@pytest.mark.proves("S41")
def test_only_the_turns_since_the_last_range_are_added(queue: ConsolidationQueue) -> None:
    """Otherwise facts of the first turns would be learned at every compaction again."""
    queue.add(ONE, 1, 6, NOW)

    assert queue.add(ONE, 1, 10, NOW) == QueuedRange(ONE, 7, 10)
    assert queue.add(ONE, 1, 10, NOW) is None
    assert queue.add(ONE, 3, 8, NOW) is None
    assert queue.add(TWO, 1, 4, NOW) == QueuedRange(TWO, 1, 4), "another conversation has its own numbers"
    assert queue.waiting() == [QueuedRange(ONE, 1, 10), QueuedRange(TWO, 1, 4)], "neighbours are read together"


@pytest.mark.proves("S41")
def test_what_is_finished_never_comes_back(queue: ConsolidationQueue) -> None:
    """A fact that the user deleted since must not be learned from the same turns again."""
    first = queue.add(ONE, 1, 6, NOW)
    second = queue.add(ONE, 7, 8, NOW)
    assert first
    assert second
    queue.finish(first, NOW)

    assert queue.waiting() == [second]
    assert queue.add(ONE, 1, 8, NOW) is None
    queue.finish(second, NOW)
    assert queue.waiting() == []
    assert queue.covered(ONE) == 8
    assert queue.covered(TWO) == 0


@pytest.mark.proves("S42")
def test_a_failed_range_is_tried_again_and_then_given_up(queue: ConsolidationQueue) -> None:
    """A part that no model can read must not be sent every minute for years."""
    queued = queue.add(ONE, 1, 6, NOW)
    other = queue.add(TWO, 1, 2, NOW)
    assert queued
    for tries in range(1, MOST_TRIES):
        queue.fail(queued, NOW)
        assert queue.waiting()[0] == queued._replace(tries=tries)
    queue.fail(queued, NOW)

    assert queue.waiting() == [other]
    assert queue.given_up() == [queued._replace(tries=MOST_TRIES)]
    assert queue.add(ONE, 1, 6, NOW) is None


@pytest.mark.proves("S41")
def test_a_part_can_be_finished_and_the_rest_waits(queue: ConsolidationQueue) -> None:
    """A long conversation does not fit into the window of a small model at once."""
    queue.add(ONE, 1, 10, NOW)
    queue.finish(QueuedRange(ONE, 1, 4), NOW)
    assert queue.waiting() == [QueuedRange(ONE, 5, 10)]
    queue.fail(QueuedRange(ONE, 5, 6), NOW)
    queue.finish(QueuedRange(ONE, 5, 6), NOW)

    assert [one[:3] for one in queue.waiting()] == [(ONE, 7, 10)]
    assert queue.add(ONE, 1, 10, NOW) is None


def test_a_range_that_failed_can_still_be_finished(queue: ConsolidationQueue) -> None:
    """The next try may succeed; it names the range as it was read, with its number of tries."""
    queued = queue.add(ONE, 1, 6, NOW)
    assert queued
    queue.fail(queued, NOW)
    queue.finish(queue.waiting()[0], NOW)

    assert queue.waiting() == queue.given_up() == []


def test_nothing_and_a_backward_range_are_not_queued(queue: ConsolidationQueue) -> None:
    """A conversation without turns has nothing to learn from."""
    assert queue.add(ONE, 1, 0, NOW) is None
    assert queue.add(ONE, 5, 4, NOW) is None
    assert queue.waiting() == []


def test_other_records_and_damaged_ones_are_skipped(log: RecordLog, queue: ConsolidationQueue) -> None:
    """The log also has what upkeep did. A person may have edited it."""
    queue.add(ONE, 1, 2, NOW)
    for record in (
        {"upkeep": "done", "job": "tidying"},
        {"consolidation": "queued"},
        {"consolidation": "queued", "conversation": ONE, "turns": [3]},
        {"consolidation": "queued", "conversation": 7, "turns": [3, 4]},
        {"consolidation": "queued", "conversation": ONE, "turns": ["3", "4"]},
        {"consolidation": "done", "conversation": TWO, "turns": [1, 2]},
        {"consolidation": "failed", "conversation": TWO, "turns": [1, 2]},
    ):
        log.append(record)

    assert queue.waiting() == [QueuedRange(ONE, 1, 2)]


def test_the_queue_survives_the_end_of_the_program(tmp_path: Path) -> None:
    """It is on disk, so that nothing is lost at quit."""
    for _ in range(2):  # an object for each run of the program
        ConsolidationQueue(open_log(tmp_path / "context.jsonl", "upkeep of notes")).add(ONE, 1, 4, NOW)

    again = ConsolidationQueue(open_log(tmp_path / "context.jsonl", "upkeep of notes"))
    assert again.waiting() == [QueuedRange(ONE, 1, 4)]


_ADDS = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from aish.memory.notes.queue import ConsolidationQueue
from aish.storage.lines import open_log
queue = ConsolidationQueue(open_log(Path(sys.argv[1]), "upkeep of notes"))
sys.stdin.readline()
for last in range(1, 61):
    queue.add("20261117-101500-abc", 1, last, datetime(2026, 11, 17, tzinfo=UTC))
"""


@pytest.mark.proves("S41", "X3")
def test_two_processes_never_queue_the_same_turn(tmp_path: Path) -> None:
    """Two shells may compact the same resumed conversation at the same time."""
    path = tmp_path / "context.jsonl"
    shells = [
        subprocess.Popen([sys.executable, "-c", _ADDS, str(path)], stdin=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for shell in shells:
        assert shell.stdin
        shell.stdin.write("go\n")
        shell.stdin.flush()
    for shell in shells:
        shell.communicate(timeout=60)
        assert shell.returncode == 0

    ranges = [(one.first, one.last) for one in ConsolidationQueue(open_log(path, "upkeep of notes")).waiting()]
    turns = [turn for first, last in ranges for turn in range(first, last + 1)]
    assert turns == list(range(1, 61))


@given(st.lists(st.tuples(st.sampled_from([ONE, TWO]), st.integers(-2, 30), st.integers(-2, 30))))
def test_every_turn_is_queued_at_most_once(adds: list[tuple[str, int, int]]) -> None:
    """Whatever is asked for, in whatever order."""
    queue = ConsolidationQueue(InMemoryLog())
    for add in adds:
        queue.add(*add, NOW)

    turns = [(one.conversation, turn) for one in queue.waiting() for turn in range(one.first, one.last + 1)]
    assert len(turns) == len(set(turns))
