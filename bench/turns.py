"""Measure the cost of a turn without the model: prompt, token count, journal and usage, at 200 turns."""

import asyncio
import statistics
import time
from pathlib import Path

from aish.conversation.turn import take_turn
from aish.opening import open_program
from aish.places import find_places
from aish.settings.layers import SettingsLayer, load
from aish.values.person import Nobody
from aish.views.start import Start

TURNS = 200


def overhead(directory: Path) -> float:
    """Return the median seconds of a turn with a model that answers at once and 200 turns in the prompt."""
    values = {
        "model": "script",
        "context": {"max_turns": 10_000, "token_budget": 10_000_000},
        "models": {
            "script": {"kind": "scripted", "answers": ["An answer of some words, no longer than it has to be."] * 200}
        },
    }
    program = open_program(
        Start(
            load([SettingsLayer(origin="bench", values=values)]), find_places({"AISH_HOME": str(directory)}), directory
        )
    )
    session = program.session()

    async def one(number: int) -> float:
        started = time.perf_counter()
        async for _ in take_turn(
            session, f"Question number {number} of the bench, about as long as people write them.", Nobody()
        ):
            pass
        return time.perf_counter() - started

    async def all_turns() -> list[float]:
        return [await one(number) for number in range(TURNS // 2 + 20)]

    return statistics.median(asyncio.run(all_turns())[TURNS // 2 :])
