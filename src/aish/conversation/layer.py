"""A layer of the prompt: one part of the system prompt, or of what is put in front of a message.

Each layer is a small class in a module of its own (folder `prompt/`); `prompt/table.py` lists them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Literal

from aish.context.blocks import Block, Stability
from aish.values.events import Notice

if TYPE_CHECKING:  # a conversation has layers, and a layer reads the conversation
    from aish.conversation.session import Session
    from aish.conversation.turn_context import TurnContext

Place = Literal["system", "message"]
"""In the system prompt, or in front of the user's message, where it stays as it is for the rest of the conversation."""


class Layer:
    """One part of the prompt. The defaults suit a layer whose text is made for one turn.

    1. `load` may be slow and may put notices out; `text` is quick and gives the same text until the next `load`.
    2. A layer that is not `changing` gives the same text for the whole conversation, except when the user changes it
       with a command: servers keep the beginning of a prompt in a cache.
    """

    name: str
    order: int  # where it stands; a smaller number comes first
    stability: Stability = "changing"
    place: Place = "system"
    in_goal_mode: bool = True

    def limit(self, session: Session) -> int:
        """How many characters it may have; 0 means that nothing but the token budget limits it."""
        return 0

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        """Bring the text up to date for a turn. A text for this turn only goes into `turn.texts[self.name]`."""
        return
        yield

    def text(self, session: Session, turn: TurnContext | None) -> str:
        """What the model reads; nothing if there is nothing to say. `turn` is None between two turns."""
        return turn.texts.get(self.name, "") if turn else ""

    def why(self, session: Session, turn: TurnContext | None) -> str:
        """In a few words, how the text came about: what was considered and what was left out."""
        return ""

    def repeated_lines(self, session: Session) -> list[list[int]]:
        """From which line of the text to which other it only repeats what stands in another journal."""
        return []

    def record(self, session: Session) -> dict[str, object]:
        """What the journal keeps of it with an answer."""
        return {}

    def clear(self) -> None:
        """A new conversation begins."""

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Put `change(text)` in the place of every text that is kept here, for a purge."""

    def block(self, session: Session, turn: TurnContext | None) -> Block:
        """The layer as it stands in the prompt."""
        return Block(
            self.name,
            self.text(session, turn),
            self.stability,
            order=self.order,
            in_goal_mode=self.in_goal_mode,
            limit=self.limit(session),
            why=self.why(session, turn),
        )
