"""A plan: the steps that the model intends to take, as a tool, lines of an answer or the user give them.

Pure: text in, values out.
"""

from collections.abc import Sequence
from typing import Literal

from aish.values.answer_lines import own_lines
from aish.values.named_tuple import NamedTuple
from aish.values.text import for_keeping, one_line

PlanState = Literal["todo", "doing", "done", "dropped"]
SIGNS: dict[PlanState, str] = {"todo": "[ ]", "doing": "[>]", "done": "[x]", "dropped": "[-]"}
MARK = "PLAN: "  # starts a step in an answer of a model without tools
MOST_STEPS, MOST_CHARS = 20, 200
_STATES: dict[str, PlanState] = {sign: state for state, sign in SIGNS.items()} | {"[X]": "done", "[]": "todo"}


class PlanStep(NamedTuple):
    """One step of a plan."""

    text: str
    state: PlanState = "todo"


Plan = tuple[PlanStep, ...]


def parse_steps(given: object) -> Plan | str:
    """Return the steps that a model gave as JSON, or what is wrong with them."""
    if not isinstance(given, list) or len(given) > MOST_STEPS:
        return f"steps must be a list of at most {MOST_STEPS}"
    steps: list[PlanStep] = []
    for one in given:
        text, state = (one.get("text"), one.get("state", "todo")) if isinstance(one, dict) else (one, "todo")
        known = next((name for name in SIGNS if name == state), None)
        if not isinstance(text, str) or not text.strip() or known is None:
            return "each step needs a text, and a state: " + ", ".join(SIGNS)
        steps.append(PlanStep(_short(text), known))
    return tuple(steps)


def plan_in(answer: str) -> Plan:
    """Return the steps in the lines of an answer that start with the mark and are its own words."""
    texts = (line.removeprefix(MARK) for line in own_lines(answer, MARK))
    return tuple(_step(text) for text in texts if text.strip())[:MOST_STEPS]


def plan_from(text: str) -> Plan:
    """Return the steps of a text that the user edited, one in each line."""
    return tuple(_step(line) for line in text.split("\n") if line.strip())[:MOST_STEPS]


def as_text(plan: Sequence[PlanStep]) -> str:
    """Return the plan with one line for each step."""
    return "\n".join(f"{SIGNS[step.state]} {step.text}" for step in plan)


def progress(plan: Sequence[PlanStep]) -> str:
    """Return in one line how far the plan has got."""
    wanted = [step for step in plan if step.state != "dropped"]
    done = sum(step.state == "done" for step in wanted)
    now = next((step.text for step in wanted if step.state == "doing"), "")
    return f"plan: {done} of {len(wanted)}" + (f" · now: {now}" if now else "")


def _step(line: str) -> PlanStep:
    sign, _, text = line.strip().partition("] ")
    state = _STATES.get(f"{sign}]") if text.strip() else None
    return PlanStep(_short(text), state) if state else PlanStep(_short(line))


def _short(text: str) -> str:
    return one_line(for_keeping(text), MOST_CHARS)
