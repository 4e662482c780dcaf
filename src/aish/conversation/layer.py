"""A layer of the prompt: one part of the system prompt, or of the text in front of the user's message.

Each layer is a small class in its own module in `prompt/`; `prompt/table.py` lists them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Literal

from aish.context.blocks import Block, Stability
from aish.values.events import Notice

if TYPE_CHECKING:  # a session has layers, and a layer reads the session
    from aish.conversation.session import Session
    from aish.conversation.turn_context import TurnContext

SHORT_BLOCK = 800  # characters of a block for a small model
Place = Literal["system", "message"]
"""The system prompt, or in front of the user's message. Text there never changes once the message is sent."""


class Layer:
    """One part of the prompt. The defaults suit a layer whose text is made for one turn.

    1. `load` may be slow and may yield notices. `text` is quick and returns the same text until the next `load`.
    2. A layer that is not `changing` returns the same text for the whole conversation, unless the user changes it with
       a command. This keeps the model server's prompt cache valid.
    """

    name: str
    order: int  # its position; smaller numbers come first
    stability: Stability = "changing"
    place: Place = "system"
    in_goal_mode: bool = True
    of_conversation: bool = False  # is it made from what was said in one conversation?
    in_journal: bool = True  # of a text in front of a message: is it recorded with the message?

    def limit(self, session: Session) -> int:
        """Return the maximum number of characters; 0 means that only the token budget limits it."""
        return 0

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        """Update the text for a turn. Text for this turn only goes into `turn.texts[self.name]`."""
        return
        yield

    def text(self, session: Session, turn: TurnContext | None) -> str:
        """Return the text for the model, or "" to leave the layer out. `turn` is None between two turns."""
        return turn.texts.get(self.name, "") if turn else ""

    def why(self, session: Session, turn: TurnContext | None) -> str:
        """Explain in a few words what was considered for the text and what was left out."""
        return ""

    def repeated_lines(self, session: Session) -> list[list[int]]:
        """Return the line ranges of the text that only repeat other journals."""
        return []

    def record(self, session: Session) -> dict[str, object]:
        """Return what the journal records about the layer with an answer."""
        return {}

    async def dropping(self, session: Session, exchanges: int) -> list[Notice]:
        """Prepare for the oldest exchanges to leave the prompt."""
        return []

    async def compacting(self, session: Session) -> list[Notice]:
        """Prepare for older turns to leave the prompt, because the user wants that."""
        return []

    def compacted(self, session: Session) -> None:
        """Older turns have left the prompt, because the user wanted that."""

    def resumed(self, session: Session) -> None:
        """Restore the text of a conversation that the user continues."""

    def clear(self) -> None:
        """Forget the text, because a new conversation starts."""

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Replace every stored text with `change(text)`, for a purge."""

    def block(self, session: Session, turn: TurnContext | None) -> Block:
        """Return the layer as a block of the prompt."""
        return Block(
            self.name,
            self.text(session, turn),
            self.stability,
            order=self.order,
            in_goal_mode=self.in_goal_mode,
            limit=self.limit(session),
            why=self.why(session, turn),
        )
