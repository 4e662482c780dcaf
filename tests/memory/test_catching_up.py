"""Searches while another process is indexing, and with files that cannot be read."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from terminal import CTRL_C, Terminal
from world import World

from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.values.errors import StoreTrouble
from aish.values.turns import Turn

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
MANY = 1_100  # more turns than a search reads from the journals


@pytest.fixture
def top() -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


def say(sessions: Path, name: str, *texts: str) -> None:
    Journal(sessions, name).extend((Turn("user", text), NOW, {}) for text in texts)


@contextmanager
def busy(index: Path) -> Iterator[None]:
    """Act like another process that is indexing."""
    index.mkdir(parents=True, exist_ok=True)
    fd = os.open(index / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def test_waiting_for_another_indexer_shows_its_progress_and_then_continues(top: Path) -> None:
    """A search right after a large import by another process finds all of it, not only the part indexed so far."""
    say(top / "sessions", "a1", *(f"otter {number}" for number in range(MANY)))
    waits, seen = threading.Event(), list[tuple[int, int]]()

    def progress(done: int, whole: int) -> None:
        seen.append((done, whole))
        waits.set()

    finder = ConversationFinder(
        JournalFeed(top / "sessions"), top / "index", now=lambda: NOW, progress=lambda: progress
    )
    told: list[str] = []
    waiting = threading.Thread(target=lambda: told.append(finder.catch_up(wait=True)))
    with busy(top / "index"):
        waiting.start()
        assert waits.wait(30)
        assert waiting.is_alive()
    waiting.join(30)
    assert told == [""]
    whole = seen[0][1]
    assert seen[0] == (0, whole)
    assert seen[-1] == (whole, whole)
    found = finder.search("otter 7")
    assert found.notes == ()
    assert len(finder.recent(2 * MANY)) == MANY


@pytest.mark.proves("N14")
def test_waiting_ends_when_the_other_indexer_makes_no_progress(top: Path) -> None:
    """The finder searches what is there. Without `wait` it does not wait at all."""
    say(top / "sessions", "a1", *(f"otter {number}" for number in range(MANY)))
    finder = ConversationFinder(JournalFeed(top / "sessions"), top / "index", now=lambda: NOW, patience=0.01)
    with busy(top / "index"):
        assert finder.catch_up() == ""
        assert "makes no progress" in finder.catch_up(wait=True)
        assert finder.catch_up(wait=True, stop=lambda: True) == ""
        found = finder.search(f"otter {MANY - 1}")
        assert found.hits
        assert "are not indexed yet" in found.notes[0]


def test_ctrl_c_leaves_at_once_while_another_process_indexes(world: World) -> None:
    """On a terminal that shows the progress bar."""
    say(world.places.sessions, "20260520-120000-aaaa", *(f"otter {number}" for number in range(MANY)))
    with busy(world.places.turn_index), Terminal(world, "search", "otter") as terminal:
        terminal.wait_for("indexing")
        terminal.type(CTRL_C)
        assert terminal.code() == 130


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Make a file unreadable; root can read every file, so drop root rights meanwhile."""
    for one in (path.parents[1], *path.parents[1].rglob("*")):
        one.chmod(0o755 if one.is_dir() else 0o644)
    path.chmod(0)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        yield
    finally:
        if root:
            os.seteuid(0)
        path.chmod(0o600)


@pytest.mark.proves("N14")
def test_a_journal_that_became_unreadable_is_reported(top: Path) -> None:
    """The index knows that there are turns to find, and the directory still lists the file."""
    say(top / "sessions", "a1", "a heron in the reeds", "another heron")
    say(top / "sessions", "b2", "one heron by the lake")
    assert Indexer(JournalFeed(top / "sessions"), top / "index").catch_up()
    finder = ConversationFinder(JournalFeed(top / "sessions"), top / "index", now=lambda: NOW)
    assert len(finder.search("heron").hits) == 3
    path = top / "sessions" / "a1.jsonl"
    with unreadable(path):
        found = finder.search("heron")
        assert [hit.conversation for hit in found.hits] == ["b2"]
        assert found.notes == (f"2 turns could not be read: cannot read {path}: Permission denied",)
        assert [hit.conversation for hit in finder.recent()] == ["b2"]
        assert finder.missing() == (f"2 turns could not be read: cannot read {path}: Permission denied",)
        assert len(finder.recent(1, by="thread")) == 1
        with pytest.raises(StoreTrouble, match="Permission denied"):
            finder.thread("a1")
        assert len(finder.thread("b2")) == 1
    assert finder.search("heron").notes == ()
    path.unlink()
    assert finder.search("heron").notes == ()
    assert finder.missing() == ()
