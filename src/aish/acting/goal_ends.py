"""How a goal ends, and what an answer says about it.

Only the answer of this turn counts, and only lines that are its own words: what a file or a command printed is never
looked at. Pure: text in, values out.
"""

import re
from collections.abc import Sequence
from typing import Literal

from aish.values.answer_lines import own_lines
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

EndKind = Literal[
    "complete", "blocked", "stopped", "steps", "minutes", "tokens", "dollars", "repeats", "unreachable", "trouble"
]
Claim = Literal["", "complete", "blocked"]
_MARK = "GOAL: "
_CLAIM = re.compile(_MARK + r"(complete|blocked)\.?[ \t]*")
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
    for line in own_lines(answer, _MARK):
        if said := _CLAIM.fullmatch(line):
            found = "complete" if said[1] == "complete" else "blocked"
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
