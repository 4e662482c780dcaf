"""The steps that the model took by itself: commands that ran unasked, calls of tools, and its thinking.

Each is shown in one line, and all of it is kept.

Pure: values in, values out.
"""

import json
from collections.abc import Iterator

from aish.values.named_tuple import NamedTuple
from aish.values.text import counted, exactly, foreign, one_line

SHORT = 5  # lines of output that are shown at once
_SHORT_CHARS = 1_000
_MOST_STEPS = 200
_MOST_KEPT = 4 << 20  # characters of all steps
_MOST_ARGUMENTS = 80  # characters
_MOST_REASON = 120
_CONTENTS = frozenset(("old", "new", "content"))  # of changes, whose difference was shown


class TakenStep(NamedTuple):
    """One step. `what` is safe for the terminal, `output` is not. `ended` says how, unless it went well."""

    number: int
    what: str
    output: str
    size: str
    ended: str = ""
    seconds: float | None = None

    @property
    def line(self) -> str:
        """The step in one line."""
        took = "" if self.seconds is None else f"{self.seconds:.1f} s"
        return " · ".join(part for part in (f"{self.number} {self.what}", self.size, self.ended, took) if part)


class StepList:
    """The steps of the last question that led to some, numbered from 1. If they get too many, the oldest go."""

    def __init__(self) -> None:
        self._steps: list[TakenStep] = []
        self._taken = 0
        self._is_new = False  # whether the next step is the first one for a new question

    def __iter__(self) -> Iterator[TakenStep]:
        return iter(self._steps)

    def begin(self) -> None:
        """Begin with a new question. The steps stay until it leads to others."""
        self._is_new = True

    def find(self, number: int) -> TakenStep | None:
        """Return a step; 0 means the newest one."""
        if not number:
            return self._steps[-1] if self._steps else None
        return next((step for step in self._steps if step.number == number), None)

    def add_command(self, command: str, output: str, lines: int, status: int, seconds: float) -> TakenStep:
        """Add a command that ran unasked, with what is kept of its output and how many lines it had."""
        size = counted(lines, "line") if output else "no output"
        ended = f"exit status {status}" if status else ""
        return self._add(TakenStep(0, exactly(command), output, size, ended, seconds))

    def add_call(self, name: str, arguments: str, result: str) -> TakenStep:
        """Add a call of a tool. Arguments and result are as the model wrote and read them."""
        what = foreign(one_line(f"{name} {_values(arguments)}".rstrip(), _MOST_ARGUMENTS + len(name)))
        output, size, ended = _read(result)
        return self._add(TakenStep(0, exactly(what), output, size, ended))

    def add_thought(self, text: str, seconds: float) -> TakenStep:
        """Add the thinking before an answer."""
        return self._add(TakenStep(0, "thinking", text, counted(len(text.split()), "word"), "", seconds))

    def _add(self, step: TakenStep) -> TakenStep:
        if self._is_new:
            self._steps, self._taken, self._is_new = [], 0, False
        self._taken += 1
        self._steps.append(step._replace(number=self._taken))
        while len(self._steps) > 1 and (
            len(self._steps) > _MOST_STEPS or sum(len(one.output) for one in self._steps) > _MOST_KEPT
        ):
            self._steps.pop(0)
        return self._steps[-1]


def is_short(output: str) -> bool:
    """Is the output so short that it is shown at once?"""
    return len(output) <= _SHORT_CHARS and output.count("\n") < SHORT


def _values(arguments: str) -> str:
    """Return the simple values among the arguments of a call, which say best what it is about."""
    given = _parsed(arguments)
    named = given if isinstance(given, dict) else {}
    values = (value for name, value in named.items() if "path" not in named or name not in _CONTENTS)
    return " ".join(str(value) for value in values if isinstance(value, str | int | float))


def _read(result: str) -> tuple[str, str, str]:
    """Return the text of a result, its size, and what went wrong. Results of our own tools are JSON objects."""
    found = _parsed(result)
    if not isinstance(found, dict):
        return result, counted(_lines(result), "line") if result else "no result", ""
    if found.get("status") in ("refused", "failed", "interrupted"):
        reason = found.get("reason") or found.get("error") or found.get("note") or ""
        return str(reason), "", one_line(exactly(f"{found['status']}: {reason}"), _MOST_REASON)
    whole = json.dumps(found, ensure_ascii=False, indent=2)
    for name, value in found.items():
        if name in ("text", "output") and isinstance(value, str):
            return value, counted(_lines(value), "line") if value else "nothing", ""
        if isinstance(value, list):
            return whole, _sized(len(value), name), ""
        if isinstance(value, dict):
            return whole, _sized(sum(len(one) if isinstance(one, list) else 1 for one in value.values()), name), ""
    return whole, one_line(exactly(str(found.get("status", ""))), 40), ""


def _lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1


def _sized(number: int, several: str) -> str:
    """Return a number with the name of a list: 1 match, 2 matches."""
    one = several.removesuffix("es") if several.endswith("ches") else several.removesuffix("s")
    return f"{number:,} {one_line(exactly(one if number == 1 else several), 20)}"


def _parsed(text: str) -> object:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
