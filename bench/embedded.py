"""Embedded model benchmarks: how fast it writes on a quiet machine, and while other programs use every core; and how
long a question waits for one that was given up while it was being read."""

import asyncio
import os
import sys
import time
from contextlib import aclosing
from pathlib import Path

from aish.model.embedded import EmbeddedModel, LlamaProcess
from aish.model.http import Patience
from aish.model.weights import SMOLLM2, shared_directory
from aish.values.events import ChatRequest, Finished, Usage
from bench.timing import Figure

ASK = ChatRequest(messages=({"role": "user", "content": "Write the numbers from one to fifty."},), max_tokens=60)
SHORT = ASK._replace(max_tokens=1)
ROUNDS = 3
CORES = os.cpu_count() or 1
BUSY = "while True: pass"


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds for a token, with and without one busy program for each core."""
    return asyncio.run(_measure(directory))


async def _measure(directory: Path) -> dict[str, float]:
    process = LlamaProcess(shared_directory() / SMOLLM2.file, directory / "embedded.log", window=2048)
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
        read, waited = await _given_up(model)
    finally:
        await process.close()
    times = {"a token, quiet": min(quiet), "a token, cores busy": min(busy)}
    return times | {"a long prompt": read, "a question after one that was given up": waited}


async def _given_up(model: EmbeddedModel) -> tuple[float, float]:
    """Return how long a long prompt is read, and how long a short question waits for one that was given up."""
    started = time.perf_counter()
    await _answer(model, _long("read"))
    read = time.perf_counter() - started
    giving_up = asyncio.create_task(_answer(model, _long("left")))
    await asyncio.sleep(read / 4)
    giving_up.cancel()
    await asyncio.wait([giving_up])
    started = time.perf_counter()
    await _answer(model, SHORT)
    waited = time.perf_counter() - started
    started = time.perf_counter()
    await _answer(model, SHORT._replace(messages=({"role": "user", "content": ASK.messages[0]["content"] + "!"},)))
    return read, max(waited - (time.perf_counter() - started), 0.0)


def _long(word: str) -> ChatRequest:
    """A prompt of about 1,500 tokens that begins as no other one does."""
    text = "\n".join(f"{word} {number}: {number * 7919 % 1000}" for number in range(110))
    return ChatRequest(messages=({"role": "user", "content": text},), max_tokens=1)


async def _answer(model: EmbeddedModel, request: ChatRequest) -> None:
    async with aclosing(model.stream(request)) as events:
        assert isinstance([event async for event in events][-1], Finished)


async def _seconds_for_a_token(model: EmbeddedModel) -> float:
    started = time.perf_counter()  # the prompt is the same each time, and read once
    async with aclosing(model.stream(ASK)) as events:
        [tokens] = [event.completion_tokens async for event in events if isinstance(event, Usage)]
    return (time.perf_counter() - started) / tokens


def figures(times: dict[str, float]) -> list[Figure]:
    share = times["a token, quiet"] / times["a token, cores busy"]
    unit = "× of a quiet machine"
    wait = times["a question after one that was given up"] / times["a long prompt"]
    return [
        Figure(name="embedded model, cores busy", value=share, unit=unit, limit=0.25, at_least=True),
        Figure(name="embedded model, wait for one given up", value=wait, unit="× its whole prompt", limit=0.5),
    ]
