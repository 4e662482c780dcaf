"""How far the notes of a conversation have got: which turns they cover, and what has happened since."""

import asyncio
import re
from collections.abc import Callable

from aish.memory.journal import TurnLog
from aish.memory.notes.transcript import ConversationReader, SaidTurn
from aish.values.stores import START, StaleCursor

_CHANGES = (  # compiled on first use
    r" >>? |^(?:vim?|nvim|nano|hx|emacs|patch|mv|cp|sed -i)\b|"
    r"^git (?:add|am|apply|checkout|cherry-pick|commit|merge|mv|pull|rebase|restore|revert|rm|stash|switch)\b"
)
EXCHANGES, CALLS = 2, 4  # so much work makes a refresh of SESSION.md due


class NotesProgress:
    """Reads each turn of the conversation once. A new conversation starts from the beginning."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()  # one refresh at a time
        self.recalled: set[str] = set()  # entries that were brought to a question and not counted yet
        self.reading: set[str] = set()  # conversations that are being read for lasting facts
        self.purges = 0  # what a model was given before a purge may contain the purged words
        self.clear()

    def clear(self) -> None:
        self._conversation, self._cursor, self._reader = "", START, ConversationReader()
        self.turns: list[SaidTurn] = []  # since the last refresh
        self.covered = 0  # the last turn that SESSION.md knows
        self.channel = ""  # the channel that the turns belong to

    @property
    def position(self) -> tuple[str, int, int]:
        """The conversation, its last turn that SESSION.md knows, and the number of purges."""
        return self._conversation, self.covered, self.purges

    def read(self, journal: TurnLog, covered: Callable[[str], int] = lambda id: 0) -> list[SaidTurn]:
        """Return the turns since the last refresh. `covered` tells how far an earlier run got in a conversation."""
        if journal.id != self._conversation:
            channel = self.channel
            self.clear()
            self._conversation, self.channel, self.covered = journal.id, channel, covered(journal.id)
            self._reader = ConversationReader(imported=bool(journal.meta().get("source")))
        try:
            for cursor, entry in journal.since(self._cursor):
                self._cursor = cursor
                said = self._reader.read(entry)
                if said and said.number > self.covered:
                    self.turns.append(said)
        except StaleCursor:  # something was purged: read again
            before, channel = self.covered, self.channel
            self.clear()
            self.channel = channel
            return self.read(journal, lambda id: before)
        return self.turns

    def refreshed(self, last: int) -> None:
        """SESSION.md now covers the turns up to `last`."""
        self.covered = max(self.covered, last)
        self.turns = [turn for turn in self.turns if turn.number > self.covered]

    def is_due(self) -> bool:
        """Has enough happened: two exchanges, four tool calls, or a changed file and an answer?"""
        answers = [turn for turn in self.turns if turn.role == "assistant" and turn.text]
        calls = sum(len(turn.tools) for turn in self.turns)
        changed = any(_changes_file(turn) for turn in self.turns)
        return len(answers) >= EXCHANGES or calls >= CALLS or bool(changed and answers)


def _changes_file(turn: SaidTurn) -> bool:
    """Does the turn say that a file was changed: by a tool, or by a command with a redirection or an editor?"""
    if any(name in ("edit_file", "write_file") for name, _ in turn.tools):
        return True
    return any(re.search(_CHANGES, command.line) for command in turn.commands if not command.status)
