"""Import benchmark: turns a second and memory for 200 MB of sessions, masked and written; indexing is not part of it.

python -m bench.importing FILE DIRECTORY   imports one file in this process, and prints its figures as JSON
"""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from aish.memory.fingerprint import fingerprint
from aish.memory.importers import read
from aish.memory.importing import Importer
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from bench.timing import Figure

SIZE = 200_000_000  # bytes
WORDS = "the loom jams because a thread is loose and the reed presses it against the frame while weaving plain cloth"


def write(path: Path, size: int) -> int:
    """Write a session file of Claude Code with questions, answers and documents, and return the number of turns."""
    rng, words, number = random.Random(17), WORDS.split(), 0

    def text(count: int) -> str:
        return " ".join(rng.choices(words, k=count))

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
    seconds = time.process_time() - started
    status = Path("/proc/self/status").read_text()  # `ru_maxrss` would count the process that started this one
    peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
    return {"turns": result.turns, "seconds": seconds, "peak": peak}


def measure(directory: Path) -> dict[str, float]:
    directory.mkdir(parents=True)
    path = directory / "session.jsonl"
    turns = write(path, SIZE)
    command = [sys.executable, "-m", "bench.importing", str(path), str(directory / "home")]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    assert found["turns"] == turns
    return {"import, turns a second": turns / found["seconds"], "import, MB": found["peak"]}


def figures(times: dict[str, float]) -> list[Figure]:
    speed, peak = times["import, turns a second"], times["import, MB"]
    return [
        Figure(name="importing sessions", value=speed, unit="turns a second, 2 KB each", limit=4_000, at_least=True),
        Figure(name="memory for importing 200 MB", value=peak, unit="MB", limit=60),
    ]


if __name__ == "__main__":
    print(json.dumps(imported(Path(sys.argv[1]), Path(sys.argv[2]))))
