"""How a goal ends, and what an answer says about it.

Only the answer of this turn counts, and only lines that are its own words: what a file or a command printed is never
looked at. Pure: text in, values out.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from aish.values.answer_lines import AnswerLines
from aish.values.text import one_line

EndKind = Literal[
    "complete", "blocked", "stopped", "steps", "minutes", "tokens", "dollars", "repeats", "unreachable", "trouble"
]
Claim = Literal["", "complete", "blocked"]
_CLAIM = re.compile(r"GOAL: (complete|blocked)\.?[ \t]*")
_LINES = re.compile(r"\r?\n")
_TEXTS: dict[str, str] = {
    "complete": "the goal is reached",
    "blocked": "the model is blocked",
    "stopped": "stopped by you",
    "steps": "not reached: all steps are used up",
    "minutes": "not reached: the time is up",
    "tokens": "not reached: the tokens are used up",
    "dollars": "not reached: the money is used up, or the next step could cost more than is left",
    "repeats": "not reached: the model repeats itself",
    "unreachable": "not reached: the model could not answer",
    "trouble": "not reached: something went wrong",
}


class GoalEnd(NamedTuple):
    """How a goal ended; `detail` is one more thing to know, such as a reason."""

    kind: EndKind
    detail: str = ""

    @property
    def text(self) -> str:
        detail = one_line(self.detail, 200)
        return _TEXTS[self.kind] + (f": {detail}" if detail else "")


def claim(answer: str) -> Claim:
    """Return what the answer says about the goal: the last line of its own that says so."""
    found: Claim = ""
    lines = AnswerLines()
    for line in _LINES.split(answer):
        said = _CLAIM.fullmatch(line)
        if said and lines.is_top_level and not lines.is_inside(line):
            found = "complete" if said[1] == "complete" else "blocked"
        lines.read(line)
        if lines.thoughts_ended:  # what looked like the answer was the model talking to itself
            found, lines.thoughts_ended = "", False
    return found


class Repeats:
    """Notices a model that does the same twice in a row."""

    def __init__(self) -> None:
        self._last: tuple[str, ...] = ()

    def see(self, acts: Sequence[str], answer: str) -> bool:
        """Take the commands and calls of a step; without any, its words count."""
        now = tuple(acts) or (answer.strip(),)
        again, self._last = now == self._last, now
        return again

    def forget(self) -> None:
        """The user has said something, so the same may be right now."""
        self._last = ()
