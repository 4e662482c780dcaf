"""Goal mode: the goal is in the system prompt, so that eviction cannot remove it."""

from collections.abc import Callable

from aish.context.blocks import GOAL_BLOCK
from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext

GOAL = """\
You are in goal mode. Work towards the goal step by step: say the next step in a line, then act with `CMD: ` lines
or tools, and look at what came back before you go on. When the goal is reached write `GOAL: complete` on a line of
its own; when you cannot go on write `GOAL: blocked` on a line of its own and say why.
The goal: {goal}"""


class GoalLayer(Layer):
    """The goal, while there is one."""

    name = GOAL_BLOCK
    order = 80
    stability = "conversation"

    def __init__(self) -> None:
        self.goal = ""

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return GOAL.format(goal=self.goal) if self.goal else ""

    def rewrite(self, change: Callable[[str], str]) -> None:
        self.goal = change(self.goal)
