"""Give eight small jobs of a developer to a model, through the whole program, and count those that it does.

    python tools/jobs.py                          the model of your settings: its config.toml is copied
    python tools/jobs.py --weights FILE.gguf      the embedded model with other weights

Every question of aish is answered with yes, but never one about leaving a fence. Each job works in a scratch project.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import terminal as terminals
from developer_jobs import JOBS, DeveloperJob
from workshop import AtGate, Workshop

from aish.places import find_places

_SECONDS = 600.0  # for one question or answer of a slow model


class Result(NamedTuple):
    """How one job ended."""

    name: str
    done: bool
    seconds: float
    questions: int
    trouble: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the jobs that a model does.")
    parser.add_argument("--weights", type=Path, help="a GGUF file for the embedded model")
    parser.add_argument("--window", type=int, default=8192, help="tokens of context for the embedded model")
    parser.add_argument("--only", default="", help="jobs whose name has this text")
    parser.add_argument("--keep", type=Path, help="a directory that keeps the projects and conversations")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    terminals.SECONDS = _SECONDS
    results = []
    for number, job in enumerate(JOBS):
        if options.only in job.name:
            with tempfile.TemporaryDirectory() as scratch:
                top = (options.keep or Path(scratch)) / f"job{number}"
                top.mkdir(parents=True)
                results.append(_do(job, top, _environment(options.weights, options.window)))
            if not options.json:
                print(_line(results[-1]), flush=True)
    if options.json:
        print(json.dumps([result._asdict() for result in results]))
    else:
        print(f"{sum(result.done for result in results)} of {len(results)} jobs done")
    return 0


def _environment(weights: Path | None, window: int) -> dict[str, str]:
    env = {"AISH_SET_COMMANDS__ROUNDS": "8", "AISH_SET_COMMANDS__FILE_TOOLS": "true", "AISH_SET_EMBEDDED__THREADS": "0"}
    env["AISH_SET_CONTEXT__TOKEN_BUDGET"] = str(window * 3 // 4)
    if weights:
        env |= {"AISH_SET_MODEL": "embedded", "AISH_SET_EMBEDDED__PATH": str(weights.resolve())}
        env["AISH_SET_EMBEDDED__WINDOW"] = str(window)
    return env


def _do(job: DeveloperJob, top: Path, env: dict[str, str]) -> Result:
    workshop = Workshop(top)
    own = find_places({}).config_file
    if own.is_file() and "AISH_SET_MODEL" not in env:
        workshop.configure(own.read_text(encoding="utf-8"))
    job.make(workshop.directory)
    started, trouble, asked = time.monotonic(), "", 0
    with AtGate(workshop, **env) as terminal:
        try:
            terminal.ask(job.question)
            terminal.wait_for(job.question[:40])
            terminal.agree()
        except AssertionError as error:  # it took too long
            trouble = str(error)[:200]
        asked = terminal.questions
    seconds = time.monotonic() - started
    return Result(job.name, job.is_done(workshop.directory, _answers(workshop)), seconds, asked, trouble)


def _answers(workshop: Workshop) -> str:
    """The last answer that the model gave."""
    lines = [json.loads(line) for journal in workshop.journals() for line in journal.read_bytes().splitlines()]
    found = [str(line["content"]) for line in lines if line.get("role") == "assistant" and line.get("content")]
    return found[-1] if found else ""


def _line(result: Result) -> str:
    state = "done    " if result.done else "not done"
    return f"{state} {result.name:<28} {result.seconds:6.1f} s  {result.questions} questions  {result.trouble}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
