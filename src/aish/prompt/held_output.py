"""Output of commands that the user ran. It is held and sent with the next question."""

from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext


class HeldOutputLayer(Layer):
    """The held output, in front of the user's message. The history holds it until the next question."""

    name = "held output"
    order = 10
    place = "message"

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return session.history.held

    def repeated_lines(self, session: Session) -> list[list[int]]:
        return session.history.recalled
