"""The finder: a turn is found from the moment it is written, exactly once, with any index or without one."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aish.memory.finding.bounds import combine_bounds
from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer, delete_index
from aish.memory.finding.query import Query
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.memory.purge import Eraser
from aish.values.hits import Hit, Scope
from aish.values.turns import Turn

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
TALK = (
    "where do herons nest in winter",
    "in reed beds by the lake, and in old willows",
    "and when do the otters come down the river",
    "after the thaw, with the first floods",
    "remind me to buy oats for the badger",
    "the garden gate needs a new hinge",
)


class Library:
    """Conversations with their index, and finders for them."""

    def __init__(self, top: Path) -> None:
        self.sessions, self.directory = top / "sessions", top / "index"

    def say(self, name: str, *texts: str, at: datetime = NOW) -> None:
        turns: list[tuple[Turn, datetime, dict[str, Any]]] = [
            (Turn("user" if place % 2 == 0 else "assistant", text), at + timedelta(seconds=place), {})
            for place, text in enumerate(texts)
        ]
        Journal(self.sessions, name, {"cwd": f"/home/me/{name[:1]}"}).extend(turns)

    def finder(self) -> ConversationFinder:
        return ConversationFinder(JournalFeed(self.sessions), self.directory, now=lambda: NOW)

    def index(self) -> None:
        assert Indexer(JournalFeed(self.sessions), self.directory).catch_up()

    def fill(self) -> None:
        for day in range(7):  # fewer turns than a finder indexes on its own
            self.say(f"{'abcd'[day % 4]}{day}", *TALK[day % 3 :], *TALK[: day % 5], at=NOW - timedelta(days=day))


@pytest.fixture
def library() -> Iterator[Library]:
    """Use a directory in memory if there is one: syncing does not matter here, and takes most of the time."""
    with TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None, ignore_cleanup_errors=True
    ) as directory:
        yield Library(Path(directory))


def with_word(finder: ConversationFinder, word: str) -> list[tuple[str, int]]:
    """Return the hits of a search that contain the word."""
    hits = finder.search(word, 100).hits
    return [(hit.conversation, hit.turn) for hit in hits if word in hit.text]


def places(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.conversation, hit.turn) for hit in hits]


@pytest.mark.proves("N1")
@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_a_turn_is_found_the_moment_it_is_written(library: Library, indexed: bool) -> None:
    """In an existing and in a new conversation, by a finder that has just looked, without waiting or indexing."""
    library.say("a1", "a heron")
    if indexed:
        library.index()
    finder = library.finder()
    for number in range(2, 12):
        assert with_word(finder, f"otter{number}") == []
        library.say("a1", f"otter{number} and friends")
        library.say(f"b{number}", f"badger{number} alone")
        assert with_word(finder, f"otter{number}") == [("a1", number)]
        assert with_word(finder, f"badger{number}") == [(f"b{number}", 1)]
        assert places(finder.recent(1)) == [("a1", number)] or places(finder.recent(1)) == [(f"b{number}", 1)]
        assert places(finder.thread("a1"))[-1] == ("a1", number)


@pytest.mark.proves("N1", "N9")
def test_a_turn_is_found_once_before_while_and_after_it_is_indexed(library: Library) -> None:
    """By a finder that stays open and searches right after each change."""
    library.say("a1", "a heron")
    library.index()
    finder = library.finder()
    for number in range(2, 7):
        library.say("a1", f"otter{number}")
        library.say(f"b{number}", f"otter{number}")
        os.utime(library.sessions, (1, 1))  # an old time, or the finder would reread the directory because of it
        before = with_word(finder, f"otter{number}"), len(finder.recent(100)), len(finder.thread("a1"))
        library.index()
        after = with_word(finder, f"otter{number}"), len(finder.recent(100)), len(finder.thread("a1"))
        assert sorted(before[0]) == sorted(after[0]) == [("a1", number), (f"b{number}", 1)]
        assert before[1:] == after[1:] == (2 * number - 1, number)


@pytest.mark.proves("X6")
def test_deleting_the_index_changes_no_answer(library: Library) -> None:
    """Answers and order are the same without an index, with a new one, and with one that grew turn by turn."""
    for name, text in (("a1", TALK[0]), ("b2", TALK[2]), ("a1", TALK[1])):
        library.say(name, text)
        library.index()
    library.fill()
    library.index()
    asked = ("heron nest", "otters river", "garden gate hinge", "what did I want to buy", '"old willows"')

    def answers() -> list[list[tuple[str, int]]]:
        finder = library.finder()
        found = [places(list(finder.search(text, 10).hits)) for text in asked]
        return [*found, places(finder.recent(100)), places(finder.thread("a1"))]

    grown = answers()
    shutil.rmtree(library.directory)
    library.index()
    assert answers() == grown
    assert all(grown)


@pytest.mark.proves("X6")
def test_equally_good_turns_are_ordered_the_same_in_any_index(library: Library) -> None:
    """There are more such turns than are ranked: the selection must not depend on the order of indexing."""
    places_known = list[list[tuple[str, int]]]()
    for first in ("a", "b"):
        shutil.rmtree(library.sessions, ignore_errors=True)
        shutil.rmtree(library.directory, ignore_errors=True)
        for name in (first, "b" if first == "a" else "a"):
            for number in range(10):
                at = NOW - timedelta(days=number, minutes=30 if name == "b" else 0)
                library.say(f"{name}{number}", *(f"the heron came on day {day:03}" for day in range(30)), at=at)
            library.index()
        places_known.append(places(list(library.finder().search("heron", 20).hits)))
    assert places_known[0] == places_known[1]
    assert len(places_known[0]) == 20


@pytest.mark.proves("X6")
def test_a_turn_not_indexed_yet_is_ranked_like_an_indexed_one(library: Library) -> None:
    """Words that are rare among turns are common among conversations that contain everything."""
    for day in range(1, 21):
        talk = (f"{TALK[place % 6]}, on walk {day}" for place in range(20))
        library.say(f"a{day:02}", *talk, at=NOW - timedelta(days=day))
    library.index()
    library.say("b", "is there a ferry on Sundays", "there is", "and the otters by the river", "after the thaw")

    def scores() -> dict[tuple[str, int], float]:
        return {(hit.conversation, hit.turn): hit.score for hit in library.finder().search("otters river", 20).hits}

    before = scores()
    library.index()
    after = scores()
    both = before.keys() & after.keys()
    assert ("b", 3) in both
    assert max(abs(before[turn] - after[turn]) for turn in both) < 0.5


@pytest.mark.proves("N8")
@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_a_search_with_only_an_exclusion_lists_the_newest_turns_without_it(library: Library, indexed: bool) -> None:
    """They used to include the excluded word."""
    library.say("a1", "a heron", "two otters", "the herons again", "a badger")
    if indexed:
        library.index()

    assert places(list(library.finder().search("-heron").hits)) == [("a1", 4), ("a1", 2)]


@pytest.mark.proves("N2")
def test_the_newest_turns_come_first_wherever_they_are(library: Library) -> None:
    """From all conversations, indexed or not, limited by number and by time."""
    library.fill()
    library.index()
    library.say("z9", "a marmot", "two of them", at=NOW + timedelta(hours=1))
    finder = library.finder()
    hits = finder.recent(1000)
    times = [hit.time for hit in hits]
    assert times == sorted(times, reverse=True)
    assert len(hits) == len(set(places(hits))) == sum(known(library).values())
    assert finder.recent(5) == hits[:5]
    since = NOW - timedelta(days=2)
    assert finder.recent(1000, Scope(since=since)) == [hit for hit in hits if hit.time >= since]
    until = NOW - timedelta(days=1)
    assert (
        finder.recent(3, Scope(until=until, role="user"))
        == [hit for hit in hits if hit.time < until and hit.role == "user"][:3]
    )


def known(library: Library) -> dict[str, int]:
    """Return the number of turns of each journal, counted from the file."""
    names = [path.stem for path in library.sessions.glob("*.jsonl")]
    return {name: sum(1 for _ in Journal(library.sessions, name).entries()) for name in names}


@pytest.mark.proves("N2")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    minutes=st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=6), min_size=1, max_size=4),
    indexed=st.integers(1, 4),
)
def test_turns_out_of_order_come_in_the_order_of_their_times(
    library: Library, minutes: list[list[int]], indexed: int
) -> None:
    """After a clock change, a partial import, or with many turns at one time, the order is by time."""
    shutil.rmtree(library.sessions, ignore_errors=True)
    delete_index(library.directory)
    for number, some in enumerate(minutes):
        journal = Journal(library.sessions, f"j{number}")
        journal.extend((Turn("user", f"at {minute}"), NOW + timedelta(minutes=minute), {}) for minute in some)
        if number + 1 == indexed:
            library.index()
    finder = library.finder()
    order = sorted(
        (-minute, -turn, f"j{number}")
        for number, some in enumerate(minutes)
        for turn, minute in enumerate(some, start=1)
    )
    assert places(finder.recent(100)) == [(name, -turn) for _, turn, name in order]
    late = [(name, -turn) for minute, turn, name in order if minute <= -3]
    assert places(finder.recent(100, Scope(since=NOW + timedelta(minutes=3)))) == late


@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_until_leaves_out_the_turn_of_that_moment(library: Library, indexed: bool) -> None:
    """Both a turn with the words and an answer that is only included as a neighbour."""
    library.say("a1", "where do herons nest in winter", "in reed beds by the lake", at=NOW - timedelta(days=1))
    if indexed:
        library.index()
    finder = library.finder()

    def found(until: timedelta) -> list[tuple[str, int]]:
        scope = Scope(until=NOW - timedelta(days=1) + until)
        return sorted(places(list(finder.search("herons", 10, scope).hits)))

    assert found(timedelta(0)) == []
    assert found(timedelta(milliseconds=1)) == [("a1", 1)]
    assert found(timedelta(seconds=1)) == [("a1", 1)]
    assert found(timedelta(seconds=1, milliseconds=1)) == [("a1", 1), ("a1", 2)]


@pytest.mark.proves("N2")
def test_a_reader_misses_no_conversation_that_grows_meanwhile(library: Library) -> None:
    """The index advances after the finder has looked at it and before it reads on."""
    library.fill()
    library.index()
    finder = library.finder()
    whole = places(finder.recent(1000))
    newest = finder._newest(combine_bounds(Query(), Scope()))
    for name in ("a0", "b1", "c2"):
        library.say(name, "and one more")
    library.index()
    assert places(list(newest)) == whole


@pytest.mark.proves("N14")
def test_an_unreadable_journal_is_reported_along_with_the_hits(library: Library) -> None:
    """It is not treated as empty. A directory stands for a file without read permission, which root could read."""
    library.say("a1", "a heron")
    (library.sessions / "b2.jsonl").mkdir()
    finder = library.finder()
    found = finder.search("heron")
    assert places(list(found.hits)) == [("a1", 1)]
    assert found.notes == (f"cannot read {library.sessions / 'b2.jsonl'}: Is a directory",)
    for number in range(60):
        library.say("c3", f"otter {number}")
    assert "b2.jsonl: Is a directory; what was said there is not found" in finder.catch_up(wait=True)
    assert len(with_word(finder, "otter")) == 60


@pytest.mark.proves("N14")
def test_conversations_that_cannot_be_listed_are_reported(library: Library) -> None:
    """They are found again once the directory can be read."""
    library.say("a1", "a heron")
    library.index()
    finder = library.finder()
    assert with_word(finder, "heron")
    away = library.sessions.with_name("away")
    library.sessions.rename(away)
    library.sessions.write_text("a file in its place", encoding="utf-8")
    assert finder.search("heron").notes == (f"cannot read {library.sessions}: Not a directory",)
    library.sessions.unlink()
    away.rename(library.sessions)
    assert with_word(finder, "heron") == [("a1", 1)]


def test_without_conversations_nothing_is_found_or_created(library: Library) -> None:
    """A search creates no files."""
    finder = library.finder()
    assert (finder.search("heron").hits, finder.recent(), finder.thread("a"), finder.days(NOW)) == ((), [], [], [])
    assert finder.catch_up() == ""
    assert list(library.sessions.parent.iterdir()) == []


def test_an_unusable_index_does_not_stop_a_search(library: Library) -> None:
    """Everything readable is searched; the next catch-up builds a new index."""
    library.fill()
    library.index()
    (library.directory / "catalogue.db").write_bytes(b"rubbish" * 999)
    assert with_word(library.finder(), "willows")
    shutil.rmtree(library.directory)
    library.directory.write_text("a file in its place", encoding="utf-8")
    finder = library.finder()
    assert with_word(finder, "willows")
    assert len(finder.recent(1000)) == sum(known(library).values())


@pytest.mark.parametrize("part", ["catalogue.db", "words", "blocks", "time.column", "all"])
def test_an_index_deleted_during_use_does_not_stop_a_search(library: Library, part: str) -> None:
    """It continues with its open files or with the journals, and picks up a new index."""
    library.fill()
    library.index()
    finder = library.finder()
    before = places(finder.recent(1000)), sorted(with_word(finder, "willows"))
    path = library.directory / part if part != "all" else library.directory
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert (places(finder.recent(1000)), sorted(with_word(finder, "willows"))) == before
    library.index()
    library.say("a1", "more willows", at=NOW - timedelta(days=30))
    assert (places(finder.recent(1000))[:-1], len(with_word(finder, "willows"))) == (before[0], len(before[1]) + 1)


def test_deleted_or_edited_turns_are_not_found_by_an_open_finder(library: Library) -> None:
    """Before and after the index follows the change."""
    library.say("a1", "a heron", "an otter")
    library.say("b2", "a heron")
    library.index()
    finder = library.finder()
    assert len(with_word(finder, "heron")) == 2
    (library.sessions / "b2.jsonl").unlink()
    text = (library.sessions / "a1.jsonl").read_text(encoding="utf-8").replace(',"crc":', ',"old":')
    (library.sessions / "a1.jsonl").write_text(text.replace("otter", "heron"), encoding="utf-8")
    for _ in range(2):
        assert sorted(with_word(finder, "heron")) == [("a1", 1), ("a1", 2)]
        assert with_word(finder, "otter") == []
        assert places(finder.recent()) == [("a1", 2), ("a1", 1)]
        library.index()


def test_long_turns_are_found_when_the_index_has_caught_up(library: Library) -> None:
    """There is more text than one search reads: a note says so, however often one asks; then it is indexed."""
    library.say("a1", *[f"otter{number} {'reeds ' * 170_000}" for number in range(6)])
    library.directory.write_text("a file in its place, so that nothing is indexed meanwhile", encoding="utf-8")
    finder = library.finder()
    for _ in range(2):
        found = finder.search("otter0")
        assert "2.0 MB are not indexed yet" in found.notes[-1]
    library.directory.unlink()
    assert finder.catch_up(wait=True) == ""
    assert with_word(finder, "otter0") == [("a1", 1)]
    assert finder.search("otter0").notes == ()


def test_two_turns_with_the_same_number_are_both_found(library: Library) -> None:
    """In a journal that was edited by hand, before and after indexing."""
    library.say("a1", "a heron")
    with (library.sessions / "a1.jsonl").open("a", encoding="utf-8") as file:
        for word in ("first", "second"):
            file.write(f'{{"n":2,"ts":"2026-05-20T12:00:00Z","role":"user","content":"the {word} otter"}}\n')
    for _ in range(2):
        assert with_word(library.finder(), "otter") == [("a1", 2), ("a1", 2)]
        library.index()


@pytest.mark.proves("N13")
def test_a_conversation_is_opened_by_its_name_alone(library: Library) -> None:
    """Whole or around a turn, from the index, from its journal, or from both."""
    library.say("a1", *[f"turn {number}" for number in range(1, 31)])
    library.say("a2", "turn 7 of another")
    for step in range(2):
        library.index()
        finder = library.finder()
        assert [hit.turn for hit in finder.thread("a1")] == list(range(1, 31 + step))
        assert [hit.turn for hit in finder.thread("a1", around=7, count=2)] == [5, 6, 7, 8, 9]
        assert [hit.turn for hit in finder.thread("a1", around=30, count=2)] == list(range(28, 31 + step))[:5]
        assert finder.thread("a") == finder.thread("turn") == finder.thread("../sessions/a1") == []
        library.say("a1", "turn 31") if not step else None


@pytest.mark.parametrize("indexed", [False, True], ids=["new", "indexed"])
def test_a_conversation_is_found_by_its_title_and_shows_it(library: Library, indexed: bool) -> None:
    """Other programs give titles with words that no turn may contain."""
    Journal(library.sessions, "a", {"title": "Marmots of the Alps"}).add(Turn("user", "where are they?"), NOW)
    library.say("b", "where is the otter?")
    if indexed:
        library.index()
    best = library.finder().search("marmots").hits[0]
    assert (best.conversation, best.turn, best.title) == ("a", 1, "Marmots of the Alps")
    assert best.text == "where are they?"


@pytest.mark.proves("M61")
def test_a_purged_title_is_not_shown_by_an_open_finder(library: Library) -> None:
    """Another shell that saw the title before, and has not indexed the change yet, does not show it either."""
    journal = Journal(library.sessions, "a", {"title": "Marmots of the Alps"})
    journal.add(Turn("user", "where are they?"), NOW)
    finder = library.finder()
    assert finder.search("where").hits[0].title == "Marmots of the Alps"
    assert Eraser(["marmots of the alps"], str).clean_file(journal.path)
    assert finder.search("where").hits[0].title == "[purged]"


def test_a_title_that_was_edited_by_hand_is_shown_at_once(library: Library) -> None:
    """Also when an editor writes in place; a later purge may also reuse the inode of an earlier file."""
    journal = Journal(library.sessions, "a", {"title": "Marmots of the Alps"})
    journal.add(Turn("user", "where are they?"), NOW)
    finder = library.finder()
    assert finder.search("where").hits[0].title == "Marmots of the Alps"
    _, _, rest = journal.path.read_text(encoding="utf-8").partition("\n")
    journal.path.write_text(f'{{"meta":{{"title":"Otters"}}}}\n{rest}', encoding="utf-8")
    assert finder.search("where").hits[0].title == "Otters"
