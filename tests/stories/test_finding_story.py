"""A week of conversations in two projects, and how the user finds them again.

Run twice: as installed, and with words only, as without the weights for vectors.
"""

import json
import shutil
import subprocess
import sys
from datetime import datetime, timedelta

import pytest
from world import Ran, World, at, script_of

from aish.conversation.session import Session
from aish.memory.finding.finder import ConversationFinder
from aish.memory.journal_feed import JournalFeed
from aish.values.hits import Finder
from aish.values.replies import Reply
from aish.values.turns import Turn
from aish.views.search import run_search

pytestmark = pytest.mark.anyio

NOON = "{}T12:00:00"
TALKS = {  # day → project, question and answer
    "2026-05-04": (
        "loom",
        ("When is the deploy window of the shuttle service?", "It was Friday evening until now."),
        ("Nobody likes that. Think about a better one.", "I will compare the traffic of all days."),
    ),
    "2026-05-05": (
        "loom",
        ("So what about the deploy window?", "Traffic is lowest on Thursday, so the window is Thursday at nine."),
        ("Fine. Who watches the graphs meanwhile?", "Petra does, and Jonas stands in for her."),
    ),
    "2026-05-06": (
        "harbour",
        ("Which deploy window do the cranes have?", "The cranes stand still on Sunday, so Sunday at noon."),
        ("And the tide gauge?", "It may be deployed at any time, it has a spare."),
    ),
}
DECISION = "Traffic is lowest on Thursday, so the window is Thursday at nine."


class Week:
    """The conversations, a clock fixed at the Monday after them, and a shell."""

    def __init__(self, world: World, *, vectors: bool = True) -> None:
        self.world, self.vectors = world, vectors
        self.clock: datetime = at("2026-05-11T12:00:00")
        self.ids: dict[str, str] = {}

    async def live(self) -> None:
        for day, (project, *talk) in TALKS.items():
            self.clock = at(NOON.format(day))
            session = self.session(project, [answer for _, answer in talk])
            for asked, _ in talk:
                self.clock += timedelta(minutes=1)
                await self.world.ask(session, asked)
            self.ids[day] = session.journal.id
        self.clock = at("2026-05-11T12:00:00")
        self.open("loom")

    def open(self, project: str, *answers: str) -> None:
        """Start the program again in a project."""
        self.now = self.session(project, answers)
        self.shell = self.world.shell(self.program, self.now)

    def session(self, project: str, answers: tuple[str, ...] | list[str]) -> Session:
        directory = self.world.directory / project
        directory.mkdir(exist_ok=True)
        script = {"kind": "scripted", "answers": list(answers), "tools": False}
        self.program = self.world.program({"model": "script", "models": {"script": script}})
        self.program.now, self.program.cwd = (lambda: self.clock), directory
        if not self.vectors:
            self.program.open_finder = self._words_only
        return self.program.session()

    def _words_only(self) -> Finder:
        places = self.world.places
        return ConversationFinder(JournalFeed(places.sessions), places.turn_index, now=lambda: self.clock)

    def add_old_turns(self) -> None:
        """Write enough old turns that an index is used."""
        journal = self.session("attic", []).journal
        turns = [Turn("user", f"Box {number} holds old lamps and letters.") for number in range(60)]
        journal.extend((turn, at("2026-01-05T12:00:00"), {}) for turn in turns)
        self.open("loom")

    async def type(self, line: str) -> Reply:
        return await self.world.type(self.shell, line)

    async def found(self, words: str) -> list[tuple[str, str]]:
        """Return the conversations and texts that `:recall` finds."""
        reply = await self.type(f":recall {words}")
        return [(hit["conversation"], hit["text"]) for hit in reply.data]


@pytest.fixture(params=[True, False], ids=["as installed", "only words"])
async def week(request: pytest.FixtureRequest, world: World) -> Week:
    week = Week(world, vectors=request.param)
    await week.live()
    return week


def bare(world: World, *arguments: str) -> Ran:
    """Run the real program without weights, in an environment where network access is fatal."""
    start = (
        "import sys; sys.prefix = '/nowhere'\n"
        "def no_network(event, arguments):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'): import os; os._exit(99)\n"
        "sys.addaudithook(no_network)\n"
        "from aish.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=world.environment(HOME=str(world.directory)),
        cwd=world.directory,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.proves("N8", "X2")
async def test_the_conversation_of_last_tuesday_comes_first(week: Week) -> None:
    """Three conversations have the same words; the day in the question decides."""
    found = await week.found("what did we say about the deploy window last Tuesday")

    assert found[0][0] == week.ids["2026-05-05"]
    assert (week.ids["2026-05-05"], DECISION) in found


@pytest.mark.proves("N8")
@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("deploy window on Monday, 4 May", "2026-05-04"),
        ("deploy window last Wednesday", "2026-05-06"),
        ("deploy window since:2026-05-06", "2026-05-06"),
        ("deploy window until:2026-05-04", "2026-05-04"),
        ("deploy window in:harbour", "2026-05-06"),
        ("Deploy-Fenster window am Dienstag, 5. Mai", "2026-05-05"),
        ("deploy window -traffic in:loom since:2026-05-04 until:2026-05-04 role:me", "2026-05-04"),
    ],
)
async def test_a_time_or_a_place_in_the_question_decides(week: Week, words: str, day: str) -> None:
    """In several notations."""
    found = await week.found(words)

    assert found[0][0] == week.ids[day]


@pytest.mark.proves("N8")
async def test_a_project_narrows_the_search_to_itself(week: Week, capsys: pytest.CaptureFixture[str]) -> None:
    """With `in:`, and as an option of the verb; an unknown project has nothing."""
    everywhere = {conversation for conversation, _ in await week.found("deploy window")}
    assert everywhere == set(week.ids.values())

    assert {found for found, _ in await week.found("deploy window in:harbour")} == {week.ids["2026-05-06"]}
    assert (await week.type(":recall deploy window in:attic")).found is False

    assert run_search(week.program, ["--json", "--channel", "harbour", "deploy", "window"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {hit["channel"].rpartition("-")[0] for hit in answer["hits"]} == {"harbour"}


async def test_the_verb_finds_what_the_command_finds(week: Week, capsys: pytest.CaptureFixture[str]) -> None:
    """Both use the same search."""
    words = "what did we say about the deploy window last Tuesday"
    typed = await week.found(words)

    code = run_search(week.program, ["--json", words])

    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [(hit["conversation"], hit["text"]) for hit in answer["hits"]] == typed


@pytest.mark.proves("N6")
async def test_a_hit_opens_to_its_neighbours_and_its_conversation_goes_on(week: Week) -> None:
    """From a hit to the turns around it, and then on with that conversation."""
    week.open("harbour", "Petra, I said.")
    shown = await week.type(":recall deploy window last Tuesday")
    assert "So what about the deploy window?" in shown.text
    assert "because: " in shown.text

    opened = await week.type(":thread @1")
    assert [hit["text"] for hit in opened.data] == [text for pair in TALKS["2026-05-05"][1:] for text in pair]
    (marked,) = (line for line in opened.text.splitlines() if line.startswith("▸"))
    assert shown.data[0]["text"] in marked
    assert opened.text.startswith(f"{week.ids['2026-05-05']} · loom-")

    await week.type(":resume @1")
    await week.world.ask(week.now, "Who watches, once more?")
    sent = [str(message["content"]) for message in script_of(week.now).requests[-1].messages]
    assert DECISION in sent
    assert week.now.journal.id == week.ids["2026-05-05"]
    week.open("harbour")
    assert (await week.found('"who watches, once more"'))[0][0] == week.ids["2026-05-05"]


async def test_deleting_the_index_changes_no_answer(week: Week) -> None:
    """The answers are the same without it, and after it was rebuilt."""
    questions = ["deploy window last Tuesday", "who stands in for Petra", "tide gauge in:harbour"]
    week.add_old_turns()
    index = week.world.places.turn_index
    assert week.program.finder.catch_up(wait=True) == ""
    before = [(await week.found(question))[0] for question in questions]
    assert (index / "catalogue.db").exists()

    shutil.rmtree(week.world.places.indexes)
    week.open("loom")
    assert [(await week.found(question))[0] for question in questions] == before

    assert week.world.aish("search", "lamps").code == 0
    assert (index / "catalogue.db").exists()
    week.open("loom")
    assert [(await week.found(question))[0] for question in questions] == before


@pytest.mark.proves("X2", "N6")
async def test_everything_is_found_without_weights_network_or_account(world: World) -> None:
    """By words only: search, recent turns and a thread, without network access."""
    week = Week(world)
    await week.live()

    searched = bare(world, "search", "--json", "deploy window on 5 May 2026")
    recent = bare(world, "recent", "--json", "--limit", "1")
    thread = bare(world, "thread", "--json", week.ids["2026-05-06"])

    assert (searched.code, recent.code, thread.code) == (0, 0, 0)
    assert searched.err + recent.err + thread.err == ""
    assert json.loads(searched.out)["hits"][0]["conversation"] == week.ids["2026-05-05"]
    assert json.loads(recent.out)[0]["text"] == "It may be deployed at any time, it has a spare."
    assert [hit["turn"] for hit in json.loads(thread.out)] == [1, 2, 3, 4]


@pytest.mark.parametrize("word", ["shutle", "trafic", "gaueg"])
async def test_a_typo_in_a_rare_word_is_corrected(week: Week, word: str) -> None:
    """And `:why` shows the corrected word."""
    (_, text), *_ = await week.found(word)

    assert {"shutle": "shuttle", "trafic": "traffic", "gaueg": "gauge"}[word] in text.casefold()
    why = (await week.type(":why")).text
    assert [line.split()[0] for line in why.splitlines()][:2] == ["words", "spelt"]
