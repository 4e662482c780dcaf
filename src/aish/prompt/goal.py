"""Goal mode: the goal is in the system prompt, so that eviction cannot remove it."""

from collections.abc import Callable

from aish.context.blocks import GOAL_BLOCK
from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext

GOAL = """\
You are in goal mode. Work towards the goal step by step: say the next step in a line, then act with `CMD: ` lines
or tools, and look at what came back before you go on. If it takes more than a few steps, list them first, each in a
line that starts with `PLAN: `. When the goal is reached write `GOAL: complete` on a line of
its own; when you cannot go on write `GOAL: blocked` on a line of its own and say why.
The goal: {goal}"""
SHORT_GOAL = """\
[goal] Work towards the goal: one command, then look at what it printed, then the next. When it is reached, answer
`GOAL: complete` on a line of its own; when you cannot go on, answer `GOAL: blocked` on a line of its own, and why.
The goal: {goal}"""
_CHECK = "\nIt is reached when this command succeeds, which aish runs after each change: {}"
_BOUNDS = "\nYou may {}. All else is asked for."


class GoalLayer(Layer):
    """The goal, while there is one."""

    name = GOAL_BLOCK
    order = 80
    stability = "conversation"
    of_conversation = True

    def __init__(self) -> None:
        self.goal = self.check = self.bounds = ""

    def set(self, goal: str, check: str = "", bounds: str = "") -> None:
        """Set the goal, the command that tells whether it is reached, and what is allowed. No goal ends goal mode."""
        self.goal, self.check, self.bounds = goal, check, bounds

    def text(self, session: Session, turn: TurnContext | None) -> str:
        if not self.goal:
            return ""
        check = _CHECK.format(self.check) if self.check else ""
        bounds = _BOUNDS.format(self.bounds) if self.bounds else ""
        how = SHORT_GOAL if session.is_small(turn) else GOAL
        return how.format(goal=self.goal) + check + bounds

    def clear(self) -> None:
        self.set("")

    def rewrite(self, change: Callable[[str], str]) -> None:
        self.set(change(self.goal), change(self.check), change(self.bounds))
