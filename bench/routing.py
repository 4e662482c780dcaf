"""Routing benchmark: how long it takes to say what a typed line is, with many programs and a long history."""

import statistics
import time
from pathlib import Path

from aish.action.shell_words import ShellWords
from aish.intake.routing import route
from aish.memory.command_history.past_commands import PastCommands
from aish.values.past_command import PastCommand
from bench.timing import Figure

PROGRAMS, COMMANDS, ROUNDS = 5_000, 200_000, 30
LINES = (
    "program17 restart all",
    "git commit -m 'change the title' && git push origin main",
    "find all files that are larger than a gigabyte, and tell me who made them",
    'for file in *.md; do wc -l "$file"; done',
    "kubectl get pods -n kube-system -o wide | grep web",
    "another9 sync everything",
)


def measure(directory: Path) -> dict[str, float]:
    """Return the median of each line's seconds for its slowest line."""
    directory.mkdir(parents=True)
    for number in range(PROGRAMS):
        program = directory / f"program{number}"
        program.touch(0o755)
    past = PastCommands()
    for number in range(COMMANDS):
        past.add(PastCommand(f"another{number % 500} build part{number}", float(number)))
    words = ShellWords(str(directory), str(directory))
    words.has_run = lambda word: past.ran(word) > 1

    def seconds(line: str) -> float:
        started = time.perf_counter()
        route(line, words)
        return time.perf_counter() - started

    slowest = max(statistics.median(seconds(line) for _ in range(ROUNDS)) for line in LINES)
    return {"routing, slowest line": slowest}


def figures(times: dict[str, float]) -> list[Figure]:
    value = times["routing, slowest line"] * 1000
    return [Figure(name="routing a line", value=value, unit=f"ms with {PROGRAMS:,} programs", limit=1)]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(f"{1000 * measure(Path(folder) / 'programs')['routing, slowest line']:.2f} ms")
