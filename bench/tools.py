"""Measure the loop of tools: a scripted model and a tool that does nothing, in the bare loop and in a turn.

Each call is a step of its own: the request is built, the answer is collected, the call is permitted and run, and in
a turn call and result are counted, masked and written to the journal.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from aish.agent.loop import MAX_STEPS, AskEvent, ToolDone, run_loop
from aish.agent.permission import AllowReading
from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, schema
from aish.conversation.turn import take_turn
from aish.conversation.turn_context import TurnContext
from aish.opening import open_program
from aish.places import find_places
from aish.settings.layers import SettingsLayer, load
from aish.values.events import Finished, TextPiece, ToolPiece, TurnDone
from aish.values.person import Nobody
from aish.views.start import Start
from bench.timing import Figure, interleaved

TURNS = 10
_SCHEMA = schema("nothing", "Does nothing.", {"text": {"type": "string"}}, [])


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds for one call."""
    homes = iter(range(1_000))
    return interleaved(
        5,
        {
            "tool call, bare loop": lambda: asyncio.run(_bare()),
            "tool call, in a turn": lambda: asyncio.run(_turns(directory / str(next(homes)))),
        },
    )


async def _nothing(call: ParsedCall, context: object) -> AsyncGenerator[ToolEvent]:
    yield ToolResult('{"status": "done"}')


async def _bare() -> float:
    steps = 0

    async def ask(offered: bool) -> AsyncGenerator[AskEvent]:
        nonlocal steps
        steps += 1
        if offered:
            yield ToolPiece(0, f"c{steps}", "nothing", '{"text": "hello"}')
        else:
            yield TextPiece("done")
        yield Finished()

    tools: dict[str, Tool[None]] = {"nothing": Tool(_SCHEMA, _nothing, effect="read")}
    started, done = time.perf_counter(), 0
    for _ in range(TURNS):
        async for event in run_loop(ask, tools, AllowReading[None](), None):
            done += isinstance(event, ToolDone)
    assert done == TURNS * MAX_STEPS
    return (time.perf_counter() - started) / done


async def _turns(home: Path) -> float:
    answers = [*['TOOL: nothing {"text": "hello"}'] * MAX_STEPS, "done"] * TURNS
    values = {
        "model": "script",
        "context": {"max_turns": 10_000, "token_budget": 1_000_000},
        "models": {"script": {"kind": "scripted", "answers": answers}},
    }
    loaded = load([SettingsLayer(origin="bench", values=values)])
    session = open_program(Start(loaded, find_places({"AISH_HOME": str(home)}), home)).session()
    session.tools = (Tool[TurnContext](_SCHEMA, _nothing, effect="read"),)
    started = time.perf_counter()
    for number in range(TURNS):
        async for event in take_turn(session, f"question {number}", Nobody()):
            assert not isinstance(event, TurnDone) or event.text == "done"
    taken = time.perf_counter() - started
    assert sum(turn.role == "tool" for turn in session.history.turns) == TURNS * MAX_STEPS
    return taken / (TURNS * MAX_STEPS)


def figures(times: dict[str, float]) -> list[Figure]:
    """Compute the figures from the times."""
    return [
        Figure(name="tool call, bare loop", value=times["tool call, bare loop"] * 1000, unit="ms", limit=1),
        Figure(name="tool call in a turn", value=times["tool call, in a turn"] * 1000, unit="ms", limit=5),
    ]
