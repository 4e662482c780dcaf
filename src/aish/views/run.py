"""`aish run`: judge a command and run it in a fence, without a person. What would ask is not run."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from aish.acting.command_fences import CHANGING, LOOKING, CommandFences, Permit, open_fences
from aish.acting.command_judge import CommandJudge
from aish.action.allowed import Allowed
from aish.action.command_runner import run_captured
from aish.action.fence.wants import shown_from
from aish.memory.redaction import Redaction
from aish.places import find_project, home_directory
from aish.storage.files import write_all
from aish.values.errors import BadUsage
from aish.values.text import for_terminal, json_text
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.start import Start


class Ran(NamedTuple):
    """What happened to one command. `status` is None if it did not run."""

    command: str
    verdict: str
    reason: str
    status: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: tuple[str, ...] = ()

    def record(self) -> dict[str, object]:
        return {
            "command": self.command,
            "ran": self.status is not None,
            "verdict": self.verdict,
            "reason": self.reason,
            "status": self.status,
            "stdout": self.stdout.decode("utf-8", "replace"),
            "stderr": self.stderr.decode("utf-8", "replace"),
            "stopped": list(self.stopped),
        }


class RunDoors(NamedTuple):
    """What this verb needs: the settings and places, and what finds secrets."""

    start: Start
    redaction: Redaction


def run(doors: RunDoors, arguments: Sequence[str]) -> int:
    """Run one command, or one for each line of standard input."""
    parser = make_parser("aish run", "Run a command in a fence if it would run without asking. Nobody is asked.")
    parser.add_argument("--jsonl", action="store_true", help='lines {"command", "cwd"?} in, {"command", "ran", …} out')
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--fence",
        choices=["looking", "changing"],
        default="looking",
        help="looking: what only reads (default); changing: you also allow changes to the project",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command; several words are its arguments")
    options = parser.parse_args(arguments)
    start = doors.start
    runner = Runner(start, doors.redaction, CHANGING if options.fence == "changing" else LOOKING)
    if options.jsonl:
        for number, line in enumerate(sys.stdin.buffer, start=1):
            if line.strip():
                print(json_text(runner.run(*_request(line, number, start.cwd)).record()), flush=True)
        return OK
    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not words:
        raise BadUsage("no command; usage: aish run [--fence looking|changing] -- COMMAND")
    return _show(runner.run(words[0] if len(words) == 1 else shlex.join(words), start.cwd), as_json=options.json)


class Runner:
    """Judges commands and runs those that need no person."""

    def __init__(self, start: Start, redaction: Redaction, permit: Permit) -> None:
        options = start.settings.commands
        self._fences: CommandFences = open_fences(options, start.places, redaction)
        self._judge = CommandJudge(start.places.policy_file, Allowed(start.places.allowed, options.allow), self._fences)
        self._permit = permit

    def run(self, command: str, directory: Path) -> Ran:
        """Run a command if it may run. Raises `StoreTrouble` if the fence cannot be made."""
        project = find_project(directory)
        verdict = self._judge(command, project)
        consented = self._permit.fence == "changing" and verdict.verdict == "ask" and verdict.effect == "change"
        if verdict.verdict != "run" and not (consented and self._fences.kind):
            return Ran(command, verdict.verdict, verdict.reason)
        permit = self._permit
        with self._fences.around(permit, os.environ, str(directory), project) as (fence, env):
            done = run_captured(command, env=env, directory=str(directory), fence=fence)
        wants = shown_from(done.wants, os.path.realpath(directory), str(home_directory()))
        told = tuple(want.text for want in wants)
        return Ran(command, verdict.verdict, verdict.reason, done.status, done.stdout, done.stderr, told)


def _show(ran: Ran, *, as_json: bool) -> int:
    """Print the output of the command; return its status, or 1 if it did not run."""
    if as_json:
        print(json_text(ran.record()))
    elif ran.status is None:
        print(f"aish: not run: {for_terminal(ran.reason)}", file=sys.stderr)
    else:
        write_all(1, ran.stdout)
        write_all(2, ran.stderr)
        for text in ran.stopped:
            print(f"aish: the fence stopped it: it {for_terminal(text)}", file=sys.stderr)
    return NOTHING if ran.status is None else ran.status


def _request(line: bytes, number: int, directory: Path) -> tuple[str, Path]:
    try:
        data = json.loads(line)
        command, where = data["command"], data.get("cwd")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadUsage(f'line {number} is not {{"command": …, "cwd"?: …}}') from None
    if not isinstance(command, str) or not (where is None or isinstance(where, str)):
        raise BadUsage(f'line {number} is not {{"command": …, "cwd"?: …}}')
    place = directory / where if where else directory
    if not place.is_dir():
        raise BadUsage(f"line {number}: {place} is not a directory")
    return command, place
