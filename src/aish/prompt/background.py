"""The block `[background]`: the newest items of curated memory, as many as fit."""

from collections.abc import AsyncGenerator, Iterable

from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.memory.curation import Memory
from aish.values.errors import StoreTrouble
from aish.values.events import Notice, notice
from aish.values.invisible import visible
from aish.values.items import Item

BACKGROUND_MARK = "[background] (memory.jsonl; manage via :memory)"


class BackgroundLayer(Layer):
    """The newest items of memory, read once per conversation and again when the user changes them with a command."""

    name = "background"
    order = 40
    stability = "conversation"
    in_goal_mode = False

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._text, self.ids = "", tuple[int, ...]()
        self.loaded = False
        self._recorded: tuple[int, ...] = ()  # the ids that are in the journal already

    def limit(self, session: Session) -> int:
        return session.settings.memory.inject_max_chars

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return self._text

    def why(self, session: Session, turn: TurnContext | None) -> str:
        return f"the newest {len(self.ids)} items that fit" if self.ids else ""

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        if not self.loaded:
            for one in self.read(turn.session):
                yield one

    def read(self, session: Session, *, again: bool = False) -> list[Notice]:
        """Read memory now. `again` means that the user has just changed it, so nothing is pruned."""
        if not session.remembers:
            return []
        self._text, self.ids, self.loaded = "", (), True
        options, notices = session.settings.memory, list[Notice]()
        try:
            memory, trouble = session.services.open_memory()
            notices += session.say_once("memory.held", trouble) if trouble else []
            if options.prune_older_than_days and not again:
                notices += _prune(session, memory, options.prune_older_than_days)
            if options.inject_max_chars:
                self._text, self.ids = background_text(memory.items(), options.inject_max_chars)
            return notices + _problems(session, memory)
        except StoreTrouble as error:
            text = f"memory is not in the prompt: {error}"
            return notices + session.say_once("memory.unreadable", text)

    def record(self, session: Session) -> dict[str, object]:
        """Return the ids in the prompt, unless they are in the journal already."""
        if self.ids == self._recorded:
            return {}
        self._recorded = self.ids
        return {"background": list(self.ids)}


def background_text(items: Iterable[Item], limit: int) -> tuple[str, tuple[int, ...]]:
    """Return a block of the newest items that fit into `limit` characters, and their ids.

    An item that is too long for the whole block is skipped, so that it does not block all older items.
    """
    lines, ids, room = [BACKGROUND_MARK], [], limit - len(BACKGROUND_MARK)
    for item in items:
        line = f"- ({item.kind}) {visible(' '.join(item.content.split()))}"
        size = len(line) + 1
        if size > room:
            if size > limit - len(BACKGROUND_MARK):
                continue
            break
        lines.append(line)
        ids.append(item.id)
        room -= size
    return "\n".join(lines) if ids else "", tuple(ids)


def _prune(session: Session, memory: Memory, days: int) -> list[Notice]:
    try:
        count = memory.prune(days)
    except StoreTrouble as error:
        return session.say_once("memory.not_pruned", f"old items were not pruned: {error}")
    text = f"memory: pruned {count} items older than {days} days (:memory undo)"
    return [notice("memory.pruned", text, count=count, days=days)] if count else []


def _problems(session: Session, memory: Memory) -> list[Notice]:
    health, name = memory.health(), memory.file_name
    notices = []
    if health.damaged:
        text = f"{name}: {health.damaged} damaged lines are skipped; see: aish doctor"
        notices += session.say_once("memory.damaged", text, lines=health.damaged)
    if health.torn:
        text = f"{name}: the last line is incomplete and is skipped; see: aish doctor"
        notices += session.say_once("memory.torn", text)
    if health.problems:
        more = f" (and {len(health.problems) - 1} more: aish doctor)" if len(health.problems) > 1 else ""
        text = f"{name}: {health.problems[0]}, so it is ignored{more}"
        notices += session.say_once("memory.ignored", text, count=len(health.problems))
    return notices
