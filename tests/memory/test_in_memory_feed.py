"""The finder with a feed that is not made of journals: everything works without conversation files."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from aish.memory.finding.feed import ConversationMeta, Revision
from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer
from aish.memory.in_memory_feed import InMemoryFeed
from aish.values.errors import StoreTrouble
from aish.values.hits import Hit, Scope
from aish.values.turns import Role, Turn

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
ROLES: tuple[Role, Role] = ("user", "assistant")


class Library:
    """Conversations in memory, their index on disk, and a finder that stays open."""

    def __init__(self, directory: Path) -> None:
        self.feed, self.directory = InMemoryFeed(), directory / "index"
        self.finder = ConversationFinder(self.feed, self.directory, now=lambda: NOW)

    def say(self, name: str, *texts: str, minute: int = 0) -> None:
        for place, text in enumerate(texts):
            self.feed.add(name, Turn(ROLES[place % 2], text), NOW + timedelta(minutes=minute, seconds=place))

    def index(self) -> None:
        assert Indexer(self.feed, self.directory).catch_up()

    def with_word(self, word: str) -> list[tuple[str, int]]:
        return places(hit for hit in self.finder.search(word, 100).hits if word in hit.text)


def places(hits: Iterator[Hit] | list[Hit]) -> list[tuple[str, int]]:
    return [(hit.conversation, hit.turn) for hit in hits]


@pytest.fixture
def library() -> Iterator[Library]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Library(Path(directory))


@pytest.mark.proves("N1")
@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_a_turn_is_found_the_moment_it_is_said(library: Library, indexed: bool) -> None:
    """In a conversation that continues and in a new one, without waiting for the index."""
    library.say("a", "a heron")
    for number in range(2, 6):
        if indexed:
            library.index()
        library.say("a", f"otter{number} and friends", minute=number)
        library.say(f"b{number}", f"badger{number} alone")
        assert library.with_word(f"otter{number}") == [("a", number)]
        assert library.with_word(f"badger{number}") == [(f"b{number}", 1)]
        assert places(library.finder.recent(1)) == [("a", number)]
        assert places(library.finder.thread("a"))[-1] == ("a", number)


@pytest.mark.proves("X6")
def test_a_search_gives_the_same_turns_with_and_without_an_index(library: Library) -> None:
    """Before, during and after indexing."""
    for number in range(10):
        library.say(f"a{number}", f"the heron on day {number}", "it fishes by the lake", minute=number)

    def found() -> list[list[tuple[str, int]]]:
        searched = sorted(places(list(library.finder.search("heron lake", 100).hits)))
        return [searched, places(library.finder.recent(100)), places(library.finder.thread("a3"))]

    without = found()
    library.index()
    assert found() == without
    assert without[1][0] == ("a9", 2)
    assert without[2] == [("a3", 1), ("a3", 2)]
    assert places(library.finder.recent(3, by="thread"))[0] == ("a9", 2)
    assert [count for _, count, _ in library.finder.days(NOW - timedelta(days=1))] == [20]


@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_a_deleted_conversation_is_not_found(library: Library, indexed: bool) -> None:
    """Immediately, and after the index has followed."""
    library.say("a", "a heron")
    library.say("b", "another heron")
    if indexed:
        library.index()
    assert len(library.with_word("heron")) == 2
    library.feed.delete("a")
    for _ in range(2):
        assert library.with_word("heron") == [("b", 1)]
        assert places(library.finder.recent()) == [("b", 1)]
        assert library.finder.thread("a") == []
        library.index()
    library.say("a", "an otter")
    library.index()
    assert library.with_word("otter") == [("a", 1)]


@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_an_edited_conversation_is_read_again(library: Library, indexed: bool) -> None:
    """The old words are no longer found, and no turn is found twice."""
    library.say("a", "a heron", "an otter")
    if indexed:
        library.index()
    assert library.with_word("otter") == [("a", 2)]
    library.feed.edit("a", 2, "a stork")
    for _ in range(2):
        assert library.with_word("otter") == []
        assert library.with_word("stork") == [("a", 2)]
        assert places(library.finder.thread("a")) == [("a", 1), ("a", 2)]
        library.index()


def test_a_conversation_that_has_grown_is_read_from_where_the_index_ends(library: Library) -> None:
    """The progress counts what has to be read."""
    library.say("a", *["a heron by the lake"] * 100)
    library.index()
    before = library.feed.revisions()["a"].end
    library.say("a", "an otter")
    steps: list[tuple[int, int]] = []
    assert Indexer(library.feed, library.directory).catch_up(lambda done, total: steps.append((done, total)))
    added = library.feed.revisions()["a"].end - before
    assert steps == [(added, added)]
    assert library.with_word("otter") == [("a", 101)]


@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
def test_metadata_limits_a_search_and_a_title_is_found(library: Library, indexed: bool) -> None:
    """Also after it has changed."""
    library.feed.describe("a", ConversationMeta("birds", "chatgpt", "Marmots of the Alps"))
    library.say("a", "where are they?")
    library.say("b", "where is the otter?")
    if indexed:
        library.index()
    [hit] = library.finder.recent(scope=Scope(channel="birds"))
    assert (hit.conversation, hit.source, hit.title) == ("a", "chatgpt", "Marmots of the Alps")
    assert library.finder.search("marmots").hits[0].conversation == "a"
    library.feed.describe("a", ConversationMeta("birds", "chatgpt", "[purged]"))
    assert library.finder.thread("a")[0].title == "[purged]"


class UnreadableFeed(InMemoryFeed):
    """A store whose connection can break."""

    broken = False

    def revisions(self) -> dict[str, Revision]:
        if self.broken:
            raise StoreTrouble("cannot reach the store")
        return super().revisions()


@pytest.mark.proves("N14")
def test_an_unreachable_store_is_reported_and_its_index_is_kept(tmp_path: Path) -> None:
    """It is not treated as empty."""
    feed = UnreadableFeed()
    feed.add("a", Turn("user", "a heron"), NOW)
    assert Indexer(feed, tmp_path).catch_up()
    finder = ConversationFinder(feed, tmp_path, now=lambda: NOW)
    assert finder.search("heron").notes == ()
    feed.broken = True
    assert finder.search("heron").notes == ("cannot reach the store",)
    with pytest.raises(StoreTrouble, match="cannot reach the store"):
        Indexer(feed, tmp_path).catch_up()
    feed.broken = False
    found = finder.search("heron")
    assert (places(list(found.hits)), found.notes) == ([("a", 1)], ())
