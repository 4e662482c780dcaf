"""The feed: the port through which the index reads conversations, whatever stores them.

A position is a number inside a conversation. It grows from turn to turn, and the distance between two positions is
about the number of bytes between them, so that progress can be shown. What a position refers to is up to the adapter.

`tests/contracts/test_feed.py` checks every adapter.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from aish.values.named_tuple import NamedTuple
from aish.values.turns import JournalEntry


class Revision(NamedTuple):
    """The state of a conversation. Every change gives it another revision."""

    version: str  # opaque: only good for comparing
    end: int  # the position after the last turn


class ConversationMeta(NamedTuple):
    """What is known about a conversation besides its turns."""

    channel: str = ""
    source: str = ""  # the program it was imported from; empty for our own
    title: str = ""


class FeedEntry(NamedTuple):
    """One stored entry. The next one starts at `position + length`."""

    position: int
    length: int
    entry: JournalEntry | None  # None: not a turn; it only tells how far the reader has got


class Poll(NamedTuple):
    """The result of a poll: the revisions of all conversations, or only of those that changed since the last poll."""

    complete: bool
    revisions: Mapping[str, Revision]


class Watch(Protocol):
    """Notices changes for one reader. It is not shared between readers or threads."""

    def poll(self, *, full: bool = False) -> Poll:
        """Return what changed since the last poll. Raises `StoreTrouble`; the next poll is complete then.

        1. The first poll, and a `full` one, is complete.
        2. A poll is complete when a conversation was added or deleted.
        3. A change of a recently active conversation is noticed by the next poll. A change of an idle one may be
           noticed later, if looking at all conversations takes long.
        4. If nothing changed, a poll costs far less than a search.
        """


class Feed(Protocol):
    """Reads the conversations of one store. Safe to use from several threads.

    1. A conversation that does not exist has no turns, no metadata and no fingerprint; that is not an error.
    2. Every method raises `StoreTrouble`, with a message for the user, if the store cannot be read. A store that
       cannot be read is never taken for an empty one.
    """

    def revisions(self) -> dict[str, Revision]:
        """Return every conversation by name, with its current revision."""

    def watch(self) -> Watch:
        """Return a new watch."""

    def fingerprint(self, conversation: str, revision: Revision, position: int) -> str:
        """Identify the turns of `revision` before `position`. Empty if they are known to have been replaced since.

        If the fingerprint of a later revision at the same position is the same and not empty, the conversation has only
        grown: the turns before `position` are unchanged, and a reader may continue from there.
        """

    def entries(
        self, conversation: str, revision: Revision, start: int = 0, *, at_most: int | None = None
    ) -> Iterator[FeedEntry]:
        """Yield the entries from position `start` on, up to the end of `revision`, oldest first.

        `start` is 0 or the end of an entry. An entry that is still being written is not yielded. With `at_most`, old
        entries are skipped, so that about this distance is left to the end; the first entry yielded is a whole one.
        If the conversation is rewritten meanwhile, entries of the new revision may be yielded; a poll tells of it.
        """

    def entries_at(self, conversation: str, places: Sequence[tuple[int, int]]) -> list[JournalEntry | None]:
        """Return the turns at these places (position and length, as yielded before), None where there is no turn."""

    def meta(self, conversation: str) -> ConversationMeta:
        """Return the metadata of a conversation."""
