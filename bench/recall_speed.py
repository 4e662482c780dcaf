"""Recall benchmarks: the time to choose what is brought to a turn, out of ten thousand memos, and to load them."""

import random
import time
from datetime import timedelta

from aish.memory.recall.engine import RecallEngine
from aish.values.recall import LAYERS, Memo
from bench.crowd import DAYS, SEED, UNTIL, Speech, questions
from bench.finding import embedder
from bench.timing import Figure

MEMOS, ASKED = 10_000, 200
KINDS = ("fact", "decision", "preference", "state", "todo", "error", "command", "person", "event", "note")


def memos(count: int) -> list[Memo]:
    """Return memos with the words of a crowd."""
    chance = random.Random(SEED)
    speech = Speech(chance)
    made = []
    for number in range(count):
        speech.turn_to(number)
        time = UNTIL - timedelta(days=DAYS * chance.random())
        text = speech.turn(own=True)
        made.append(Memo(f"m{number}", LAYERS[number % len(LAYERS)], chance.choice(KINDS), text, time))
    return made


def measure() -> dict[str, float]:
    """Return all measured seconds by name."""
    engine, made = RecallEngine(embedder()), memos(MEMOS)
    times = {}
    for name, some in (("first load", made), ("load with a change", [*made[:-1], made[0]._replace(key="new")])):
        started = time.perf_counter()
        engine.load(some)
        times[f"recall, {name} of {MEMOS:,} memos"] = time.perf_counter() - started
    seen = []
    for question in questions(ASKED):
        started = time.perf_counter()
        engine.choose(question, UNTIL)
        seen.append(time.perf_counter() - started)
    seen.sort()
    return times | {"recall, median": seen[ASKED // 2], "recall, 95th percentile": seen[int(ASKED * 0.95)]}


def figures(times: dict[str, float]) -> list[Figure]:
    return [
        Figure(
            name="recall, 95th percentile",
            value=times["recall, 95th percentile"] * 1000,
            unit=f"ms in {MEMOS:,} memos",
            limit=10,
        )
    ]


if __name__ == "__main__":
    for name, seconds in measure().items():
        print(f"{name:<42} {1000 * seconds:9.2f} ms")
