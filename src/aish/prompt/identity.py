"""Who the assistant is and how it works, as the user wrote it: `SOUL.md` and `AGENTS.md` of the workspace."""

from collections.abc import AsyncGenerator, Callable

from aish.conversation.layer import SHORT_BLOCK, Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.values.errors import StoreTrouble
from aish.values.events import Notice, notice
from aish.values.invisible import visible
from aish.values.text import clip

_FILES = (("soul", "SOUL.md"), ("agents", "AGENTS.md"))
IDENTITY_MARK = "[identity] (written by the user)"


class IdentityLayer(Layer):
    """Both files, read at the start of a conversation. aish never writes them."""

    name = "identity"
    order = 20
    stability = "conversation"

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._text, self._why, self._loaded = "", "", False

    def limit(self, session: Session) -> int:
        return session.settings.notes.identity_max_chars

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return clip(self._text, SHORT_BLOCK) if session.is_small(turn) else self._text

    def why(self, session: Session, turn: TurnContext | None) -> str:
        return self._why

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        session = turn.session
        if self._loaded or not session.remembers:
            return
        self._loaded = True
        if not session.services.present_notes(session.channel) & {"soul", "agents"}:
            return
        limit = self.limit(session)
        try:
            read = [
                (file, session.notes.read(name), visible(session.notes.plain(name)).strip()) for name, file in _FILES
            ]
        except StoreTrouble as error:
            yield notice("notes.unreadable", f"SOUL.md and AGENTS.md are not in the prompt: {error}", warning=True)
            return
        for file, document, _ in read:
            if document.problem:
                text = f"{file} is not in the prompt: {document.problem}"
                yield notice("notes.unreadable", text, warning=True)
        parts = [(file, text) for file, document, text in read if not document.problem]
        whole = "\n\n".join(text for _, text in parts if text)
        if not whole or not limit:
            return
        self._why = " and ".join(file for file, text in parts if text)
        if len(whole) > limit:
            left_out = len(whole) - limit
            yield notice("identity.cut", f"{self._why}: {left_out:,} characters left out (notes.identity_max_chars)")
        self._text = f"{IDENTITY_MARK}\n{clip(whole, limit)}"

    def rewrite(self, change: Callable[[str], str]) -> None:
        self._text = change(self._text)
