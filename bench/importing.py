"""Import benchmark: turns a second of processor time and memory for 200 MB of sessions.

One process reads, masks and writes them; another is the whole of `aish import`, which indexes them, too.

python -m bench.importing FILE DIRECTORY         imports one file in this process, and prints its figures as JSON
python -m bench.importing --verb FILE DIRECTORY  the same with the verb, and DIRECTORY as its home
"""

import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import time
from itertools import accumulate, product
from pathlib import Path
from types import SimpleNamespace

from aish.__main__ import main
from aish.memory.fingerprint import fingerprint
from aish.memory.importers import read
from aish.memory.importing import Importer
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from bench.timing import Figure

SIZE = 200_000_000  # bytes
WORDS = "the loom jams because a thread is loose and the reed presses it against the frame while weaving plain cloth"
SYLLABLES = "ba den fi gol hu ka lem mi nor pu ras se ton vi wal ze bri clo dra fle gri sto tra plu sha che wo yel ja"


def vocabulary() -> tuple[list[str], list[float]]:
    """Return 24,000 words and their cumulative weights. Few of them are frequent, as in any language."""
    words = [*WORDS.split(), *map("".join, product(SYLLABLES.split(), repeat=3))]
    return words, list(accumulate(1 / (place + 3) for place in range(len(words))))


def write(path: Path, size: int) -> int:
    """Write a session file of Claude Code with questions, answers and documents, and return the number of turns."""
    rng, (words, weights), number = random.Random(17), vocabulary(), 0

    def text(count: int) -> str:
        return " ".join(rng.choices(words, cum_weights=weights, k=count))

    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            role = "assistant" if number % 3 else "user"
            document = "\n".join(text(20) for _ in range(10))
            call = {"type": "tool_use", "id": f"t{number}", "name": "Write", "input": {"content": document}}
            content = [{"type": "text", "text": text(100)}, call] if number % 3 else text(60)
            head = {"sessionId": f"s{number // 400}", "uuid": f"{number:08x}-0000-0000-0000-000000000000", "type": role}
            stamp = {"timestamp": f"2026-05-04T08:{number // 60 % 60:02}:{number % 60:02}Z", "cwd": "/home/ada/loom"}
            file.write(json.dumps(head | stamp | {"message": {"role": role, "content": content}}) + "\n")
            number += 1
    return number


def imported(path: Path, directory: Path) -> dict[str, float]:
    """Import a file, and return the turns, the processor time and the peak of memory."""
    redaction = Redaction(directory / "salt", lambda: SimpleNamespace(redact=redact, fingerprint=fingerprint))
    started = time.process_time()
    result = Importer(directory / "sessions", "claude-code", redaction).take(read("claude-code", path))
    return {"turns": result.turns, "seconds": time.process_time() - started, "peak": peak_memory()}


def imported_by_verb(path: Path, home: Path) -> dict[str, float]:
    """Run `aish import` in this process, and return the same figures; loading the program counts."""
    os.environ["AISH_HOME"], sys.argv[1:] = str(home), ["import", "--json", str(path)]
    with contextlib.redirect_stdout(io.StringIO()) as told:
        assert main() == 0
    [report] = json.loads(told.getvalue())
    return {"turns": report["turns"], "seconds": time.process_time(), "peak": peak_memory()}


def peak_memory() -> float:
    """Return the largest resident set of this process in megabytes."""
    status = Path("/proc/self/status").read_text()  # `ru_maxrss` would count the process that started this one
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def measure(directory: Path) -> dict[str, float]:
    directory.mkdir(parents=True)
    path = directory / "session.jsonl"
    turns = write(path, SIZE)
    times: dict[str, float] = {}
    for name, options in {"import": [], "whole import": ["--verb"]}.items():
        command = [sys.executable, "-m", "bench.importing", *options, str(path), str(directory / name)]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        assert found["turns"] == turns
        times |= {f"{name}, turns a second": turns / found["seconds"], f"{name}, MB": found["peak"]}
    return times


def figures(times: dict[str, float]) -> list[Figure]:
    labels = {"import": "importing sessions", "whole import": "`aish import` of sessions"}
    found = []
    for name, label in labels.items():
        speed, peak = times[f"{name}, turns a second"], times[f"{name}, MB"]
        found += [
            Figure(name=label, value=speed, unit="turns a second, 2 KB each", limit=4_000, at_least=True),
            Figure(name=f"memory for {label}", value=peak, unit="MB for 200 MB", limit=60),
        ]
    return found


if __name__ == "__main__":
    *options, file, home = sys.argv[1:]
    print(json.dumps((imported_by_verb if options else imported)(Path(file), Path(home))))
