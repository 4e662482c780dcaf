"""Seconds to the first word of the embedded models, beside one busy program, and as ratios to llama.cpp alone.

python -m bench.first_word     every model of the catalogue that is installed

"llama.cpp alone" reads as many new tokens after the same beginning, without anything of aish.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.jobs.scheduler import Scheduler
from aish.jobs.table import JOBS
from aish.jobs.warm_up import warm_up
from aish.model.machine import installed
from aish.model.openai_chat import OpenAIChat
from aish.model.weights import Weights, find_here
from aish.opening import open_program
from aish.places import find_places, model_directories
from aish.program import Program
from aish.settings.layers import SettingsLayer, load
from aish.values.events import ChatRequest, TextPiece, TurnDone, Usage
from aish.values.person import Nobody
from aish.views.start import Start
from bench.timing import Figure

ROUNDS = 3
AISH = str(Path(sys.executable).with_name("aish"))
BUSY = "while True: pass"
_TYPING = 2.0  # seconds in which a short question is typed; the model reads the output of the command before it
QUESTIONS = ("what is a symbolic link?", "what does the sticky bit do?", "what is an inode?", "what is a pipe?")
TALK = "I work on the billing service of the shop, with Ana and Kim."
# wanted, in seconds and gigabytes: beside one busy program on two cores
LIMITS = {
    "qwen2.5-coder-1.5b": {"new process": 3.5, "later": 1.0, "after upkeep": 1.2, "after 2,000 lines": 3.0, "GB": 1.6},
    "qwen2.5-coder-0.5b": {"new process": 3.5, "later": 0.5, "after upkeep": 1.2, "after 2,000 lines": 3.0, "GB": 0.9},
}


@contextmanager
def busy_program() -> Iterator[None]:
    """Keep one core busy."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as program:
        try:
            yield
        finally:
            program.kill()


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds of every situation, for all installed models that people use; names begin with the model."""
    present = installed(model_directories(find_places(os.environ), os.environ))
    times = {weights.name: _measure(weights, directory) for weights in present if weights.name in LIMITS}
    return {f"{name}, {what}": value for name, found in times.items() for what, value in found.items()}


def _measure(weights: Weights, directory: Path) -> dict[str, float]:
    """Return the seconds for each situation, the gigabytes of memory, and the seconds of llama.cpp alone."""
    file = find_here(weights, model_directories(find_places(os.environ), os.environ))
    assert file
    env = {name: value for name, value in os.environ.items() if not name.startswith("AISH")}
    env |= {"AISH_HOME": str(directory / weights.name), "AISH_SET_EMBEDDED__PATH": str(file), "CI": ""}
    _first_word(env, directory, QUESTIONS[0])  # reads the fixed part and keeps its state
    with busy_program():
        times = {"new process": min(_first_word(env, directory, question) for question in QUESTIONS[1:])}
        return times | asyncio.run(_conversation(file, env, directory))


def _first_word(env: dict[str, str], directory: Path, question: str) -> float:
    """Return the seconds from the start of `aish QUESTION` to its first byte."""
    started = time.perf_counter()
    with subprocess.Popen(
        [AISH, question], env=env, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout
        run.stdout.read(1)
        seconds = time.perf_counter() - started
        run.stdout.read()
    return seconds


async def _conversation(file: Path, env: dict[str, str], directory: Path) -> dict[str, float]:
    values = {"embedded": {"path": str(file)}, "notes": {"idle_seconds": 1}}
    start = Start(load([SettingsLayer(origin="bench", values=values)]), find_places(env), directory)
    program = open_program(start, progress=None)
    try:
        return await _situations(program, program.session())
    finally:
        await program.close()


async def _situations(program: Program, session: Session) -> dict[str, float]:
    await warm_up(session)
    await _ask(session, TALK)
    later = [await _ask(session, question) for question in QUESTIONS]
    jobs, after = Scheduler(JOBS), []
    for question in QUESTIONS[:ROUNDS]:
        await _ask(session, f"{question} Answer again.")
        jobs.start("after answer", session)
        await asyncio.sleep(1.5)  # the person reads; jobs for idle times have begun, too
        jobs.person_first()
        after.append(await _ask(session, question))
    lines = "\n".join(
        f"2026-11-19 12:00:{number % 60:02} worker[{number}] request {number * 7}" for number in range(2000)
    )
    session.history.hold(f"$ cat app.log\n{lines}")
    jobs.start("after command", session)
    await asyncio.sleep(_TYPING)
    jobs.person_first()
    cat = await _ask(session, "what does this log show?")
    await jobs.close()
    alone = await _alone(session, later[-1][1])
    return {
        "later": min(seconds for seconds, _ in later),
        "later, worst": max(seconds for seconds, _ in later),
        "after upkeep": max(seconds for seconds, _ in after),
        "after 2,000 lines": cat[0],
        "GB": _memory(os.getpid()),
        "alone, later": alone,
    }


async def _ask(session: Session, question: str) -> tuple[float, int]:
    """Return the seconds to the first word, and how many tokens were read for it."""
    events = [event async for event in take_turn(session, question, Nobody())]
    done = events[-1]
    assert isinstance(done, TurnDone) and done.timing and done.usage, done
    return (done.timing.first_word_ms or 0) / 1000, done.usage.prompt_tokens - done.usage.cached_tokens


async def _alone(session: Session, tokens: int) -> float:
    """Return the seconds in which llama.cpp reads so many new tokens and writes one."""
    assert session.backend.server
    server = await session.backend.server()
    chat = OpenAIChat(endpoint=server.endpoint, model="embedded", key=server.key, temperature=0.0)
    begin = {"role": "system", "content": "You are a program that reads. " * 40}
    took = []
    for number in range(ROUNDS + 1):
        words = " ".join(f"{number}{place}" for place in range(max((tokens - 10) // 3, 1)))
        request = ChatRequest(({**begin}, {"role": "user", "content": words}), max_tokens=1)
        began, read = time.perf_counter(), 1
        async with aclosing(chat.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextPiece):
                    seconds = time.perf_counter() - began
                if isinstance(event, Usage):
                    read = event.prompt_tokens - event.cached_tokens
        took.append(seconds * tokens / max(read, 1))
    return min(took[1:])  # the first one read the beginning


def _memory(parent: int) -> float:
    """Return the most memory, in gigabytes, that the child with the model has had."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
            if int(fields["PPid"]) == parent and b"llama_child" in (status.parent / "cmdline").read_bytes():
                return int(fields["VmHWM"].split()[0]) * 1024 / 1e9
        except (OSError, KeyError, ValueError):
            continue
    return 0.0


def figures(times: dict[str, float]) -> list[Figure]:
    """Return the figures of the measured models with what is wanted."""
    found = []
    for name, limits in LIMITS.items():
        for what, limit in limits.items():
            if (value := times.get(f"{name}, {what}")) is not None:
                is_size = what == "GB"
                told = f"{name}: memory" if is_size else f"{name}: first word, {what}"
                found.append(Figure(name=told, value=value, unit="GB" if is_size else "s", limit=limit))
        if alone := times.get(f"{name}, alone, later"):
            ratio = times[f"{name}, later"] / alone
            found.append(Figure(name=f"{name}: first word, later", value=ratio, unit="× llama.cpp alone", limit=2.0))
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measure(Path(scratch)), indent=1))
