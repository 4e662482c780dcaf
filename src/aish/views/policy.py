"""`aish policy`: tell whether a command would run, ask or be refused, and why. Nothing is executed."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aish.action.command_table import CommandTable, load_table
from aish.action.policy import judge
from aish.values.errors import BadUsage
from aish.values.text import json_text
from aish.values.verdicts import Verdict
from aish.views.arguments import REST, VerbArguments
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Judge one command, or one for each line of standard input."""
    parser = VerbArguments(
        "aish policy", "Tell whether a command would run without asking. Nothing is executed.", allow_abbrev=False
    )
    parser.add_argument("--jsonl", action="store_true", help='lines {"command": …} in, {"command", "verdict", …} out')
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("command", nargs=REST, help="the command; without one, standard input")
    options = parser.parse_args(arguments)
    table = load_table(_own(start.places.policy_file))
    if options.jsonl:
        for number, line in enumerate(sys.stdin.buffer, start=1):
            if line.strip():
                command = _command(line, number)
                print(json_text(_record(command, judge(command, table))))
        return OK
    return _one(options.command, table, as_json=options.json)


def _own(path: Path) -> Mapping[str, Any]:
    """Read the user's own entries. Raises `BadUsage` if the file is invalid."""
    try:
        text = path.read_text(encoding="utf-8")
        import tomllib  # here, because most users have no such file

        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadUsage(f"{path} cannot be read: {error}") from None


def _one(words: list[str], table: CommandTable, *, as_json: bool) -> int:
    """Judge one command. The exit code is 1 if it would not run without asking."""
    if words[:1] == ["--"]:
        words = words[1:]
    elif words[-1:] == ["--json"] and len(words) > 1 and not as_json:  # as other verbs allow it at the end
        words, as_json = words[:-1], True
    if not words:
        command = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    else:  # one word is a command line, several are the arguments of a command, which a blank or `;` does not split
        command = words[0] if len(words) == 1 else shlex.join(words)
    verdict = judge(command, table)
    if as_json:
        print(json_text(_record(command, verdict)))
    else:
        Screen().say(f"{verdict.verdict} ({verdict.effect}): {verdict.reason}")
    return OK if verdict.verdict == "run" else NOTHING


def _record(command: str, verdict: Verdict) -> dict[str, object]:
    record: dict[str, object] = {"command": command, "verdict": verdict.verdict, "effect": verdict.effect}
    record["reason"] = verdict.reason
    return record


def _command(line: bytes, number: int) -> str:
    try:
        command = json.loads(line)["command"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadUsage(f'line {number} is not {{"command": …}}') from None
    if not isinstance(command, str):
        raise BadUsage(f'line {number} is not {{"command": …}}')
    return command
