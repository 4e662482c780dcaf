"""How to answer a message that shows a person in crisis. It is in the prompt of that turn only."""

from collections.abc import AsyncGenerator

from aish.context.crisis import CARE
from aish.conversation.layer import Layer
from aish.conversation.turn_context import TurnContext
from aish.values.events import Notice


class CareLayer(Layer):
    """A short directive. It is not remembered."""

    name = "care"
    order = 70

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        turn.texts[self.name] = CARE if turn.needs_care else ""
        return
        yield
