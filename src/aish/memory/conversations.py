"""All conversations: find by number, name or id, and list."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from aish.memory.journal import JournalFiles, TurnLog, first_record, new_id
from aish.memory.redaction import Redaction
from aish.values.errors import BadUsage, NotFound, StoreTrouble
from aish.values.imported import THINKING
from aish.values.invisible import is_visible, visible
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Cleaner, Damage, Health, JournalStore
from aish.values.text import one_line
from aish.values.turns import EXEC_MARK, FILES_MARK, INPUT_MARK, PROPOSED_MARK, SUMMARIZER_META, TASK_MARK, JournalEntry
from aish.values.typed_words import split_typed

_TITLE_TURNS = 12  # the first question is among them, unless a model worked for long without one
_MARKS = (EXEC_MARK, INPUT_MARK, FILES_MARK, PROPOSED_MARK)


class Listed(NamedTuple):
    """A conversation as it appears in a list."""

    id: str
    name: str
    turns: int
    time: datetime
    title: str


class Conversations:
    """All conversations. Listing reads only the first and last turns of each."""

    def __init__(self, where: Path | JournalStore, redaction: Redaction | None = None) -> None:
        """A path is a directory of journals."""
        self._store: JournalStore = JournalFiles(where) if isinstance(where, Path) else where
        self._redaction = redaction
        self._names = self._store.names()

    def ids(self) -> list[str]:
        """Return all conversations, newest first."""
        return sorted(self._store.ids(), reverse=True)

    def own_ids(self, *, sub_agents: bool = False) -> Iterator[str]:
        """Yield the conversations that were not imported, newest first; those of sub-agents only if wanted."""
        for id in self.ids():
            try:
                meta = self.open(id).meta()
                if not meta.get("source") and (sub_agents or not meta.get("parent")):
                    yield id
            except StoreTrouble:
                yield id  # opening it reports the error

    def children(self, parent: str) -> Iterator[tuple[str, str, str]]:
        """Yield the conversations of sub-agents that worked for one: id, name of the agent and title, oldest first."""
        for id in reversed(list(takewhile(lambda id: id >= parent, self.ids()))):  # none is older than its parent
            try:
                meta = self.open(id).meta()
            except StoreTrouble:
                continue
            if meta.get("parent") == parent:
                yield id, str(meta.get("agent", "")), self._title(id)

    def names(self) -> dict[str, str]:
        """Return the names given by the user, by id. The last one counts."""
        return {
            str(record["id"]): str(record["name"])
            for record in self._names.read()
            if "id" in record and "name" in record
        }

    def save(self, conversation: str, name: str) -> None:
        """Give a conversation a name. Another conversation with this name loses it."""
        if not name or name.isdecimal():
            raise BadUsage("a name needs at least one letter, because numbers refer to places in the list")
        if not is_visible(name):
            raise BadUsage(f"a name must not have characters that cannot be seen: {visible(name)}")
        name = self._redaction.text(name) if self._redaction else name
        for other, old in self.names().items():
            if old == name and other != conversation:
                self._names.append({"id": other, "name": ""})
        self._names.append({"id": conversation, "name": name})

    def list(self, limit: int = 20) -> list[Listed]:
        """Return the newest conversations that have turns, without those of sub-agents."""
        names = self.names()
        return list(islice((listed for id in self.ids() if (listed := self._listed(id, names))), limit))

    def open(self, conversation: str, meta: dict[str, Any] | None = None) -> TurnLog:
        """Open a conversation. `meta` is for the first record of a new one."""
        log = self._store.log(conversation, lambda: first_record(conversation, meta))
        return TurnLog(conversation, log, self._store.live(conversation), self._redaction)

    def new(self, now: datetime, meta: dict[str, Any]) -> TurnLog:
        """Start a conversation. Nothing is stored before its first turn."""
        return self.open(new_id(now), meta)

    def checks(self) -> Iterator[Callable[[], Health]]:
        """Yield a check for each conversation and for the names. A check raises `StoreTrouble` if it cannot read."""
        yield from (self.open(id).health for id in reversed(self.ids()))
        yield self._names.health

    def erase(self, cleaner: Cleaner, now: datetime) -> int:
        """Erase phrases from all conversations and names, and return how many records had them."""
        count = self._names.erase(cleaner)
        for id in self.ids():
            conversation = self.open(id)
            conversation.recover(now)  # a leftover answer may have them, too
            count += conversation.erase(cleaner)
        return count

    def find(self, wanted: str = "") -> str:
        """Return the id for a list number, a name or the start of an id; by default the newest own one."""
        if wanted.isdecimal() and len(wanted) < 5:
            listed = self.list(int(wanted))
            if 1 <= int(wanted) <= len(listed):
                return listed[int(wanted) - 1].id
        elif not wanted:
            newest = next((id for id in self.own_ids() if self._last(id)), None)
            if newest:
                return newest
        else:
            named = [id for id, name in self.names().items() if name == wanted]
            ids = self.ids()
            matching = named or [id for id in ids if id == wanted] or [id for id in ids if id.startswith(wanted)]
            if len(matching) == 1:
                return matching[0]
            if matching:
                raise NotFound(f"{len(matching)} conversations start with {wanted!r}; type more of the id")
        raise NotFound(f"no conversation {wanted!r}; see :sessions" if wanted else "there is no conversation yet")

    def _listed(self, id: str, names: dict[str, str]) -> Listed | None:
        journal, last = self.open(id), self._last(id)
        if last is None or journal.meta().get("parent"):
            return None
        return Listed(id=id, name=names.get(id, ""), turns=last.number, time=last.time, title=self._title(id, last))

    def _title(self, id: str, otherwise: JournalEntry | None = None) -> str:
        """Return the first question: what the user typed, without the output of commands in front of it."""
        first = otherwise
        for entry in filter(is_conversation, islice(self.open(id).entries(), _TITLE_TURNS)):
            first = entry if first is otherwise else first
            task = entry.turn.content[:1_000].partition(TASK_MARK)[2]  # of a sub-agent
            if entry.turn.role == "user" and (asked := (task or split_typed(entry)[1]).strip()):
                return one_line(visible(asked[:1_000]), 60)
        return one_line(visible(first_line(first.turn.content)), 60) if first else ""

    def _last(self, id: str) -> JournalEntry | None:
        """Return the newest turn. None if there is none, or if the file is unreadable, which `aish doctor` reports."""
        try:
            return next(self.open(id).entries_back(), None)
        except StoreTrouble:
            return None


def is_conversation(entry: JournalEntry) -> bool:
    """Is a turn part of the conversation? What is said between the summarizer and its model is not."""
    return entry.meta.get("meta") != SUMMARIZER_META


def first_line(text: str) -> str:
    """Return the first line of a turn that says something, without our marks."""
    lines = (line.strip() for line in text[:4_000].split("\n"))
    return next((line for line in lines if line and line not in _MARKS), "")


def window(
    journal: TurnLog, max_turns: int, max_chars: int, damage: Damage | None = None, *, leave_out: str = ""
) -> list[JournalEntry]:
    """Return the newest entries that fit into a prompt, oldest first, starting with a user turn.

    Turns whose meta is `leave_out` are not part of the conversation, and what another model thought is never sent.
    """
    entries: list[JournalEntry] = []
    chars = 0
    for entry in journal.entries_back(damage):
        if (leave_out and entry.meta.get("meta") == leave_out) or entry.meta.get("name") == THINKING:
            continue
        chars += len(entry.turn.content)
        if len(entries) >= max_turns or (chars > max_chars and entries):
            break
        entries.append(entry)
    entries.reverse()
    while entries and entries[0].turn.role != "user":
        entries.pop(0)
    return entries
