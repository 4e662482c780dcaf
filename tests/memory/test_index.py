"""The index: after any change to it or to the journals, it gives the same answers as a new index."""

import fcntl
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from aish.memory.finding.catalogue import Catalogue
from aish.memory.finding.columns import COLUMNS, NONE, Columns
from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer, delete_index
from aish.memory.finding.ranking import BLOCK
from aish.memory.finding.snapshot import IndexSnapshot
from aish.memory.finding.terms import terms
from aish.memory.finding.vectors import EXACT, Embedder, Floats, Vectors, pack
from aish.memory.finding.word_index import WordIndex
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.storage.lines import LineFile
from aish.values.errors import StoreTrouble
from aish.values.turns import Turn

START = datetime(2026, 5, 4, 9, tzinfo=UTC)
TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))  # as when one of them is run
ANIMALS = ("heron", "otter", "badger", "lynx", "marmot")


class Bag:
    """An embedder whose vectors show which words a text has."""

    size = 64

    def __init__(self, name: str = "toy") -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> Floats:
        found = np.zeros((len(texts), self.size), np.float32)
        for place, text in enumerate(texts):
            for word in text.split():
                found[place, zlib.crc32(word.encode()) % self.size] += 1
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return found


class Conversations:
    """Journals in one directory and their index in another."""

    def __init__(self, top: Path, embedder: Embedder | None = None) -> None:
        self.sessions, self.directory, self.embedder = top / "sessions", top / "index", embedder
        self.feed = JournalFeed(self.sessions)

    def path(self, name: str) -> Path:
        return self.sessions / f"{name}.jsonl"

    def say(self, name: str, *texts: str, after: int = 0) -> None:
        """Add turns to a journal in one write."""
        turns: list[tuple[Turn, datetime, dict[str, Any]]] = [
            (Turn("user" if place % 2 == 0 else "assistant", text), START + timedelta(minutes=after + place), {})
            for place, text in enumerate(texts)
        ]
        Journal(self.sessions, name, {"cwd": f"/work/{name[:1]}"}).extend(turns)

    def catch_up(self) -> None:
        assert Indexer(self.feed, self.directory, self.embedder).catch_up()

    def open(self) -> IndexSnapshot:
        return IndexSnapshot(self.feed, self.directory, self.embedder)

    def with_word(self, word: str) -> list[tuple[str, int]]:
        """Return the turns that the index finds by a word: conversation and number."""
        snapshot = self.open()
        rows, _ = snapshot.words.find(terms(word), 10_000)
        hits = [hit for row in snapshot.valid(rows, frozenset()) if (hit := snapshot.hit(row))]
        snapshot.close()
        return sorted((hit.conversation, hit.turn) for hit in hits)

    def rebuilt(self) -> "Conversations":
        """Return the same journals with a new index."""
        new = Conversations(self.sessions.parent, self.embedder)
        new.directory = new.directory.with_name("new")
        shutil.rmtree(new.directory, ignore_errors=True)
        new.catch_up()
        return new


def contents_of(conversations: Conversations, words: Iterable[str] = ANIMALS) -> dict[str, object]:
    """Return everything an index contains, with journal names instead of internal numbers."""
    snapshot = conversations.open()
    columns = snapshot.columns
    alive = snapshot.valid(range(snapshot.rows), frozenset())

    def name(row: int) -> tuple[str, int] | None:
        known = snapshot.by_id.get(int(columns["conversation"][row])) if row != NONE else None
        return (known.name, int(columns["number"][row])) if known else None

    def found(index: WordIndex, term: str) -> list[tuple[str, int] | None]:
        return sorted(map(name, index.find([term], 100_000)[0]), key=str)

    def turn(row: int) -> tuple[object, ...]:
        plain = [int(columns[column][row]) for column in ("time", "position", "length", "role", "traits")]
        beside = [name(int(columns[column][row])) for column in ("before", "after", "block")]
        labels = (
            snapshot.channels.get(int(columns["channel"][row])),
            snapshot.speakers.get(int(columns["speaker"][row])),
        )
        near = float(snapshot.vectors.similarity(asked, np.array([row]))[0]) if snapshot.vectors else 0.0
        return *plain, *beside, *labels, near

    asked = conversations.embedder.embed(["heron otter"])[0] if conversations.embedder else np.zeros(0, np.float32)
    said = {
        "turns": {name(row): turn(row) for row in alive},
        "count": len(alive),
        "words": {term: found(snapshot.words, term) for word in words for term in terms(word)},
        "blocks": {term: found(snapshot.blocks, term) for word in words for term in terms(word)},
        "documents": (snapshot.words.size, snapshot.blocks.size),
        "conversations": sorted(
            (known.name, known.turns, known.first_time, known.last_time, known.unordered)
            for known in snapshot.conversations.values()
            if known.turns
        ),
    }
    snapshot.close()
    return said


@pytest.fixture
def top() -> Iterator[Path]:
    """Use a directory in memory if there is one: syncing does not matter here, and takes most of the time."""
    with TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None, ignore_cleanup_errors=True
    ) as directory:
        yield Path(directory)


@pytest.fixture
def conversations(top: Path) -> Conversations:
    return Conversations(top, Bag())


def check(conversations: Conversations) -> None:
    """Check that the index equals a new one."""
    assert contents_of(conversations) == contents_of(conversations.rebuilt())


def test_a_second_run_reads_only_what_was_added(conversations: Conversations, top: Path) -> None:
    """The rows of old turns stay where they are."""
    conversations.say("a", "a heron", "an otter")
    conversations.say("b", "a badger")
    conversations.catch_up()
    before = {name: conversations.open().columns["position"].tolist() for name in "ab"}
    conversations.say("a", "a lynx")
    conversations.catch_up()
    assert conversations.open().columns["position"].tolist()[:3] == before["a"][:3]
    assert conversations.open().rows == 4
    check(conversations)


def test_a_run_with_nothing_new_writes_nothing(conversations: Conversations) -> None:
    """Otherwise each search would cost a commit."""
    conversations.say("a", "a heron")
    conversations.catch_up()
    commits = conversations.open().catalogue.commits
    conversations.catch_up()
    assert conversations.open().catalogue.commits == commits


@pytest.mark.parametrize("steps", [[1, 1, BLOCK - 3, 1, 1, 1], [BLOCK, BLOCK, 1], [5, 2 * BLOCK, 3]])
def test_a_block_that_grows_replaces_its_old_version(conversations: Conversations, top: Path, steps: list[int]) -> None:
    """Otherwise it would be scored twice, and its words would look twice as common."""
    for number, count in enumerate(steps):
        conversations.say(
            "a", *[f"{ANIMALS[(number + place) % 5]} at the lake" for place in range(count)], after=number
        )
        conversations.say("b", "a marmot", after=number)
        conversations.catch_up()
    assert conversations.open().blocks.size == -(-sum(steps) // BLOCK) + -(-len(steps) // BLOCK)
    check(conversations)


def gone(conversations: Conversations) -> None:
    conversations.path("a").unlink()


def edited_to_the_same_size(conversations: Conversations) -> None:
    """Edit in place, with the same inode, and without the checksum, which editors do not know."""
    text = conversations.path("a").read_text(encoding="utf-8")
    conversations.path("a").write_text(text.replace("heron", "otter").replace(',"crc":', ',"old":'), encoding="utf-8")


def edited_to_be_longer(conversations: Conversations) -> None:
    lines = conversations.path("a").read_text(encoding="utf-8").splitlines()
    lines.insert(1, json.dumps({"n": 9, "ts": "2026-05-04T08:00:00Z", "role": "user", "content": "a lynx came first"}))
    conversations.path("a").write_text("\n".join(lines) + "\n", encoding="utf-8")


def purged(conversations: Conversations) -> None:
    def change(line: bytes) -> bytes:
        return b'{"n":1,"ts":"2026-05-04T09:00:00Z","role":"user","content":"[purged]"}\n' if b"heron" in line else line

    assert LineFile(conversations.path("a")).rewrite(change)


def cut(conversations: Conversations) -> None:
    os.truncate(conversations.path("a"), conversations.path("a").read_bytes().index(b"otter") - 40)


def emptied(conversations: Conversations) -> None:
    os.truncate(conversations.path("a"), 0)


def copied_over(conversations: Conversations) -> None:
    shutil.copyfile(conversations.path("b"), conversations.path("a"))


def replaced_by_one_that_is_longer(conversations: Conversations) -> None:
    conversations.path("a").unlink()
    conversations.say("a", *[f"a marmot {place}" for place in range(40)])


CHANGES = [
    *(gone, edited_to_the_same_size, edited_to_be_longer, purged, cut, emptied, copied_over),
    replaced_by_one_that_is_longer,
]


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__ for change in CHANGES])
@pytest.mark.proves("X6", "N9")
def test_the_index_follows_every_change_of_a_journal(
    conversations: Conversations, top: Path, change: Callable[[Conversations], None]
) -> None:
    """Old text is no longer found, new text is found once, and everything else stays."""
    conversations.say("a", "a heron at the lake", "an otter in the river", "a badger")
    conversations.say("b", "a heron", "a lynx")
    conversations.catch_up()
    change(conversations)
    conversations.catch_up()
    check(conversations)
    conversations.say("a", "one more otter", after=90)
    conversations.catch_up()
    assert (
        "a",
        max(number for name, number in conversations.with_word("otter") if name == "a"),
    ) in conversations.with_word("more")


@pytest.mark.proves("X6")
def test_deleted_turns_do_not_crowd_out_similar_ones(top: Path) -> None:
    """Deleted rows stay in the index files.

    If enough of them fill the candidate list, nothing else is found by meaning.
    """
    conversations = Conversations(top, Bag())
    conversations.say("a", *["heron"] * 20, after=60)
    conversations.say("b", "heron otter", "lynx", "marmot")
    conversations.catch_up()
    conversations.path("a").unlink()
    conversations.catch_up()

    snapshot = conversations.open()
    assert snapshot.vectors
    near = snapshot.vectors.nearest(Bag().embed(["heron"])[0], 3, snapshot.best)
    found = [snapshot.hit(int(row)) for row in near]
    snapshot.close()
    assert [hit and hit.text for hit in found] == ["heron otter", "marmot", "lynx"]


def test_many_equal_turns_do_not_hide_a_better_match(top: Path) -> None:
    """For example a shell history with thousands of equal lines; the best match comes after them."""
    conversations = Conversations(top, Bag())
    vectors = Vectors(conversations.directory, Bag())
    vectors.write(0, [pack(Bag().embed(["heron lynx"] * (2 * EXACT) + ["heron"]))])
    vectors.map_rows(2 * EXACT + 1)

    near = vectors.nearest(Bag().embed(["heron"])[0], 1, lambda rows, scores, limit: np.argsort(-scores)[:limit])
    assert near.tolist() == [2 * EXACT]


def test_a_journal_that_was_moved_away_and_back_is_found_again(conversations: Conversations, top: Path) -> None:
    """It comes back with the same inode, size and time."""
    conversations.say("a", "a heron")
    conversations.say("b", "an otter")
    conversations.catch_up()
    conversations.path("a").rename(top / "away")
    conversations.catch_up()
    assert conversations.with_word("heron") == []
    (top / "away").rename(conversations.path("a"))
    conversations.catch_up()
    assert conversations.with_word("heron") == [("a", 1)]
    check(conversations)


def test_a_partial_line_is_indexed_when_it_is_complete(conversations: Conversations, top: Path) -> None:
    """A partial line is never indexed; a complete line without a newline, as some editors leave it, is."""
    conversations.say("a", "a heron")
    line = b'{"n":2,"ts":"2026-05-04T10:00:00Z","role":"user","content":"an otter"}'
    whole = conversations.path("a").read_bytes()
    for part, found in ((line[:30], []), (line, [("a", 2)]), (line + b"\n", [("a", 2)])):
        with conversations.path("a").open("r+b") as file:
            file.write(whole + part)
        conversations.catch_up()
        assert conversations.with_word("otter") == found
    conversations.say("a", "a badger", after=80)
    conversations.catch_up()
    assert (conversations.with_word("otter"), conversations.with_word("badger")) == ([("a", 2)], [("a", 3)])


def test_a_torn_line_is_set_aside_by_the_next_writer_and_the_index_follows(
    conversations: Conversations, top: Path
) -> None:
    """The file gets shorter and longer in one step."""
    conversations.say("a", "a heron", "an otter")
    with conversations.path("a").open("ab") as file:
        file.write(b'{"n":3,"ts":"2026-05-04T10:00:00Z","role":"user","content":"a bad')
    conversations.catch_up()
    conversations.say("a", "a lynx", after=30)
    conversations.catch_up()
    assert conversations.with_word("lynx") == [("a", 3)]
    check(conversations)


def shorter_column(directory: Path) -> None:
    os.truncate(directory / "time.column", 8)


def missing_column(directory: Path) -> None:
    (directory / "block.column").unlink()


def zeros_at_the_end(directory: Path) -> None:
    size = (directory / "length.column").stat().st_size
    os.truncate(directory / "length.column", size - 4)
    os.truncate(directory / "length.column", size)


def shorter_vectors(directory: Path) -> None:
    os.truncate(max(directory.glob("toy.*"), key=lambda path: path.stat().st_size), 10)


def no_vectors(directory: Path) -> None:
    min(directory.glob("toy.*"), key=lambda path: path.name).unlink()


def no_words(directory: Path) -> None:
    shutil.rmtree(directory / "words")


def no_blocks(directory: Path) -> None:
    shutil.rmtree(directory / "blocks")


def a_part_of_the_words_lost(directory: Path) -> None:
    next((directory / "words").glob("*.term")).unlink()


def a_part_of_the_words_cut(directory: Path) -> None:
    os.truncate(next((directory / "blocks").glob("*.idx")), 3)


def restore_old_words(directory: Path) -> None:
    """Restore an older word index, as from a backup: complete, but without the latest turns."""
    shutil.rmtree(directory / "words")
    shutil.copytree(directory / "blocks", directory / "words")


def garbage_for_a_catalogue(directory: Path) -> None:
    (directory / "catalogue.db").write_bytes(b"not a catalogue" * 1000)


def an_empty_catalogue(directory: Path) -> None:
    (directory / "catalogue.db").write_bytes(b"")


def no_catalogue(directory: Path) -> None:
    (directory / "catalogue.db").unlink()


def another_format(directory: Path) -> None:
    note(directory, "format", "999")


def odd_facts(directory: Path) -> None:
    note(directory, "rows", "many")


def note(directory: Path, name: str, value: str) -> None:
    catalogue = Catalogue(directory / "catalogue.db", writable=True)
    with catalogue.transaction():
        catalogue.set_fact(name, value)
    catalogue.close()


REMAINS = [
    *(shorter_column, missing_column, zeros_at_the_end, shorter_vectors, no_vectors, no_words, no_blocks),
    *(a_part_of_the_words_lost, a_part_of_the_words_cut, restore_old_words, garbage_for_a_catalogue),
    *(an_empty_catalogue, no_catalogue, another_format, odd_facts),
]


@pytest.mark.parametrize("damage", REMAINS, ids=[damage.__name__ for damage in REMAINS])
@pytest.mark.proves("X6")
def test_a_partial_index_is_rebuilt(conversations: Conversations, top: Path, damage: Callable[[Path], None]) -> None:
    """A power cut, a backup or a cleaner may leave any part of it; then it is rebuilt from the journals."""
    conversations.say("a", "a heron", "an otter", "a badger")
    conversations.say("b", *["a lynx in the hills"] * 30)
    conversations.catch_up()
    damage(conversations.directory)
    conversations.catch_up()
    check(conversations)


@pytest.mark.parametrize("embedder", [None, Bag("other")], ids=["no embedder", "another embedder"])
@pytest.mark.proves("X6")
def test_another_or_no_embedder_does_not_rebuild_the_index(top: Path, embedder: Embedder | None) -> None:
    """Otherwise two shells with different settings would rebuild it in turns; missing vectors are added."""
    first, second = Conversations(top, Bag()), Conversations(top, embedder)
    first.say("a", "a heron", "an otter")
    first.catch_up()
    made = (first.directory / "catalogue.db").stat().st_ino
    second.say("a", "a badger")
    second.say("b", "a lynx")
    second.catch_up()
    check(second)
    assert first.open().vector_rows == 2
    first.catch_up()
    check(first)
    assert first.open().vector_rows == 4
    assert (first.directory / "catalogue.db").stat().st_ino == made


def test_damaged_vectors_are_rebuilt_and_the_words_stay(top: Path) -> None:
    """Indexing years of words takes minutes; meanwhile a search uses the words."""
    conversations = Conversations(top, Bag())
    conversations.say("a", "a heron", "an otter")
    conversations.catch_up()
    made = (conversations.directory / "catalogue.db").stat().st_ino
    shorter_vectors(conversations.directory)
    assert conversations.with_word("otter") == [("a", 2)]
    assert conversations.open().vector_rows == 0
    conversations.catch_up()
    check(conversations)
    assert conversations.open().vector_rows == 2
    assert (conversations.directory / "catalogue.db").stat().st_ino == made


class Purging(Bag):
    """An embedder during whose work a purge deletes the index."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory

    def embed(self, texts: Sequence[str]) -> Floats:
        delete_index(self.directory)
        return super().embed(texts)


@pytest.mark.parametrize("indexed", [False, True], ids=["with the words", "after the words"])
@pytest.mark.proves("M61")
def test_an_index_deleted_while_it_is_written_stays_deleted(top: Path, indexed: bool) -> None:
    """The indexer has already read the purged text, and its vector would reveal it."""
    conversations = Conversations(top)
    conversations.say("a", "a heron", "an otter")
    if indexed:
        conversations.catch_up()
    with pytest.raises(StoreTrouble, match="deleted in the meantime"):
        Indexer(conversations.feed, conversations.directory, Purging(conversations.directory)).catch_up()
    assert [path.name for path in conversations.directory.iterdir()] == ["lock"]


@pytest.mark.proves("M61")
def test_a_partly_deleted_index_is_no_longer_used(conversations: Conversations) -> None:
    """A running indexer sees from the missing catalogue that it must delete what it has written."""
    conversations.say("a", "a heron")
    conversations.catch_up()
    for letter in "abcdefghijklmnop":
        (conversations.directory / (letter * 250)).mkdir()  # blocks the rename that precedes the deletion
    with pytest.raises(OSError, match="too long"):
        delete_index(conversations.directory)
    assert not (conversations.directory / "catalogue.db").exists()


@pytest.mark.proves("M61")
def test_the_writer_of_a_deleted_index_does_not_touch_its_successor(top: Path) -> None:
    """Deleting the index also deletes the lock, so the next indexer starts while the last one still runs."""
    conversations = Conversations(top, Bag())
    conversations.say("a", "a heron", "an otter")

    class Replacing(Bag):
        """An embedder during whose work the index is deleted and rebuilt."""

        def embed(self, texts: Sequence[str]) -> Floats:
            conversations.directory.rename(top / "gone")  # atomic: the writer may add files
            conversations.say("b", "a badger", "a lynx", "a marmot")
            conversations.catch_up()
            return super().embed(texts)

    with pytest.raises(StoreTrouble, match="deleted in the meantime"):
        Indexer(conversations.feed, conversations.directory, Replacing()).catch_up()
    check(conversations)


def test_turns_without_any_word_can_be_indexed_and_searched(top: Path) -> None:
    """A journal may begin with one, and a search by meaning compares it."""
    conversations = Conversations(top, Bag())
    conversations.say("a", "!!!", "???")
    conversations.catch_up()
    finder = ConversationFinder(conversations.feed, conversations.directory, Bag, now=lambda: START)
    assert finder.search("otter -heron").hits == ()
    assert [hit.text for hit in finder.search("otter !!!").hits] == ["!!!"]


def test_the_first_turn_is_found_by_the_title_of_its_conversation_too(top: Path) -> None:
    """Other programs give titles with words that no turn may contain."""
    conversations = Conversations(top, Bag())
    Journal(conversations.sessions, "a", {"title": "Marmots of the Alps"}).add(Turn("user", "where are they?"), START)
    conversations.catch_up()
    conversations.say("a", "in the hills")
    conversations.catch_up()
    assert conversations.with_word("marmot") == [("a", 1)]
    assert contents_of(conversations, ["marmot"])["blocks"] == {"marmot": [("a", 1)]}
    check(conversations)


def test_word_rows_beyond_the_catalogue_are_ignored(conversations: Conversations, top: Path) -> None:
    """A kill between the two commits leaves such rows; the next run reuses their numbers for other turns."""
    conversations.say("a", "a heron")
    conversations.catch_up()
    kept = (conversations.directory / "catalogue.db").read_bytes()
    conversations.say("a", "an otter", "a badger")
    conversations.catch_up()
    (conversations.directory / "catalogue.db").write_bytes(kept)
    note(conversations.directory, "busy", "1")
    conversations.say("b", "a lynx", "a marmot")
    conversations.catch_up()
    check(conversations)


SYNCS = """
import os, sys
from pathlib import Path

def logged(name, call):
    def step(fd, *arguments):
        print(name, Path(f"/proc/self/fd/{fd}").readlink().name)
        return call(fd, *arguments)
    return step

os.pwrite, os.fdatasync = logged("write", os.pwrite), logged("sync", os.fdatasync)  # before the product loads them

from test_index import Bag, Conversations
from aish.memory.finding import catalogue

def set_fact(self, name, value, set_fact=catalogue.Catalogue.set_fact):
    print("count", name)
    set_fact(self, name, value)

catalogue.Catalogue.set_fact = set_fact
conversations = Conversations(Path(sys.argv[1]), Bag())
conversations.say("a", "a heron", "an otter")
conversations.catch_up()
"""
FAULTS = """
import os, resource, signal, sys
from pathlib import Path
from test_index import Bag, Conversations, prepare
from aish.memory.finding import catalogue, word_index
from aish.values.errors import StoreTrouble

WRITES = {
    os: ["pwrite"],
    word_index.WordWriter: ["add", "commit", "close", "_delete"],
    catalogue.Catalogue: ["set_fact", "put", "label"],
}

def kill_at(left):
    def deadly(write):
        def step(*arguments, **named):
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return write(*arguments, **named)
        return step
    for kind, names in WRITES.items():
        for name in names:
            setattr(kind, name, deadly(getattr(kind, name)))

def limit(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def run(top, fault, place):
    conversations = Conversations(top, Bag())
    prepare(conversations)
    fault(place)
    try:
        conversations.catch_up()
        return "whole"
    except StoreTrouble as error:
        return str(error)

fault = {"kill": kill_at, "full": limit}[sys.argv[2]]
for place in map(int, sys.argv[3:]):
    child = os.fork()
    if not child:
        print(place, run(Path(sys.argv[1]) / str(place), fault, place), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] == signal.SIGKILL:
        print(place, "killed", flush=True)
"""


def prepare(conversations: Conversations) -> None:
    """Make an index that is behind in every way: more turns, a new journal, a deleted journal."""
    conversations.say("a", "a heron", "an otter")
    conversations.say("b", *["a badger"] * 30)
    conversations.say("d", "a marmot that will be gone")
    conversations.catch_up()
    conversations.say("a", "a lynx", after=20)
    conversations.say("b", *[f"an otter and number {number}" for number in range(100)], after=50)
    conversations.say("c", "a new heron")
    conversations.path("d").unlink()


def fail(top: Path, fault: str, places: Iterable[int]) -> dict[int, str]:
    """Inject a fault at each place, each into a separate indexer, and return the results."""
    said = run_child(FAULTS, str(top), fault, *map(str, places))
    return {int(line.split(" ")[0]): line.partition(" ")[2] for line in said.splitlines()}


def run_child(program: str, *arguments: str) -> str:
    """Run a program that can import this module, and return its output."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.proves("N9", "X6")
def test_an_indexer_killed_at_any_step_duplicates_and_loses_nothing(top: Path) -> None:
    """Killed before a write to any of its files; a sample of all places."""
    came = fail(top, "kill", [2, *range(108, 149, 8)])
    assert set(came.values()) == {"killed"}, came
    for place in came:
        conversations = Conversations(top / str(place), Bag())
        conversations.say("c", "and a badger", after=5)
        conversations.catch_up()
        assert contents_of(conversations) == contents_of(conversations.rebuilt()), place


def test_every_file_is_synced_before_the_catalogue_counts_its_rows(top: Path) -> None:
    """In another order, a power cut could leave rows that are counted but missing."""
    lines = run_child(SYNCS, str(top)).splitlines()
    before = lines[: lines.index("count rows")]
    last = {tuple(line.split()): place for place, line in enumerate(before)}
    written = {name for kind, name in last if kind == "write"}

    assert written > {f"{name}.column" for name in COLUMNS}
    assert all(last.get(("sync", name), -1) > last["write", name] for name in written)


@pytest.mark.proves("N14")
def test_a_full_disk_is_reported_and_nothing_is_lost(top: Path) -> None:
    """Each size fails at another file of the index."""
    for place, said in fail(top, "full", [0, 500, 30_000]).items():
        conversations = Conversations(top / str(place), Bag())
        assert said.startswith(f"cannot write the index in {conversations.directory}: "), (place, said)
        conversations.catch_up()
        assert contents_of(conversations) == contents_of(conversations.rebuilt()), place


@pytest.mark.proves("N9")
def test_a_journal_restored_after_a_kill_is_found(conversations: Conversations, top: Path) -> None:
    """Its rows were released, but its removal was not recorded yet."""
    conversations.say("a", "a heron")
    conversations.say("b", "an otter")
    conversations.catch_up()
    conversations.path("a").rename(top / "away")
    columns = Columns(conversations.directory)
    with pytest.raises(KeyboardInterrupt):
        Indexer(conversations.feed, conversations.directory, conversations.embedder).catch_up(_interrupt)
    (top / "away").rename(conversations.path("a"))
    columns.map_rows(2)
    assert NONE in columns["conversation"].tolist()
    conversations.catch_up()
    assert conversations.with_word("heron") == [("a", 1)]
    check(conversations)


def _interrupt(done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_a_stopped_run_keeps_its_work_and_the_next_continues(conversations: Conversations, top: Path) -> None:
    """The user at the prompt does not wait for the index."""
    for name in "abcd":
        conversations.say(name, "a heron", "an otter")
    asked = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 2

    Indexer(conversations.feed, conversations.directory, conversations.embedder).catch_up(stop=stop)
    assert conversations.with_word("heron") == [("c", 1), ("d", 1)]  # newest first
    conversations.catch_up()
    check(conversations)


def test_progress_ends_at_the_total(conversations: Conversations) -> None:
    """It never decreases."""
    conversations.say("a", "a heron")
    conversations.say("b", "an otter")
    steps: list[tuple[int, int]] = []
    Indexer(conversations.feed, conversations.directory).catch_up(lambda done, total: steps.append((done, total)))
    size = sum(path.stat().st_size for path in conversations.sessions.iterdir())
    assert steps == sorted(steps)
    assert steps[-1] == (size, size)


def test_an_indexer_leaves_a_locked_index_alone(conversations: Conversations) -> None:
    """One process writes at a time, and others do not wait."""
    conversations.say("a", "a heron")
    conversations.directory.mkdir()
    with (conversations.directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not Indexer(conversations.feed, conversations.directory).catch_up()
    conversations.catch_up()


@pytest.mark.proves("N14")
def test_an_index_that_cannot_be_written_is_reported(conversations: Conversations) -> None:
    """The message has the directory and the reason."""
    conversations.say("a", "a heron")
    conversations.directory.write_text("a file in its place", encoding="utf-8")
    with pytest.raises(StoreTrouble, match=f"cannot write the index in {conversations.directory}: "):
        conversations.catch_up()


@pytest.mark.proves("N14")
def test_an_unreadable_journal_is_reported_and_the_others_are_found(conversations: Conversations) -> None:
    """A directory stands for a file without read permission, which root could read."""
    conversations.say("a", "a heron")
    conversations.path("b").mkdir()
    with pytest.raises(StoreTrouble, match=r"cannot read .*b\.jsonl: Is a directory; what was said there is not found"):
        conversations.catch_up()
    assert conversations.with_word("heron") == [("a", 1)]


@pytest.mark.proves("N14")
def test_a_directory_that_cannot_be_read_is_not_an_empty_one(conversations: Conversations, top: Path) -> None:
    """Otherwise all journals would be treated as deleted."""
    conversations.say("a", "a heron")
    conversations.catch_up()
    conversations.sessions.rename(top / "away")
    conversations.sessions.write_text("a file in its place", encoding="utf-8")
    with pytest.raises(StoreTrouble, match=r"cannot read .*sessions: Not a directory"):
        conversations.catch_up()
    conversations.sessions.unlink()
    (top / "away").rename(conversations.sessions)
    commits = conversations.open().catalogue.commits
    conversations.catch_up()
    assert conversations.open().catalogue.commits == commits
    assert conversations.with_word("heron") == [("a", 1)]


ODD: tuple[dict[str, Any], ...] = (
    {"n": -(10**12)},
    {"n": 10**18},
    {"n": 0},
    {"n": 1},
    {"ts": "soon"},
    {"ts": "0001-01-01T00:00:00Z"},
    {"ts": "9999-12-31T23:59:59.999Z"},
    {"content": "half \ud800 an otter"},
    {"name": "half \udc00 a name"},
    {"name": 7},
    {"content": ["an otter"]},
    {"tool_calls": [{"name": "otter", "arguments": "{"}]},
    {"content": ""},
    {"content": "otter " * 200_000},
)


def test_no_line_blocks_the_others(conversations: Conversations) -> None:
    """Journals may be edited by hand; a strange line is not found, but blocks no other."""
    conversations.say("a", "a heron")
    with conversations.path("a").open("a", encoding="utf-8") as file:
        for odd in ODD:
            record = {"n": 2, "ts": "2026-05-04T10:00:00Z", "role": "user", "content": "an otter", **odd}
            file.write(json.dumps(record) + "\nrubbish\n\n[]\n")
    conversations.say("b", "a badger")
    conversations.catch_up()
    assert conversations.with_word("heron") + conversations.with_word("badger") == [("a", 1), ("b", 1)]
    assert len(conversations.with_word("otter")) == len(ODD) - 1  # one has no text
    assert contents_of(conversations)["count"] == len(ODD) + 1


def test_an_entry_that_is_no_file_blocks_no_other(conversations: Conversations) -> None:
    """A link to itself cannot even be checked for existence, and opening a pipe blocks."""
    conversations.say("a", "a heron")
    conversations.path("b").symlink_to("b.jsonl")
    conversations.path("c").symlink_to("a.jsonl/c.jsonl")
    conversations.path("d").symlink_to("d")
    os.mkfifo(conversations.path("e"))
    conversations.catch_up()
    assert conversations.with_word("heron") == [("a", 1)]


def test_a_name_with_invalid_bytes_blocks_no_other(conversations: Conversations) -> None:
    """aish writes no such names, and they cannot be displayed."""
    conversations.say("a", "a heron")
    os.link(conversations.path("a"), os.fsencode(conversations.sessions) + b"/b\xff.jsonl")
    conversations.catch_up()
    assert conversations.with_word("heron") == [("a", 1)]


def test_many_small_journals_are_one_index(top: Path) -> None:
    """Most conversations have one question."""
    conversations = Conversations(top)
    for number in range(400):
        conversations.sessions.mkdir(exist_ok=True)
        line = {"n": 1, "ts": "2026-05-04T10:00:00Z", "role": "user", "content": f"the {ANIMALS[number % 5]}"}
        conversations.path(f"j{number:03}").write_text(json.dumps(line) + "\n", encoding="utf-8")
    conversations.catch_up()
    assert len(conversations.with_word("heron")) == 80
    check(conversations)


def test_a_journal_longer_than_a_batch_is_complete(top: Path) -> None:
    """Blocks and neighbours continue across the commits in between."""
    conversations = Conversations(top)
    conversations.sessions.mkdir()
    with conversations.path("a").open("w", encoding="utf-8") as file:
        for number in range(1, 10_031):
            text = f"{ANIMALS[number % 5]} {number}"
            file.write(f'{{"n":{number},"ts":"2026-05-04T10:00:00Z","role":"user","content":"{text}"}}\n')
    conversations.catch_up()
    snapshot = conversations.open()
    assert snapshot.catalogue.commits == 2
    assert (snapshot.rows, snapshot.words.size, snapshot.blocks.size) == (10_030, 10_030, -(-10_030 // BLOCK))
    assert snapshot.columns["before"].tolist() == list(range(-1, 10_029))
    assert snapshot.columns["after"].tolist() == [*range(1, 10_030), NONE]
    assert snapshot.columns["block"].tolist() == [row - row % BLOCK for row in range(10_030)]
    snapshot.close()


def test_long_turns_are_committed_before_they_fill_the_memory(top: Path) -> None:
    """A batch is bounded by its characters too: ten thousand long turns would take hundreds of megabytes."""
    conversations = Conversations(top, Bag())
    conversations.say("a", *(f"{ANIMALS[number % 5]} {'reed ' * 6_000}" for number in range(300)))
    conversations.catch_up()
    snapshot = conversations.open()
    assert snapshot.catalogue.commits == 3  # of nine million characters
    assert (snapshot.rows, snapshot.vector_rows, snapshot.words.size) == (300, 300, 300)
    assert snapshot.columns["after"].tolist() == [*range(1, 300), NONE]
    snapshot.close()
    check(conversations)


class Changes(RuleBasedStateMachine):
    """Random changes to journals in any order, with the index updated at any moment."""

    names = st.sampled_from(["a", "b", "c"])
    texts = st.lists(st.sampled_from(ANIMALS).map(lambda animal: f"{animal} again"), min_size=1, max_size=BLOCK + 2)

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(os.environ["CONVERSATIONS_TOP"]) / os.urandom(6).hex()
        self.conversations = Conversations(self.top, Bag())
        self.conversations.say("z", "a heron that stays")

    @rule(name=names, texts=texts, minutes=st.integers(0, 100))
    def said(self, name: str, texts: list[str], minutes: int) -> None:
        self.conversations.say(name, *texts, after=minutes)

    @rule(name=names)
    def deleted(self, name: str) -> None:
        self.conversations.path(name).unlink(missing_ok=True)

    @rule(name=names, old=st.sampled_from(ANIMALS), new=st.sampled_from(ANIMALS))
    def edited(self, name: str, old: str, new: str) -> None:
        if self.conversations.path(name).exists():
            text = self.conversations.path(name).read_text(encoding="utf-8").replace(',"crc":', ',"old":')
            self.conversations.path(name).write_text(text.replace(old, new), encoding="utf-8")

    @rule(name=names, size=st.integers(0, 2_000))
    def cut(self, name: str, size: int) -> None:
        if self.conversations.path(name).exists() and self.conversations.path(name).stat().st_size > size:
            os.truncate(self.conversations.path(name), size)

    @rule()
    def caught_up(self) -> None:
        self.conversations.catch_up()
        check(self.conversations)

    def teardown(self) -> None:
        self.caught_up()
        shutil.rmtree(self.top)


@pytest.mark.proves("X6", "N9")
def test_after_any_changes_the_index_equals_a_new_one(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns, words, blocks, neighbours and vectors."""
    monkeypatch.setenv("CONVERSATIONS_TOP", str(top))
    run_state_machine_as_test(
        Changes,
        settings=settings(
            max_examples=5, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.proves("N1", "N2", "N9")
def test_killed_shells_importers_indexers_and_readers_lose_and_duplicate_nothing() -> None:
    """A short version of what `make faults` runs."""
    command = [sys.executable, str(TOOLS / "faults.py"), "index-kill", "--rounds", "10", "--seconds", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert re.fullmatch(r"index-kill +1 rounds +\d+ acknowledged +0 problems\n", done.stdout), done.stdout + done.stderr


def test_the_fault_tool_detects_losses_and_duplicates(top: Path) -> None:
    """Otherwise the test above proves nothing."""
    fault_index = import_module("fault_index")
    home, acks = top / "home", top / "acks"
    conversations = Conversations(home)
    conversations.say("a", "w1x1 was said here", "w1x2 was said here")
    fault_index.acknowledge(acks, ["w1x1", "w1x2"])
    assert list(fault_index.judge(home, acks)) == []
    fault_index.acknowledge(acks, ["w1x3"])
    shutil.copyfile(conversations.path("a"), conversations.path("b"))
    found = set(fault_index.judge(home, acks))
    for when in ("at once", "indexed"):
        assert {f"{when}: w1x3 is found 0 times", f"{when}: w1x1 is 2 times among the recent turns"} <= found


def test_a_dropped_catalogue_closes_its_connection(tmp_path: Path) -> None:
    """The index of a search is dropped when a newer one is read."""
    catalogue = Catalogue(tmp_path / "catalogue.db", writable=True)
    connection = catalogue._db

    del catalogue

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("select 1")


def test_a_catalogue_that_cannot_be_opened_raises_one_error(tmp_path: Path) -> None:
    """There is no connection to close then."""
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        Catalogue(tmp_path / "missing.db")
