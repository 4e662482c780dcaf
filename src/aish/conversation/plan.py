"""The plan of a conversation: what the model intends to do, unless the user has changed it."""

import json
from collections.abc import Callable

from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.values.plan import MARK, Plan, as_text, parse_steps, plan_from, plan_in
from aish.values.turns import JournalEntry, Turn

TOOL = "update_plan"
EDITED_MARK, PLAN_MARK = "[plan, edited by the user]", "[plan]"
_FIELD = "plan"
_MOST_ENTRIES = 1_000  # of a journal that are looked at for its plan


class PlanKeeper(Layer):
    """Keeps the plan. `prompt/plan.py` puts it into the prompt; the tool and the answers update it.

    A plan is brought in front of the message if no turn in the prompt has it: because the user edited it, or because
    the turn with it was evicted.
    """

    def __init__(self) -> None:
        self.plan: Plan = ()
        self._edited = False
        self._recorded = True

    def update(self, plan: Plan, *, edited: bool = False) -> None:
        """Replace the plan."""
        self.plan, self._edited, self._recorded = plan, edited, not edited

    @property
    def brought(self) -> str:
        """The plan as it is brought to the model."""
        mark = EDITED_MARK if self._edited else PLAN_MARK
        return f"{mark}\n{as_text(self.plan)}" if self.plan else f"{mark}\nthere is no plan any more"

    def is_known(self, session: Session) -> bool:
        """Does a turn in the prompt have the plan?"""
        if not self.plan and not self._edited:
            return True
        block = self.brought
        return any(
            block in turn.content if turn.role == "user" else not self._edited and _has_plan(turn)
            for turn in session.history.turns
        )

    def record(self, session: Session) -> dict[str, object]:
        """Record what the user edited once the model has it; the model's own plans are in its answers."""
        if self._recorded or not self.is_known(session):
            return {}
        self._recorded = True
        return {_FIELD: session.services.redaction.text(as_text(self.plan))}

    def resumed(self, session: Session) -> None:
        """Find the newest plan in the journal."""
        for looked_at, entry in enumerate(session.journal.entries_back()):
            found = _plan_of(entry)
            if found is not None or looked_at >= _MOST_ENTRIES:
                self.update(found or ())
                return

    def clear(self) -> None:
        self.update(())

    def rewrite(self, change: Callable[[str], str]) -> None:
        self.plan = tuple(step._replace(text=change(step.text)) for step in self.plan)


def plan_keeper(session: Session) -> PlanKeeper | None:
    """Return the layer that keeps the plan of a conversation."""
    return next((layer for layer in session.layers if isinstance(layer, PlanKeeper)), None)


def _has_plan(turn: Turn) -> bool:
    return any(call.name == TOOL for call in turn.tool_calls) or MARK in turn.content


def _given(arguments: str) -> object:
    try:
        read = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return read.get("steps") if isinstance(read, dict) else None


def _plan_of(entry: JournalEntry) -> Plan | None:
    """Return the plan of a journaled turn: what the model said is newer than what the user had edited before."""
    if entry.turn.role != "assistant":
        return None
    for call in reversed(entry.turn.tool_calls):
        if call.name == TOOL and isinstance(steps := parse_steps(_given(call.arguments)), tuple):
            return steps
    if said := plan_in(entry.turn.content):
        return said
    edited = entry.meta.get(_FIELD)
    return plan_from(edited) if isinstance(edited, str) else None
