"""Output of commands that the user ran: it waits, and goes along with the next question."""

from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext


class HeldOutputLayer(Layer):
    """The waiting output, in front of the user's message. The history holds it until a question takes it along."""

    name = "held output"
    order = 10
    place = "message"

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return session.history.held

    def repeated_lines(self, session: Session) -> list[list[int]]:
        return session.history.recalled
