"""What a goal has used of its envelope, and how that is shown.

Pure: numbers in, answers out.
"""

from collections.abc import Iterable
from typing import Literal

from aish.acting.envelope import Envelope, amount
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted, foreign, one_line

Cap = Literal["", "steps", "minutes", "tokens", "dollars"]
_FULL, _EMPTY, _WIDTH = "▰", "▱", 8
_LONGEST_PLAN = 80
_LEAST_SHOWN = 0.0001  # dollars


class Spent(NamedTuple):
    """What was used so far. `unpriced` calls have an unknown price: unknown is not free."""

    steps: int = 0
    seconds: float = 0.0
    tokens: int = 0
    dollars: float = 0.0
    calls: int = 0
    unpriced: int = 0

    @property
    def money(self) -> str:
        """The money for people; an unknown price is never shown as zero."""
        if self.unpriced and self.unpriced == self.calls:
            return "unknown price"
        if 0 < self.dollars < _LEAST_SHOWN:
            return f"<${_LEAST_SHOWN:g}"
        more = f" + {counted(self.unpriced, 'call')} of unknown price" if self.unpriced else ""
        return f"${self.dollars:.4f}".rstrip("0").rstrip(".") + more if self.calls else "$0"


def cap_reached(envelope: Envelope, spent: Spent, next_dollars: float = 0.0) -> Cap:
    """Return what is used up, so that no other step may start. `next_dollars` is what the next call could cost."""
    if spent.steps >= envelope.steps:
        return "steps"
    if spent.seconds >= 60 * envelope.minutes:
        return "minutes"
    if spent.tokens >= envelope.tokens:
        return "tokens"
    if spent.dollars >= envelope.dollars or spent.dollars + next_dollars > envelope.dollars:
        return "dollars"
    return ""


def share_used(envelope: Envelope, spent: Spent) -> float:
    """Return the part of the budget that is used, by what is nearest to its end."""
    parts = (
        spent.steps / envelope.steps,
        spent.seconds / (60 * envelope.minutes),
        spent.tokens / envelope.tokens,
        spent.dollars / envelope.dollars,
    )
    return min(max(parts), 1.0)


def bar(share: float) -> str:
    """Return a short bar. Something used is at least one piece, and only a full budget fills it."""
    full = min(max(int(share * _WIDTH), 1 if share else 0), _WIDTH)
    return _FULL * full + _EMPTY * (_WIDTH - full)


def step_line(envelope: Envelope, spent: Spent, number: int, plan: str) -> str:
    """Return the line above a step: its number, the model's plan for it, and what was used before it."""
    title = one_line(foreign(plan), _LONGEST_PLAN)
    parts = [f"step {number} of {envelope.steps}", *([title] if title else []), *_used(envelope, spent)]
    return f"{' · '.join(parts)} {bar(share_used(envelope, spent))}"


def used_line(envelope: Envelope, spent: Spent) -> str:
    """Return what a goal has used, for its end."""
    return ", ".join([counted(spent.steps, "step"), *_used(envelope, spent)])


def _used(envelope: Envelope, spent: Spent) -> Iterable[str]:
    yield f"{clock(spent.seconds)} of {clock(60 * envelope.minutes)}"
    yield f"{_short(spent.tokens)} tokens"
    if spent.calls:
        yield spent.money


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def _short(tokens: int) -> str:
    if tokens < 1000:
        return str(tokens)
    return f"{amount(round(tokens / 1000, 1))}k" if tokens < 1_000_000 else f"{amount(round(tokens / 1e6, 1))}M"
