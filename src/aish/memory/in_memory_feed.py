"""An in-memory feed of conversations, for tests and as a minimal example of an adapter."""

import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from aish.memory.finding.feed import ConversationMeta, FeedEntry, Poll, Revision
from aish.values.named_tuple import NamedTuple
from aish.values.turns import JournalEntry, Turn


class _Conversation(NamedTuple):
    version: int  # the number of the last change
    rewritten: int  # the number of the last change that did not only add turns
    meta: ConversationMeta
    entries: tuple[FeedEntry, ...]

    @property
    def revision(self) -> Revision:
        last = self.entries[-1] if self.entries else FeedEntry(0, 0, None)
        return Revision(str(self.version), last.position + last.length)


class InMemoryFeed:
    """Conversations in memory. Readers in other threads see a change as a whole or not at all."""

    def __init__(self) -> None:
        self._conversations: dict[str, _Conversation] = {}
        self._change_numbers = count(1)
        self._lock = threading.Lock()

    def add(self, conversation: str, turn: Turn, time: datetime, meta: dict[str, Any] | None = None) -> int:
        """Add a turn and return its number."""
        with self._lock:
            change = next(self._change_numbers)
            old = self._conversations.get(conversation) or _Conversation(change, change, ConversationMeta(), ())
            number = len(old.entries) + 1
            added = _placed(old.revision.end, JournalEntry(number, time, turn, meta or {}))
            self._conversations[conversation] = old._replace(version=change, entries=(*old.entries, added))
        return number

    def edit(self, conversation: str, number: int, content: str) -> None:
        """Replace the text of a turn."""
        with self._lock:
            turns = [one.entry for one in self._conversations[conversation].entries if one.entry]
            edited = [
                one._replace(turn=one.turn.with_content(content)) if one.number == number else one for one in turns
            ]
            self._rewrite(conversation, edited, self._conversations[conversation].meta)

    def describe(self, conversation: str, meta: ConversationMeta) -> None:
        """Set the metadata of a conversation, which may be a new one."""
        with self._lock:
            old = self._conversations.get(conversation)
            self._rewrite(conversation, [one.entry for one in old.entries if one.entry] if old else [], meta)

    def delete(self, conversation: str) -> None:
        with self._lock:
            self._conversations = {name: one for name, one in self._conversations.items() if name != conversation}

    def _rewrite(self, conversation: str, turns: Sequence[JournalEntry], meta: ConversationMeta) -> None:
        change, entries, position = next(self._change_numbers), list[FeedEntry](), 0
        for turn in turns:
            entries.append(_placed(position, turn))
            position += entries[-1].length
        self._conversations[conversation] = _Conversation(change, change, meta, tuple(entries))

    def revisions(self) -> dict[str, Revision]:
        with self._lock:
            return {name: one.revision for name, one in self._conversations.items()}

    def watch(self) -> "InMemoryWatch":
        return InMemoryWatch(self)

    def fingerprint(self, conversation: str, revision: Revision, position: int) -> str:
        found = self._conversations.get(conversation)
        return f"{found.rewritten}-{position}" if found and int(revision.version) >= found.rewritten else ""

    def entries(
        self, conversation: str, revision: Revision, start: int = 0, *, at_most: int | None = None
    ) -> Iterator[FeedEntry]:
        found = self._conversations.get(conversation)
        if at_most is not None:
            start = max(start, revision.end - at_most)
        for one in found.entries if found else ():
            if start <= one.position and one.position + one.length <= revision.end:
                yield one

    def entries_at(self, conversation: str, places: Sequence[tuple[int, int]]) -> list[JournalEntry | None]:
        found = self._conversations.get(conversation)
        by_place = {(one.position, one.length): one.entry for one in found.entries} if found else {}
        return [by_place.get(place) for place in places]

    def meta(self, conversation: str) -> ConversationMeta:
        found = self._conversations.get(conversation)
        return found.meta if found else ConversationMeta()


class InMemoryWatch:
    """Compares the revisions of all conversations with those of the last poll."""

    def __init__(self, feed: InMemoryFeed) -> None:
        self._feed = feed
        self._last: dict[str, Revision] | None = None

    def poll(self, *, full: bool = False) -> Poll:
        last, self._last = self._last, None  # if the next call fails, the next poll is complete
        self._last = now = self._feed.revisions()
        if full or last is None or last.keys() != now.keys():
            return Poll(True, now)
        return Poll(False, {name: revision for name, revision in now.items() if revision != last[name]})


def _placed(position: int, entry: JournalEntry) -> FeedEntry:
    return FeedEntry(position, len(entry.turn.content.encode("utf-8", "replace")) + 1, entry)
