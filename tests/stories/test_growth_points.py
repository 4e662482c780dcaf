"""Growth points: a layer, a tool, a job and a door, each added in one small piece and with no change elsewhere."""

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from world import World, script_of

from aish.acting.table import TOOLS
from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, schema
from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.conversation.turn_context import TurnContext
from aish.jobs.scheduler import Job, Scheduler
from aish.jobs.table import JOBS
from aish.program import Program
from aish.prompt.table import LAYERS
from aish.values.events import Notice, TextPiece, TurnDone, notice
from aish.values.person import Nobody

pytestmark = pytest.mark.anyio


def program(world: World, *answers: str, **settings: object) -> Program:
    script = {"kind": "scripted", "answers": list(answers)}
    return world.program({"model": "script", "models": {"script": script}, **settings})


class WeatherLayer(Layer):
    """A new layer of the system prompt: 10 lines."""

    name = "weather"
    order = 35

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        turn.texts[self.name] = f"[weather] rain, asked about: {turn.question}"
        yield notice("weather.loaded", "looked out of the window")

    def why(self, session: Session, turn: TurnContext | None) -> str:
        return "a look out of the window"


class ReminderLayer(Layer):
    """A new layer in front of the message, which stays there for the rest of the conversation."""

    name = "reminder"
    order = 20
    place = "message"

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        turn.texts[self.name] = f"[reminder] number {turn.session.turn_number}"
        return
        yield

    def repeated_lines(self, session: Session) -> list[list[int]]:
        return [[0, 1]]


async def test_a_new_layer_is_in_the_prompt_in_context_and_in_why(world: World) -> None:
    """Its order puts it between project and background."""
    new = program(world, "A1")
    new.layers = [*LAYERS, WeatherLayer]
    session = new.session()
    shell = world.shell(new, session)
    await world.type(shell, ":remember I like tea")

    said = await world.ask(session, "how is it outside?")

    assert "looked out of the window" in said.notices
    prompt = script_of(session).requests[0].messages[0]["content"]
    assert "\n\n[weather] rain, asked about: how is it outside?" in prompt
    assert prompt.index("[weather]") < prompt.index("I like tea"), "the table has it last, its order does not"
    assert "a look out of the window" in (await world.type(shell, ":why")).text
    assert "weather" not in (await world.type(shell, ":context")).text, "it was for that turn only"


async def test_a_layer_in_front_of_the_message_stays_as_it_was(world: World) -> None:
    """A server that has read the beginning of a prompt need not read it again."""
    new = program(world, "A1", "A2")
    new.layers = [*LAYERS, ReminderLayer]
    session = new.session()
    session.history.hold("$ ls\nfile")

    await world.ask(session, "q1")
    await world.ask(session, "q2")

    first, second = (request.messages for request in script_of(session).requests)
    assert first[1]["content"] == "[exec output]\n$ ls\nfile\n\n[reminder] number 0\n\nq1"
    assert second[:2] == first
    assert second[3]["content"] == "[reminder] number 2\n\nq2"
    entry = next(session.journal.entries())
    assert entry.turn.content == first[1]["content"]
    assert entry.meta["recalled"] == [[4, 5]], "what only repeats something is not found a second time"


async def _roll(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    yield ToolResult(json.dumps({"rolled": 4, "for": turn.typed}))


DICE = Tool(schema("roll_dice", "Roll a die.", {}, []), _roll, effect="read", trust="own")


async def test_a_new_tool_is_offered_called_and_recorded(world: World) -> None:
    """Offering a tool is a line in a table."""
    new = program(world, 'TOOL: roll_dice {"sides": 6}', "It was a 4.")
    new.tools = (*TOOLS, DICE)
    session = new.session()

    said = await world.ask(session, "roll a die")

    assert said.text == "It was a 4."
    assert [tool["function"]["name"] for tool in script_of(session).requests[0].tools] == ["roll_dice"]
    (result,) = (entry for entry in session.journal.entries() if entry.turn.role == "tool")
    assert json.loads(result.turn.content) == {"rolled": 4, "for": "roll a die"}
    assert result.meta["own"] is True


async def test_a_tool_that_changes_something_asks_the_person_of_the_turn(world: World) -> None:
    """Nobody there means no; whatever door the question came through."""
    new = program(world, "TOOL: roll_dice {}", "Well.")
    new.tools = (DICE._replace(effect="change"),)
    session = new.session()

    await world.ask(session, "roll a die")

    (result,) = (entry for entry in session.journal.entries() if entry.turn.role == "tool")
    assert json.loads(result.turn.content) == {"status": "refused", "reason": "skipped by user"}


async def test_a_new_job_runs_after_an_answer(world: World) -> None:
    """A line in a table, and every door that has a scheduler runs it."""
    counted = list[int]()

    async def count(session: Session) -> list[Notice]:
        counted.append(len(session.history.turns))
        return []

    new = program(world, "A1")
    session, scheduler = new.session(), Scheduler([*JOBS, Job("count", "after answer", lambda session: True, count)])
    await world.ask(session, "q1")
    scheduler.start("after answer", session)
    async with asyncio.timeout(5):
        await scheduler.idle()

    assert counted == [2]
    assert [(run.job, run.outcome) for run in scheduler.log] == [("count", "done")]


async def json_door(program: Program, lines: list[str]) -> AsyncGenerator[str]:
    """A new door: a question in each line of JSON, events as lines of JSON. Everything it needs is below the views."""
    session, scheduler = program.session(), Scheduler(JOBS)
    for line in lines:
        scheduler.person_first()
        async for event in take_turn(session, json.loads(line)["ask"], Nobody()):
            match event:
                case TextPiece(text):
                    yield json.dumps({"text": text})
                case Notice(code=code, fields=fields):
                    yield json.dumps({"notice": code, **fields})
                case TurnDone(state=state):
                    yield json.dumps({"done": state})
        scheduler.start("after answer", session)
    await scheduler.close()
    await program.close()


async def test_a_new_door_asks_shows_and_cleans_up(world: World) -> None:
    """It says notices in its own way, by their codes and fields."""
    new = program(world, "One. Two.", "I will remember that.")
    lines = [json.dumps({"ask": "q1"}), json.dumps({"ask": "remember the milk"})]

    out = [json.loads(line) async for line in json_door(new, lines)]

    assert "".join(one.get("text", "") for one in out) == "One. Two.I will remember that."
    assert {"notice": "memory.not_saved"} in out
    assert [one["done"] for one in out if "done" in one] == ["complete", "complete"]
