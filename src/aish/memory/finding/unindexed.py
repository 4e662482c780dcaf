"""Reads the turns that are not in the index yet, so that a turn is found from the moment it is stored."""

from collections.abc import Iterator, Mapping

from aish.memory.finding.catalogue import IndexedConversation
from aish.memory.finding.conversation_changes import ConversationChange, find_changes
from aish.memory.finding.feed import Feed, Revision
from aish.memory.finding.turn_text import searchable_text
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.turns import JournalEntry

MAX_TURNS = 1_000  # more than these have to be indexed before they are found
_MAX_BYTES = 1 << 22  # of one conversation; the newest are read


class UnindexedEntry(NamedTuple):
    """A turn that is not in the index."""

    conversation: str
    entry: JournalEntry
    text: str


class UnindexedReader:
    """The newest turns that are not in the index, and the conversations whose rows in the index are invalid."""

    def __init__(self, feed: Feed) -> None:
        self._feed, self._watch = feed, feed.watch()
        self._changes: dict[str, ConversationChange] = {}
        self._read: dict[str, tuple[ConversationChange, list[UnindexedEntry], int]] = {}  # and the bytes skipped
        self.turns: list[UnindexedEntry] = []
        self.invalidated: frozenset[int] = frozenset()  # ids of conversations that were deleted or rewritten
        self.skipped_bytes = 0  # not read, because there were too many
        self.errors: list[str] = []  # why something could not be read

    def update(self, indexed: Mapping[str, IndexedConversation], *, full: bool = False) -> bool:
        """Read what changed; False if nothing did. `full` is needed after a change of the index."""
        try:
            poll = self._watch.poll(full=full)
        except StoreTrouble as error:
            self._reset()
            self.errors.append(str(error))
            return True
        if not poll.complete and not poll.revisions:
            return False
        self._reset()
        if poll.complete:
            self._changes, known = {}, indexed
        else:
            known = {name: indexed[name] for name in poll.revisions if name in indexed}
            for name in poll.revisions:
                self._changes.pop(name, None)
        found = find_changes(self._feed, poll.revisions, known)
        self._changes |= {change.conversation: change for change in found}
        changes = sorted(self._changes.values(), key=lambda change: change.conversation, reverse=True)
        self.invalidated = frozenset(change.indexed.id for change in changes if change.indexed and not change.start)
        self._read_all(changes)
        return True

    def _reset(self) -> None:
        self.turns, self.skipped_bytes, self.errors, self.invalidated = [], 0, [], frozenset()

    def _read_all(self, changes: list[ConversationChange]) -> None:
        """Read the turns of these conversations; those that were read before and have not changed are kept."""
        read = {}
        for change in changes:
            if change.revision is None:
                continue
            if len(self.turns) >= MAX_TURNS:
                self.skipped_bytes += change.unread
                continue
            old = self._read.get(change.conversation)
            try:
                turns, skipped = old[1:] if old and old[0] == change else self._newest_turns(change, change.revision)
            except StoreTrouble as error:
                self.errors.append(str(error))
                continue
            read[change.conversation] = change, turns, skipped
            self.turns += turns
            self.skipped_bytes += skipped
        self._read = read

    def _newest_turns(self, change: ConversationChange, revision: Revision) -> tuple[list[UnindexedEntry], int]:
        """The newest turns of a conversation, and how many bytes before them were skipped. Raises `StoreTrouble`."""
        found, first = [], None
        for position, _, entry in self._feed.entries(change.conversation, revision, change.start, at_most=_MAX_BYTES):
            first = position if first is None else first
            if entry and (text := searchable_text(entry)):
                found.append((position, UnindexedEntry(change.conversation, entry, text)))
        if first is None:
            first = max(change.start, revision.end - _MAX_BYTES)
        if len(found) > MAX_TURNS:
            first = found[-MAX_TURNS][0]
        return [turn for _, turn in found[-MAX_TURNS:]], first - change.start

    def has_skipped(self, conversation: str) -> bool:
        """Does this conversation have turns that are neither in the index nor among `turns`?"""
        change, read = self._changes.get(conversation), self._read.get(conversation)
        return change is not None and change.revision is not None and (read is None or read[2] > 0)

    def all_turns(self, conversation: str) -> Iterator[UnindexedEntry]:
        """Every turn of a changed conversation, oldest first. Raises `StoreTrouble`."""
        for item in self._feed.entries(conversation, self.revision(conversation)):
            if item.entry and (text := searchable_text(item.entry)):
                yield UnindexedEntry(conversation, item.entry, text)

    def revision(self, conversation: str) -> Revision:
        """The revision at which a changed conversation was read."""
        revision = self._changes[conversation].revision
        assert revision
        return revision
