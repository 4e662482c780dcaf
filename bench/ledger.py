"""Memory benchmarks: adding compared with bare writes, opening and listing a long ledger, and eight writers at once.

python -m bench.ledger PATH N   is one of the writers: it prints `ready`, waits for a line, and adds N items.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from aish.memory.ledger import Ledger
from aish.opening import open_program
from aish.places import find_places
from aish.prompt.background import BackgroundLayer
from aish.settings.layers import SettingsLayer, load
from aish.storage.lines import decode, encode
from aish.views.start import Start
from bench.timing import Figure, interleaved, whole_run

START = datetime(2026, 1, 1, tzinfo=UTC)
MANY, FEW, ADDS, WRITERS = 100_000, 100, 200, 8


def measure(directory: Path, aish: str, env: dict[str, str]) -> dict[str, float]:
    """Return all measured seconds by name."""
    directory.mkdir()
    adding = Adding(directory / "adds")
    times = interleaved(15, {"bare durable append": adding.bare, "aish, durable add": adding.ours})
    homes = {count: write_home(directory / str(count), count) for count in (FEW, MANY)}
    times |= interleaved(
        15, {f"aish, open and inject {count}": partial(open_and_inject, home) for count, home in homes.items()}
    )
    there = env | {"AISH_HOME": str(homes[MANY])}
    times |= interleaved(
        5,
        {
            f"aish, list {MANY}": lambda: whole_run([aish, "memory", "list"], there),
            f"aish, list {MANY} as JSON": lambda: whole_run([aish, "memory", "list", "--json"], there),
        },
    )
    return times | interleaved(
        5,
        {
            "one writer": lambda: writers(directory / f"one-{time.monotonic_ns()}", 1),
            "eight writers": lambda: writers(directory / f"eight-{time.monotonic_ns()}", WRITERS),
        },
    )


def figures(times: dict[str, float]) -> list[Figure]:
    """Compute the figures from the times."""
    return [
        Figure(
            name="durable add",
            value=times["bare durable append"] / times["aish, durable add"],
            unit="× bare append",
            limit=0.8,
            at_least=True,
        ),
        Figure(
            name="open and inject 100,000",
            value=times["aish, open and inject 100000"] / times["aish, open and inject 100"],
            unit="× with 100 items",
            limit=3,
        ),
        Figure(name="list 100,000", value=times["aish, list 100000"], unit="s", limit=1),
        Figure(
            name="eight writers together",
            value=times["one writer"] / times["eight writers"],
            unit="× one writer",
            limit=0.7,
            at_least=True,
        ),
    ]


class Adding:
    """Adds the same lines with aish and with the minimum that is durable and safe with other writers."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._path = directory / "bare.jsonl"
        self._ledger = Ledger(directory / "memory.jsonl", directory / "index", now=lambda: datetime.now(UTC))
        self._number = 0

    def bare(self) -> float:
        lines = [encode(item(self._number + place)) for place in range(ADDS)]
        started = time.perf_counter()
        for line in lines:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(fd, line)
            os.fdatasync(fd)
            os.close(fd)
        return (time.perf_counter() - started) / ADDS

    def ours(self) -> float:
        contents = [str(item(self._number + place)["content"]) for place in range(1, ADDS + 1)]
        self._number += ADDS
        started = time.perf_counter()
        for content in contents:
            self._ledger.add("fact", content, {"source": "user"})
        return (time.perf_counter() - started) / ADDS


def item(number: int) -> dict[str, object]:
    """Return one item of typical length."""
    time = START + timedelta(minutes=number)
    content = f"The deploy window of project {number} is Tuesday from 14:00 to 16:00, unless there is a freeze."
    return {"id": number, "ts": f"{time:%Y-%m-%dT%H:%M:%S}.000Z", "kind": "fact", "content": content, "source": "user"}


def write_home(home: Path, count: int) -> Path:
    """Write a home with a ledger of `count` items, opened once so that it has its index."""
    path = find_places({"AISH_HOME": str(home)}).memory
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(encode({"meta": {"format": 1, "what": "memory"}}))
        file.writelines(encode(item(number)) for number in range(1, count + 1))
    open_and_inject(home)
    return home


def open_and_inject(home: Path) -> float:
    """Return the seconds the first question waits for: opening the ledger and building the prompt block."""
    program = open_program(
        Start(load([SettingsLayer(origin="bench", values={})]), find_places({"AISH_HOME": str(home)}), home)
    )
    session = program.session()
    started = time.perf_counter()
    background = session.layer(BackgroundLayer)
    background.read(session)
    seconds = time.perf_counter() - started
    assert len(background.ids) > 10
    program.memory.close()
    return seconds


def writers(directory: Path, count: int) -> float:
    """Return the seconds per item when `count` processes add at once; fail if the file is wrong afterwards."""
    directory.mkdir()
    path, each = directory / "memory.jsonl", 8 * ADDS // count
    command = [sys.executable, "-m", "bench.ledger", str(path), str(each)]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
    for child in children:
        assert child.stdout and child.stdout.readline() == b"ready\n"
    started = time.perf_counter()
    for child in children:
        assert child.stdin
        child.stdin.write(b"go\n")
        child.stdin.flush()
    assert all(child.wait() == 0 for child in children)
    seconds = time.perf_counter() - started
    records = [decode(line) for line in path.read_bytes().splitlines()]
    ids = [record["id"] for record in records if record and "id" in record]
    assert None not in records and ids == list(range(1, count * each + 1)), "bad lines or ids"
    return seconds / (count * each)


def run_writer(path: Path, count: int) -> None:
    ledger = Ledger(path, None, now=lambda: datetime.now(UTC))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        ledger.add("fact", json.dumps([os.getpid(), number]), {"source": "user"})


if __name__ == "__main__":
    run_writer(Path(sys.argv[1]), int(sys.argv[2]))
