"""`aish route`: tell whether a line is a command or a question, without running it."""

import json
import os
import sys
from collections.abc import Iterator, Sequence

from aish.action.shell_words import WIDESPREAD_ALIASES, ShellWords
from aish.intake.line import ColonCommand, read_line
from aish.intake.operands import KnownWords
from aish.intake.routing import route
from aish.values.errors import BadUsage
from aish.values.text import for_terminal, json_text
from aish.views.arguments import REST, VerbArguments
from aish.views.exit_codes import OK
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Route one line from the arguments, or each line of standard input."""
    parser = VerbArguments(
        "aish route",
        "Tell whether a line is a command or a question, or whether the user must be asked.",
        allow_abbrev=False,
    )
    parser.add_argument("--jsonl", action="store_true", help='lines {"line": …} in, {"line", "route", "reason"} out')
    parser.add_argument("line", nargs=REST, help="the line; without one, standard input is read")
    options = parser.parse_args(arguments)
    path, few = os.environ.get("PATH", os.defpath), bool(options.line)
    words = ShellWords(path, str(start.cwd), aliases=WIDESPREAD_ALIASES, few=few)
    if options.jsonl:
        for line in _json_lines():
            print(json_text(_answer(line, words)))
        return OK
    given = options.line[1:] if options.line[:1] == ["--"] else options.line
    lines = [" ".join(given)] if given else sys.stdin.read().splitlines()
    for line in lines:
        if isinstance(typed := read_line(line), ColonCommand):  # with --jsonl there are just three kinds
            print(f"aish: it is the command :{for_terminal(typed.name)}")
            continue
        answer = _answer(line, words)
        print(f"{answer['route']}: {for_terminal(answer['reason'])}")
    return OK


def _answer(line: str, words: KnownWords) -> dict[str, str]:
    found = route(line, words)
    return {"line": line, "route": found.kind, "reason": found.reason}


def _json_lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            try:
                text = json.loads(line)["line"]
            except (ValueError, KeyError, TypeError, RecursionError):
                text = None
            if not isinstance(text, str):
                raise BadUsage(f'line {number} is not {{"line": …}}')
            yield text
