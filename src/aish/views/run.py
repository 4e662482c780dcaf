"""`aish run`: judge a command and run it in a fence, without a person. What would ask is not run."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from aish.acting.command_fences import CHANGING, LOOKING, open_fences
from aish.acting.local_judge import LocalJudge
from aish.acting.unattended import Ran, Unattended
from aish.action.allowed import Allowed
from aish.memory.redaction import Redaction
from aish.storage.files import write_all
from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.text import for_terminal, json_text
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.start import Start


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
    fences = open_fences(start.settings.commands, start.places, doors.redaction)
    judge = LocalJudge(start.places.policy_file, Allowed(start.places.allowed, start.settings.commands.allow), fences)
    runner = Unattended(judge, fences, CHANGING if options.fence == "changing" else LOOKING)
    if options.jsonl:
        for number, line in enumerate(sys.stdin.buffer, start=1):
            if line.strip():
                print(json_text(runner.run(*_request(line, number, start.cwd)).record()), flush=True)
        return OK
    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not words:
        raise BadUsage("no command; usage: aish run [--fence looking|changing] -- COMMAND")
    return _show(runner.run(words[0] if len(words) == 1 else shlex.join(words), start.cwd), as_json=options.json)


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
