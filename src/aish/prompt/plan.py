"""The plan in front of the user's message, if no turn in the prompt has it."""

from aish.conversation.plan import PlanKeeper
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext


class PlanLayer(PlanKeeper):
    """In front of the message, not in the system prompt: there every change would empty the server's prompt cache."""

    name = "plan"
    order = 15
    place = "message"

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return "" if self.is_known(session) else self.brought
