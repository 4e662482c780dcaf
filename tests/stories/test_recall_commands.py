"""The commands that find earlier turns: what they show, what they say without a hit, and why a turn is a hit."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from world import World, at

from aish.conversation.session import Session
from aish.memory.finding.finder import ConversationFinder
from aish.memory.journal_feed import JournalFeed
from aish.values.errors import AishError, BadUsage, NotFound
from aish.values.replies import Reply
from aish.values.turns import Turn

pytestmark = pytest.mark.anyio

EVIL = ("\x1b]0;owned\x07", "\x1b[2J", "\u202e", "\x9b")


class Searcher:
    """Records turns at chosen times, and types commands. Only words count, so scores are the same everywhere."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock = at("2026-05-13T12:00:00")
        self.program = world.program({"model": "script", "models": {"script": {"kind": "scripted"}}})
        self.program.now = lambda: self.clock
        places = world.places
        self.program.open_finder = lambda: ConversationFinder(
            JournalFeed(places.sessions), places.turn_index, now=lambda: self.clock
        )
        self.shell = world.shell(self.program)

    def said(self, when: str, *texts: str) -> Session:
        """Record a conversation: questions and answers, alternating."""
        session, time = self.program.session(), at(when)
        session.services = session.services._replace(now=lambda: time)
        for number, text in enumerate(texts):
            turn = Turn("assistant" if number % 2 else "user", text)
            session.journal.add(turn, time + timedelta(minutes=number))
        return session

    async def type(self, line: str) -> Reply:
        return await self.world.type(self.shell, line)


@pytest.fixture
def searcher(world: World) -> Searcher:
    return Searcher(world)


# :recall


async def test_a_hit_stands_in_its_conversation_with_the_lines_around_it_and_a_reason(searcher: Searcher) -> None:
    """The user can see whether it is the right one without opening it."""
    searcher.said(
        "2026-05-12T09:00:00",
        "Good morning.",
        "Hello.",
        "Where is the spare fuse?",
        "In the drawer.",
        "Thanks.",
        "Fine.",
    )

    reply = await searcher.type(":recall fuse")

    head, *lines = reply.text.splitlines()
    assert "(1 day)" in head
    shown = [line.strip() for line in lines]
    place = shown.index("@1 you: Where is the spare fuse?")
    assert shown[place + 1].startswith("because: has the words (fuse)")
    assert any(line.endswith("aish: Hello.") for line in shown[:place])
    assert any(line.endswith("aish: In the drawer.") for line in shown[place:])
    assert reply.data[0]["text"] == "Where is the spare fuse?"


@pytest.mark.proves("N8", "X1")
async def test_a_turn_of_another_day_is_not_said_to_be_of_the_named_one(searcher: Searcher) -> None:
    """A remembered date may be wrong, so the turn is shown, but with a correct reason."""
    searcher.said("2026-05-05T09:00:00", "The fuse is blown.")
    searcher.said("2026-05-07T09:00:00", "The fuse is blown again.")

    for asked in ("fuse last Tuesday on 2026-05-05", "fuse on 2026-05-05", "Sicherung fuse am 5. Mai"):
        reply = await searcher.type(f":recall {asked}")
        reasons = {hit["text"]: hit["why"].split("; ") for hit in reply.data}
        assert "said at that time" in reasons["The fuse is blown."]
        assert "said near that time" in reasons["The fuse is blown again."]


async def test_a_narrow_window_breaks_no_id_and_no_reason(searcher: Searcher) -> None:
    """Lines break between their parts: an id can be copied, and a shown reason is complete."""
    id = searcher.said("2026-05-12T09:00:00", "Where is the spare fuse of the old stove?", "In the drawer.").journal.id
    searcher.shell.width = 40

    found, newest, why = [await searcher.type(line) for line in (":recall fuse", ":recent", ":why")]

    assert max(len(line) for reply in (found, newest, why) for line in reply.text.splitlines()) <= 40
    assert all(any(line.endswith(id) for line in reply.text.splitlines()) for reply in (found, newest))
    told = [line.strip().removeprefix("because: ") for line in found.text.splitlines() if "because: " in line]
    assert len(told) == 2 and all(hit["why"].startswith(text) for hit, text in zip(found.data, told, strict=True))
    assert all(hit["why"] in " ".join(why.text.split()) for hit in found.data)


async def test_what_was_not_understood_is_said_and_the_rest_is_searched(searcher: Searcher) -> None:
    """An invalid time must not silently mean any time."""
    searcher.said("2026-05-12T09:00:00", "The fuse is blown.")

    reply = await searcher.type(":recall fuse since:2026-02-31 role:pilot")

    first, second, *_ = reply.text.splitlines()
    assert first.startswith('unknown time "2026-02-31" after since:; try ')
    assert second.startswith('unknown role "pilot"; try ')
    assert reply.data[0]["text"] == "The fuse is blown."


async def test_nothing_is_said_to_be_nothing(searcher: Searcher) -> None:
    """This also holds if there are no conversations at all."""
    assert await searcher.type(":recall fuse") == Reply("nothing found", data=[], found=False)

    searcher.said("2026-05-12T09:00:00", "The fuse is blown.")
    searcher.shell = searcher.world.shell(Searcher(searcher.world).program)
    for words in ("zebra", "🙂", "斑马", '"a fuse"', "fuse -blown", "fuse in:attic", "fuse role:tool"):
        assert (await searcher.type(f":recall {words}")).found is False, words
    with pytest.raises(BadUsage, match="missing search words; use :recall WORDS"):
        await searcher.type(":recall   ")


async def test_what_was_found_cannot_command_the_terminal(searcher: Searcher) -> None:
    """Escape sequences and characters that reverse the text direction are neutralised."""
    searcher.said("2026-05-12T09:00:00", f"fuse {''.join(EVIL)} gone")

    shown = [await searcher.type(line) for line in (":recall fuse", ":thread @1", ":recent", ":why", ":timeline")]

    assert [sign for reply in shown for sign in EVIL if sign in reply.text] == []


# :thread and :resume


@pytest.mark.proves("N24")
@pytest.mark.parametrize("indexed", [True, False], ids=["in the index", "new"])
async def test_an_answer_that_broke_off_is_never_shown_as_whole(searcher: Searcher, indexed: bool) -> None:
    """This holds for text and JSON: half an answer can say the opposite of the whole answer."""
    session = searcher.said("2026-05-12T09:00:00", "May I touch the fuse?")
    session.journal.add(Turn("assistant", "Yes, the fuse", state="interrupted"), at("2026-05-12T09:01:00"))
    if indexed:
        assert searcher.program.finder.catch_up(wait=True) == ""

    found, opened, newest = [await searcher.type(line) for line in (":recall fuse", ":thread @1", ":recent")]

    for reply in (found, opened, newest):
        assert "aish [interrupted]: Yes, the fuse" in reply.text
        assert {hit["text"]: hit.get("state") for hit in reply.data} == {
            "May I touch the fuse?": None,
            "Yes, the fuse": "interrupted",
        }


@pytest.mark.proves("N6")
@pytest.mark.parametrize("indexed", [True, False], ids=["in the index", "new"])
async def test_a_conversation_opens_by_hit_by_id_and_by_turn(searcher: Searcher, indexed: bool) -> None:
    """For a hit a few turns around it are shown, for an id all turns."""
    session = searcher.said("2026-05-12T09:00:00", *(f"step {number} of the climb" for number in range(1, 61)))
    if indexed:
        assert searcher.program.finder.catch_up(wait=True) == ""
    await searcher.type(':recall "step 15 of"')

    around = await searcher.type(":thread @1")
    whole = await searcher.type(f":thread {session.journal.id}")
    by_turn = await searcher.type(f":thread {session.journal.id[:-3]}/60")

    assert [hit["turn"] for hit in around.data] == list(range(10, 21))
    assert [hit["turn"] for hit in whole.data] == list(range(1, 61))
    assert [hit["turn"] for hit in by_turn.data] == list(range(55, 61))
    assert next(line for line in by_turn.text.splitlines() if line.startswith("▸")).split()[1] == "60"


@pytest.mark.parametrize(
    ("line", "trouble", "words"),
    [
        (":thread", BadUsage, "expected a conversation ID"),
        (":thread @1", NotFound, "no hit @1; :recall WORDS numbers its hits"),
        (":thread @", NotFound, "no hit @"),
        (":thread @99999999999999999999", NotFound, "no hit"),
        (":thread nobody", NotFound, "no conversation 'nobody'"),
        (":thread ../../etc/passwd", BadUsage, "expected a conversation ID"),
        (":thread {id}/x", BadUsage, "expected a conversation ID"),
        (":thread {id}/999999999999", NotFound, "has no turn 999999999999"),
        (":resume @7", NotFound, "no hit @7"),
    ],
)
async def test_a_conversation_that_is_not_there_is_said_to_be_missing(
    searcher: Searcher, line: str, trouble: type[AishError], words: str
) -> None:
    """The message says what to type instead."""
    session = searcher.said("2026-05-12T09:00:00", "The fuse is blown.")

    with pytest.raises(trouble, match=words):
        await searcher.type(line.replace("{id}", session.journal.id))


# :recent and :timeline


async def test_the_newest_turns_come_first_and_a_time_narrows_them(searcher: Searcher) -> None:
    """They may belong to any conversation."""
    searcher.said("2026-05-11T12:00:00", "monday one", "monday two")
    searcher.said("2026-05-12T12:00:00", "tuesday one", "tuesday two")
    searcher.said("2026-05-13T10:00:00", "wednesday one")

    async def newest(words: str) -> list[str]:
        return [hit["text"] for hit in (await searcher.type(f":recent {words}")).data]

    assert await newest("") == ["wednesday one", "tuesday two", "tuesday one", "monday two", "monday one"]
    assert await newest("2") == ["wednesday one", "tuesday two"]
    assert await newest("yesterday") == ["tuesday two", "tuesday one"]
    assert await newest("this week") == await newest("")
    assert await newest("since tuesday") == await newest("seit gestern") == (await newest(""))[:3]
    assert await newest("until yesterday") == await newest("hasta ayer") == (await newest(""))[1:]
    assert await newest("2 threads") == (await newest(""))[:3]
    assert await newest("el lunes") == ["monday two", "monday one"]
    assert (await searcher.type(":recent last month")).found is False


@pytest.mark.parametrize("words", ["0", "1001", "99999999999999999999", "blue", "-1", "32 May"])
async def test_a_time_or_number_that_is_none_is_refused(searcher: Searcher, words: str) -> None:
    """Otherwise it would look as if there were no turns."""
    searcher.said("2026-05-12T09:00:00", "The fuse is blown.")

    with pytest.raises(BadUsage):
        await searcher.type(f":recent {words}")


async def test_a_timeline_has_a_bar_for_each_day_and_what_it_was_about(searcher: Searcher) -> None:
    """A day with more turns has a longer bar; days without turns and older days are left out."""
    searcher.said("2025-05-11T12:00:00", "long ago")
    searcher.said("2026-05-11T12:00:00", "the violin needs strings", "yes", "violin strings of gut", "good")
    searcher.said("2026-05-12T12:00:00", "the gearbox leaks", "oil?")

    reply = await searcher.type(":timeline")

    monday, tuesday = reply.text.splitlines()
    assert monday.startswith("2026-05-11 Mon") and tuesday.startswith("2026-05-12 Tue")
    assert monday.count("█") == 2 * tuesday.count("█") > 0
    assert "violin" in monday and "gearbox" in tuesday
    assert [(day["day"], day["turns"]) for day in reply.data] == [("2026-05-11 Mon", 4), ("2026-05-12 Tue", 2)]
    assert len((await searcher.type(":timeline 60")).data) == 3


@pytest.mark.parametrize("words", ["0", "521", "soon", "-3", "9999999999"])
async def test_a_timeline_of_no_weeks_is_refused(searcher: Searcher, words: str) -> None:
    """Without turns in the period, it says so."""
    assert (await searcher.type(":timeline")).text == "no turns in that period"

    with pytest.raises(BadUsage, match="a number of weeks from 1 to 520"):
        await searcher.type(f":timeline {words}")


# :why


@pytest.mark.proves("X1")
async def test_why_tells_how_a_search_was_understood_and_what_spoke_for_each_hit(searcher: Searcher) -> None:
    """It shows terms and weights, the bounds, how many turns were considered, and the score and reasons of each hit."""
    searcher.said("2026-05-11T12:00:00", "the violin needs strings", "then buy gut strings")
    searcher.said("2026-05-12T12:00:00", "the piano is in tune", "fine")
    found = await searcher.type(f":recall violin strings last Monday in:{searcher.world.directory.name} role:me -drum")

    reply = await searcher.type(":why")

    told = dict(line.split(maxsplit=1) for line in reply.text.partition("@1 ")[0].splitlines() if line.strip())
    assert "violin" in told["words"] and "string" in told["words"]
    assert told["time"] == "2026-05-11 00:00 to 2026-05-12 00:00"
    assert told["without"] == "drum"
    assert told["role"] == "user"
    assert told["in"] == searcher.world.directory.name
    assert told["meaning"] == "not compared: no embedding model"
    assert told["considered"].split()[1] == "turns"
    hits = [line for line in reply.text.splitlines() if line.lstrip().startswith("@")]
    assert len(hits) == len(found.data) == len(reply.data["hits"])
    assert hits[0].split()[0] == "@1" and float(hits[0].split()[1]) == pytest.approx(found.data[0]["score"], abs=0.01)
    assert found.data[0]["why"] in " ".join(reply.text.split())


@pytest.mark.proves("X1")
async def test_why_before_any_search_says_how_to_search(searcher: Searcher) -> None:
    """There is no search to explain yet."""
    with pytest.raises(NotFound, match="no search yet in this shell; use :recall WORDS"):
        await searcher.type(":why")


@pytest.mark.proves("M61")
async def test_why_has_forgotten_what_was_purged_since(searcher: Searcher) -> None:
    """The hits of the last search are in memory, so a purge must drop them."""
    searcher.said("2026-05-12T09:00:00", "the magpie nest is in the oak")
    await searcher.type(":recall where is the magpie nest")
    await searcher.type(":memory purge --yes magpie nest")

    with pytest.raises(NotFound, match="no search yet"):
        await searcher.type(":why")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.text(min_size=1, max_size=80)
    | st.lists(st.sampled_from(["fuse", '"', "-fuse", "role:", "in:x", "since:", "until:32 May", "*", "(", "the", "~"]))
    .filter(bool)
    .map(" ".join)
)
async def test_no_question_is_an_error(searcher: Searcher, words: str) -> None:
    """Quotes, operators and other characters are treated as words if they have no other meaning."""
    if not list(searcher.world.journals()):
        searcher.said("2026-05-12T09:00:00", "The fuse is blown.")

    found = searcher.program.finder.search(words, 5)

    assert {hit.text for hit in found.hits} <= {"The fuse is blown."}
    assert all(hit.why for hit in found.hits)
