"""Embedded model benchmarks: how fast it writes on a quiet machine, and while other programs use every core."""

import asyncio
import os
import sys
import time
from contextlib import aclosing
from pathlib import Path

from aish.model.embedded import EmbeddedModel, LlamaProcess
from aish.model.http import Patience
from aish.model.weights import find_embedded, shared_directory
from aish.values.events import ChatRequest, Usage
from bench.timing import Figure

ASK = ChatRequest(messages=({"role": "user", "content": "Write the numbers from one to fifty."},), max_tokens=60)
ROUNDS = 3
CORES = os.cpu_count() or 1
BUSY = "while True: pass"


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds for a token, with and without one busy program for each core."""
    return asyncio.run(_measure(directory))


async def _measure(directory: Path) -> dict[str, float]:
    process = LlamaProcess(find_embedded("", [shared_directory()]), directory / "embedded.log", window=2048)
    model = EmbeddedModel(process, patience=Patience(), temperature=0.0)
    quiet, busy = [], []
    try:
        await _seconds_for_a_token(model)
        for _ in range(ROUNDS):
            quiet.append(await _seconds_for_a_token(model))
            programs = [await asyncio.create_subprocess_exec(sys.executable, "-c", BUSY) for _ in range(CORES)]
            try:
                busy.append(await _seconds_for_a_token(model))
            finally:
                for program in programs:
                    program.kill()
                    await program.wait()
    finally:
        await process.close()
    return {"a token, quiet": min(quiet), "a token, cores busy": min(busy)}


async def _seconds_for_a_token(model: EmbeddedModel) -> float:
    started = time.perf_counter()  # the prompt is the same each time, and read once
    async with aclosing(model.stream(ASK)) as events:
        [tokens] = [event.completion_tokens async for event in events if isinstance(event, Usage)]
    return (time.perf_counter() - started) / tokens


def figures(times: dict[str, float]) -> list[Figure]:
    share = times["a token, quiet"] / times["a token, cores busy"]
    unit = "× of a quiet machine"
    return [Figure(name="embedded model, cores busy", value=share, unit=unit, limit=0.25, at_least=True)]
