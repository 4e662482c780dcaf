"""Output of our own search commands that is quoted in a conversation is not found there again."""

import json

import pytest
from world import World, script_of

from aish.acting.gate import Decided
from aish.conversation.held_output import hold_output
from aish.conversation.turn import take_turn
from aish.memory.finding.turn_text import searchable_text
from aish.values.outcomes import Outcome
from aish.values.person import Nobody
from aish.values.turns import JournalEntry, Turn

pytestmark = pytest.mark.anyio

PAGE = "2026-05-04 12:00 (2 days) · pots\n  @1 you: the kiln is at nine hundred degrees\n\n     because: words"


@pytest.mark.proves("N9")
@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
async def test_quoted_hits_are_not_found_but_the_question_with_them_is(world: World, indexed: bool) -> None:
    """Otherwise each search would find earlier searches. The model and the journal have all of it."""
    session = world.session(["It was nine hundred."])
    program = world.program()
    shell = world.shell(program, session)
    hold_output(shell.session, "ls clay", Outcome(0, "stoneware.txt"))
    hold_output(shell.session, "aish search kiln", Outcome(0, PAGE))
    hold_output(shell.session, "du -s", Outcome(0, "4711\n\nblocks"))
    hold_output(shell.session, "aish recent --limit 1", Outcome(1, "you: the kiln once more"))

    await world.ask(session, "how hot was the oven?\n\nAnd the kiln room?")

    if indexed:
        assert not session.finder.catch_up(wait=True)
    question, answer = session.finder.thread(session.journal.id)
    assert question.text == (
        "[exec output]\n$ ls clay\nstoneware.txt\n[exec output]\n$ du -s\n4711\n\nblocks\n\n"
        "how hot was the oven?\n\nAnd the kiln room?"
    )
    assert answer.text == "It was nine hundred."
    assert [hit.turn for hit in session.finder.search('"nine hundred"').hits] == [2]
    assert [hit.turn for hit in session.finder.search("stoneware").hits][:1] == [1]
    kept = json.loads(world.journals()[0].read_bytes().splitlines()[1])
    (asked,) = script_of(session).requests
    assert kept["content"] == asked.messages[-1]["content"]
    assert PAGE in kept["content"]


class AlwaysRuns:
    """A gate that has run every command, and shown the page."""

    async def decide(self, command: str) -> Decided:
        return Decided(command, Outcome(0, PAGE))


@pytest.mark.parametrize(("command", "found"), [("aish search kiln", 0), ("cat pots.txt", 1)])
async def test_hits_shown_by_a_command_of_the_model_are_not_found(world: World, command: str, found: int) -> None:
    """Whether a line of the answer or a tool call ran it."""
    call = f"TOOL: run_command {json.dumps({'command': command})}"
    session = world.session([call, "There."], {"commands": {"tool": True}})

    async for _ in take_turn(session, "how hot was the oven?", Nobody(), gate=AlwaysRuns()):
        pass

    assert len(session.finder.search('"nine hundred"').hits) == found


async def test_output_kept_for_the_next_question_is_still_marked(world: World) -> None:
    """After a failed answer, the output is sent with the next question."""
    session = world.session(["!down", "ok"])
    shell = world.shell(world.program(), session)
    hold_output(shell.session, "aish thread 3", Outcome(0, PAGE))
    await world.ask(session, "what is this?")
    await world.ask(session, "once more")
    assert [hit.text for hit in session.finder.thread(session.journal.id) if hit.role == "user"] == [
        "what is this?",
        "once more",
    ]


@pytest.mark.parametrize("recalled", [[], [[0, 1]], [[1, 99]], [[-5, 1], 7, ["a", 2], [1]], "yes", 3, None, {"a": 1}])
def test_an_invalid_mark_is_ignored(recalled: object) -> None:
    """The turn is read, whatever the mark contains."""
    entry = JournalEntry(1, None, Turn("user", "one\ntwo"), {"recalled": recalled})  # type: ignore[arg-type]  # time unused
    assert searchable_text(entry) in ("one\ntwo", "two", "one")
