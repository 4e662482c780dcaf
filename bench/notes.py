"""Measure the compaction of 200 turns without a model."""

import asyncio
import statistics
import time
from pathlib import Path

from aish.conversation.compaction import compact
from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.opening import open_program
from aish.places import find_places
from aish.settings.layers import SettingsLayer, load
from aish.values.person import Nobody
from aish.views.start import Start
from bench.timing import Figure

TURNS = 200


def measure(directory: Path) -> dict[str, float]:
    return {"compaction of 200 turns": statistics.median(_compaction(directory / str(each)) for each in range(3))}


def figures(times: dict[str, float]) -> list[Figure]:
    value = 1000 * times["compaction of 200 turns"]
    return [Figure(name="compaction, 200 turns", value=value, unit="ms without a model", limit=200)]


def _compaction(directory: Path) -> float:
    """Return the seconds of `:compact` after 200 turns, with the limit for models at zero."""
    values = {
        "model": "script",
        "context": {"max_turns": 10_000, "token_budget": 10_000_000},
        "notes": {"daily_tokens": 0},
        "models": {
            "script": {"kind": "scripted", "answers": ["An answer about src/routes.py, of some words."] * TURNS}
        },
    }
    home = find_places({"AISH_HOME": str(directory)})
    program = open_program(Start(load([SettingsLayer(origin="bench", values=values)]), home, directory))
    return asyncio.run(_compact(program.session()))


async def _compact(session: Session) -> float:
    for number in range(TURNS // 2):
        async for _ in take_turn(session, f"Question {number} about src/part{number % 9}.py and its tests.", Nobody()):
            pass
    started = time.perf_counter()
    done = await compact(session)
    assert done.turns == TURNS - 4
    return time.perf_counter() - started
