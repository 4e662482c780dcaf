"""Tells the model which note files there are, what each is for, and that what matters is brought to it."""

from collections.abc import AsyncGenerator

from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.values.events import Notice

_FILES = (
    ("session", "SESSION.md: goal, state and next steps of the current work"),
    ("memory", "MEMORY.md: lasting facts, preferences, constraints and decisions of this project"),
    ("history", "HISTORY.md: what was done and decided earlier, by date"),
    ("workspace", "workspace MEMORY.md: what the user noted for all projects"),
)
_TEXT = """\
[notes] aish keeps notes about this project in {place}, which the user can edit:
{files}
They are not loaded here. What matters for a question is brought to it in front of the message. If that is not enough,
read one: with the tool `read_notes`, or `CMD: aish notes show session`. Change MEMORY.md only with the tool
`update_notes`, SESSION.md only when the user asks for that, the others never."""


class NoteFilesLayer(Layer):
    """A short list, made at the start of a conversation. There is none before the first note."""

    name = "notes"
    order = 25
    stability = "conversation"

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._text, self._loaded = "", False

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return "" if session.is_small(turn) else self._text

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        session = turn.session
        if self._loaded or not session.remembers:
            return
        self._loaded = True
        present = session.services.present_notes(session.channel)
        there = [about for name, about in _FILES if name in present]
        if there:
            self._text = _TEXT.format(place=session.notes.place, files="\n".join(f"- {about}" for about in there))
        return
        yield
