"""The working state without a model: the last goal, files and commands, the last error, and the open question.

Pure: turns in, lines out. It keeps `SESSION.md` useful where no model can be asked, and while one is busy.
"""

import json
from collections.abc import Iterable, Sequence

from aish.memory.notes.transcript import RanCommand, SaidTurn
from aish.memory.notes.working_state import ASKED, OPEN, StateLine, bounded
from aish.values.patterns import pattern
from aish.values.text import one_line

_PATH = pattern(r"(?<![\w/.:@-])(?:~|\.{1,2})?/?(?:[\w.+-]+/)*[\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")
_NO_FILE = pattern(r"(?i)^(?:e\.g|i\.e|etc|\d+(?:\.\d+)*|.*\.(?:com|org|net|io|example|test))$")
_SMALL_TALK = pattern(
    r"(?i)^(?:hi|hello|hey|thanks?(?: you)?|thank you.*|ok(?:ay)?|yes|no|danke|ja|nein|merci|gracias)\W*$"
)
_SHORT = 12  # characters; a shorter question rarely names a goal
_LOOKING = frozenset("ls ll la cd pwd clear history exit which type man help echo date whoami".split())
_TOOL_PATHS = ("path", "file", "file_path", "filename")


def plain_state(turns: Sequence[SaidTurn], old: Sequence[StateLine] = ()) -> list[StateLine]:
    """Return the state after these turns. What they say nothing about is kept from the old state."""
    questions = [turn for turn in turns if turn.role == "user" and turn.text.strip()]
    asked = [turn for turn in questions if not _SMALL_TALK.match(turn.text.strip())]
    commands = [command for turn in turns for command in turn.commands]
    new: list[StateLine] = []
    goal = next((turn for turn in reversed(asked) if len(turn.text.strip()) >= _SHORT), None)
    if goal:
        stated = any(line.field == "goal" and not line.text.startswith((ASKED, OPEN)) for line in old)
        field = "state" if stated else "goal"  # a goal that was stated is more than a question
        prefix = OPEN if _is_open(turns, goal) else ASKED
        new.append(StateLine(field, one_line(f"{prefix}{goal.text}", 200), goal.origin))
    new += [StateLine("file", path, origin) for path, origin in _files(turns)]
    new += [StateLine("command", one_line(one.line, 160), one.origin) for one in _worth_noting(commands)]
    new += _last_error(commands)
    fields = {line.field for line in new}
    left = _still_true(old, commands, answered=bool(asked))
    return bounded([*new, *(line for line in left if line.field not in fields or _keeps(line, new))])


def _still_true(old: Sequence[StateLine], commands: Sequence[RanCommand], *, answered: bool) -> list[StateLine]:
    """Leave out what the new turns have made untrue: earlier questions, and errors of commands that succeed now."""
    good = [command.line for command in commands if not command.status]
    fixed = any(line.field == "error" and any(f"`{one}`" in line.text for one in good) for line in old)
    return [
        line
        for line in old
        if not (answered and line.text.startswith((ASKED, OPEN))) and not (fixed and line.field == "error")
    ]


def _keeps(line: StateLine, new: Sequence[StateLine]) -> bool:
    """Files and commands add up until their limit; a newer goal, state or error replaces the older one."""
    repeated = any(one.field == line.field and one.text.casefold() == line.text.casefold() for one in new)
    return not repeated and line.field not in ("goal", "error")


def _is_open(turns: Sequence[SaidTurn], question: SaidTurn) -> bool:
    """Has a question no complete answer?"""
    after = [turn for turn in turns if turn.number > question.number and turn.role == "assistant"]
    return not after or not after[-1].complete


def _files(turns: Iterable[SaidTurn]) -> list[tuple[str, str]]:
    """Return the files that the user named or that a command or tool touched, newest first, each with its origin.

    A model that read foreign text may call a tool with a sentence instead of a path.
    """
    found: dict[str, str] = {}
    for turn in reversed(list(turns)):
        texts = [(turn.text, "user")] if turn.role == "user" else []
        texts += [(command.line, command.origin) for command in reversed(turn.commands)]
        for text, origin in texts:
            for path in _PATH.findall(text):
                if not _NO_FILE.match(path):
                    found.setdefault(path, origin)
        for _, arguments in turn.tools:
            for path in _argument_paths(arguments):
                found.setdefault(path, "user" if _PATH.fullmatch(path) else turn.origin)
    return list(found.items())[:8]


def _argument_paths(arguments: str) -> list[str]:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    values = [given.get(name) for name in _TOOL_PATHS] if isinstance(given, dict) else []
    return [one_line(value, 160) for value in values if isinstance(value, str) and value]


def _worth_noting(commands: Sequence[RanCommand]) -> list[RanCommand]:
    """Return the newest commands that do more than look around, each once."""
    found: dict[str, RanCommand] = {}
    for command in reversed(commands):
        if command.line.split() and command.line.split()[0] not in _LOOKING:
            found.setdefault(command.line, command)
    return list(found.values())[:6]


def _last_error(commands: Sequence[RanCommand]) -> list[StateLine]:
    """The last failed command, unless the same one succeeded later. What it printed is not the user's text."""
    for place in range(len(commands) - 1, -1, -1):
        failed = commands[place]
        if failed.status and failed.status != 130:
            if any(later.line == failed.line and not later.status for later in commands[place:]):
                return []
            text = f"`{failed.line}` ended with exit status {failed.status}"
            told = [StateLine("error", one_line(text, 200), failed.origin)]
            if failed.last_output:
                told.append(StateLine("error", one_line(f"It printed: {failed.last_output}", 200), "tool:exec"))
            return told
    return []
