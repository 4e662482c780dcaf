"""The block `[project]`: what the model is told about the user's current directory."""

from collections.abc import AsyncGenerator
from pathlib import Path

from aish.context.project import instructions_text
from aish.conversation.layer import SHORT_BLOCK, Layer
from aish.conversation.project import Project, counted, entered, look, root_of
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.values.events import Notice, notice


class ProjectLayer(Layer):
    """The project, read once and again when the user enters another project or asks for it."""

    name = "project"
    order = 30
    stability = "conversation"

    def __init__(self) -> None:
        self.on = True
        self.project: Project | None = None
        self._looked_in: Path | None = None
        self._known: Path | None = None  # the user has been told about this project

    def clear(self) -> None:
        self.project, self._looked_in = None, None

    def limit(self, session: Session) -> int:
        return session.settings.project.max_chars

    def text(self, session: Session, turn: TurnContext | None) -> str:
        if self.project is None or not self.on:
            return ""
        if session.is_small(turn):
            return instructions_text(self.project.facts, SHORT_BLOCK)
        self.project = counted(self.project)  # git can be slow, so it runs on first use
        return self.project.block.text

    def why(self, session: Session, turn: TurnContext | None) -> str:
        if self.project is None or not self.on:
            return ""
        untrusted = [source.name for source in self.project.sources if not source.trusted]
        return f"without {', '.join(untrusted)}: not trusted" if untrusted else ""

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        for one in self.read(turn.session):
            yield one

    def read(self, session: Session, *, again: bool = False) -> list[Notice]:
        """Read the project of the current directory, if it is a new one or with `again`."""
        options = session.settings.project
        if not self.on or not options.max_chars or (self._looked_in == session.cwd and not again):
            return []
        self._looked_in = session.cwd
        if self.project and not again and root_of(session.cwd) == self.project.root:
            return []  # another folder of the same project: keep the prompt unchanged
        services = session.services
        self.project = look(session.cwd, options, services.trust.holds, services.redaction.text)
        known, self._known = self._known, self.project.root if self.project else session.cwd
        if self.project is None or self._known == known:
            return []
        if known is None and not self.project.awaiting_trust("instructions"):
            return []  # do not announce the project in which the shell starts
        return [notice("project.entered", entered(self.project), root=str(self.project.root))]
