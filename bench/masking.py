"""Masking benchmark: texts made of nothing but hints of secrets, which are the slowest to search.

One text for each needle of a rule, for the names with the signs that follow them, and for lines of them; and one that
mixes all of them, so that each kilobyte calls for nearly every rule. Nobody writes such texts; they bound the rest.
"""

import random
import sys
import time

from aish.memory.secret_patterns import find
from aish.memory.secret_rules import RULES
from bench.timing import Figure

SIZE, ROUNDS = 16_000, 3
NAMES = ("token", "pw", "password", "key", "secret", "api_key", "credentials")
SIGNS = ("=", ": ", " is ", " for a b is ", " ", '":"', "=abc1 ", ":\n", "=F4k3q9ZkP2mX7vLr8TnW ", "=hunter22;")
OTHERS = (*("x:yyyyyy@", "https://a:b@", "curl -u a:", "mysql -p ", "echo a|", "a:1:a:a:abcd\n", "machine a login b "),)
PROSE = "The capital of France is Paris, and nobody knows why. 2026-11-15 19:09:46 INFO GET /api/v1/users/42 200\n"


def hints() -> list[str]:
    """Return all hints, each the unit of a text."""
    needles = {needle for rule in RULES for needle in rule.needles.split()}
    return [*sorted(needles), *(name + sign for name in NAMES for sign in SIGNS), *OTHERS]


def mixed(seed: int = 17) -> str:
    """Return a text of all hints in a random order."""
    choice, units = random.Random(seed), hints()
    return "".join(choice.choice(units) for _ in range(SIZE // 4))[:SIZE]


def seconds_per_kilobyte(text: str) -> float:
    """Return the least time of several runs: other programs can only make one slower."""
    least = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        find(text)
        least = min(least, time.process_time() - started)
    return least / (len(text) / 1000)


def measure() -> dict[str, float]:
    texts = {unit: (unit * SIZE)[:SIZE] for unit in hints()}
    return {
        "masking, chain": seconds_per_kilobyte(("token=" * SIZE)[:SIZE]),
        "masking, prose": seconds_per_kilobyte((PROSE * SIZE)[:SIZE]),
        "masking, only hints": max(seconds_per_kilobyte(text) for text in texts.values()),
        "masking, all hints": seconds_per_kilobyte(mixed()),
    }


def figures(times: dict[str, float]) -> list[Figure]:
    texts = (
        ("masking prose", "masking, prose", 0.2),
        ("masking token=token=…", "masking, chain", 1),
        ("masking the slowest hint, repeated", "masking, only hints", 1),
        ("masking all hints, mixed", "masking, all hints", 1),
    )
    return [Figure(name=name, value=times[key] * 1000, unit="ms/KB", limit=limit) for name, key, limit in texts]


if __name__ == "__main__":
    if "--each" in sys.argv:
        slow = sorted(((seconds_per_kilobyte((unit * SIZE)[:SIZE]), unit) for unit in hints()), reverse=True)
        for seconds, unit in slow[:30]:
            print(f"{seconds * 1000:8.2f} ms/KB  {unit!r}")
    for figure in figures(measure()):
        print(f"{figure.name:40} {figure.value:8.2f} {figure.unit} (limit {figure.limit})")
