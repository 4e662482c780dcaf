"""The memory commands in a conversation: changes update the prompt, and a model can propose items."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from aish.commands import memory, memory_upkeep
from aish.commands.items import changed
from aish.commands.memory_scope import MEMORY_COMMANDS, Background
from aish.commands.shell import COMMANDS, Shell
from aish.conversation.learning import find_candidates
from aish.intake.commands import Arguments
from aish.memory.conversations import Conversations
from aish.memory.curation import Kept, Memory
from aish.places import Places
from aish.prompt.background import BackgroundLayer
from aish.values.errors import BadUsage, Declined
from aish.values.events import Notice
from aish.values.hits import Finder
from aish.values.replies import Reply

__all__ = ["ConversationMemory", "memory", "memory_upkeep", "summarize"]


class ConversationMemory:
    """The `MemoryScope` of a shell."""

    def __init__(self, shell: Shell) -> None:
        self._shell, self._session = shell, shell.session
        self.person = shell.person

    @property
    def memory(self) -> Memory:
        return self._shell.memory

    @property
    def places(self) -> Places:
        return self._shell.program.places

    @property
    def conversations(self) -> Conversations:
        return self._shell.program.conversations

    @property
    def finder(self) -> Finder:
        return self._shell.program.finder

    def now(self) -> datetime:
        return self._shell.program.now()

    def said_where(self) -> dict[str, Any]:
        if self._session.remembers and self._session.turn_number:
            return {"conversation": self._session.journal.id, "turn": self._session.turn_number}
        return {}

    def memory_changed(self) -> Sequence[Notice]:
        background = self._session.layer(BackgroundLayer)
        return background.read(self._session, again=True) if background.loaded else []

    def read_background(self) -> Background:
        layer = self._session.layer(BackgroundLayer)
        notices = layer.read(self._session, again=True)
        return Background(layer.text(self._session, None), layer.ids, notices)

    def erase_from_prompt(self, phrases: list[str]) -> None:
        self._session.erase(phrases)


COMMANDS.include(MEMORY_COMMANDS, ConversationMemory)


@COMMANDS.add("memory summarize")
async def summarize(shell: Shell, arguments: Arguments) -> Reply:
    """Let the model propose items to remember from this conversation.

    The model reads the journal, not the prompt. You are asked about each item; nothing is saved without your consent.
    """
    session = shell.session
    memory = shell.memory
    found, read, trouble = await find_candidates(session, session.journal)
    kept: list[Kept] = []
    for candidate in found:
        answer = (await shell.person.line(f"{candidate.kind}: {candidate.content}\nkeep? [y/N/edit] ")).strip().lower()
        content = candidate.content
        if answer in ("e", "edit"):
            content = await shell.person.edit(content)
        elif answer not in ("y", "yes"):
            continue
        if content.strip():
            fields: dict[str, Any] = {"source": session.journal.id, "origin": read.origin, "confirmed": True}
            try:
                kept.append(memory.remember(content, candidate.kind, **fields))
            except (BadUsage, Declined) as error:
                trouble = str(error)
    added = [one.item.id for one in kept if one.new]
    lines = [trouble] if trouble else []
    lines += [f"already known (id {one.item.id})" for one in kept if not one.new]
    lines += sorted({one.masked for one in kept if one.masked})
    text = "\n".join([*lines, f"[aish] memory: added {len(added)} candidates"])
    return changed(ConversationMemory(shell), Reply(text, data={"added": added, "candidates": len(found)}))
