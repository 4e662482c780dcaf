"""Fence benchmarks: a command in the looking fence compared with the same command without one.

python -m bench.fence DIRECTORY   prints the times. A process of its own, because a large one forks slowly.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from aish.acting.command_fences import LOOKING, UNFENCED, CommandFences, Permit
from aish.action.command_runner import run_captured
from bench.timing import Figure, interleaved

COMMANDS = 20


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds for `true`, bare and in each kind of fence that is available."""
    done = subprocess.run([sys.executable, "-m", "bench.fence", str(directory)], stdout=subprocess.PIPE, check=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def timed(directory: Path) -> dict[str, float]:
    project = directory / "fenced"
    project.mkdir()
    (project / "README.md").write_text("hello\n", encoding="utf-8")
    home = Path.home()
    works: dict[str, Callable[[], float]] = {"bare, true": partial(_run, None, UNFENCED, project)}
    for kind in ("landlock", "bubblewrap"):
        fences = CommandFences(kind, [directory], home=home, has_secret=lambda text: False)
        if fences.kind:
            works[f"{kind}, true"] = partial(_run, fences, LOOKING, project)
    return interleaved(5, works)


def _run(fences: CommandFences | None, permit: Permit, project: Path) -> float:
    started = time.perf_counter()
    for _ in range(COMMANDS):
        around = fences.around(permit, os.environ, str(project), project) if fences else nullcontext((None, os.environ))
        with around as (fence, env):
            run_captured("true", env=env, directory=str(project), fence=fence)
    return (time.perf_counter() - started) / COMMANDS


def figures(times: dict[str, float]) -> list[Figure]:
    """Compute the figures from the times."""
    return [
        Figure(
            name=f"looking fence, {kind}",
            value=1000 * (times[f"{kind}, true"] - times["bare, true"]),
            unit="ms",
            limit=15,
        )
        for kind in ("landlock", "bubblewrap")
        if f"{kind}, true" in times
    ]


if __name__ == "__main__":
    print(json.dumps(timed(Path(sys.argv[1]))))
