"""Which conversations differ from what the index has of them."""

from collections.abc import Mapping

from aish.memory.finding.catalogue import IndexedConversation
from aish.memory.finding.feed import Feed, Revision
from aish.values.named_tuple import NamedTuple


class ConversationChange(NamedTuple):
    """A conversation that is new, has grown, was rewritten or is deleted."""

    conversation: str
    revision: Revision | None  # None: deleted
    indexed: IndexedConversation | None  # None: not in the index
    start: int  # the position from which it has to be read; 0: all of it

    @property
    def unread(self) -> int:
        """The distance that has to be read, about in bytes."""
        return self.revision.end - self.start if self.revision else 0


def find_changes(
    feed: Feed, revisions: Mapping[str, Revision], indexed: Mapping[str, IndexedConversation]
) -> list[ConversationChange]:
    """Compare conversations with the index; the newest conversation comes first."""
    changes = []
    for name, revision in revisions.items():
        known = indexed.get(name)
        if known is None:
            changes.append(ConversationChange(name, revision, None, 0))
        elif known.version != revision.version or known.end != revision.end:
            start = known.end if _has_only_grown(feed, known, revision) else 0
            changes.append(ConversationChange(name, revision, known, start))
    deleted = (known for name, known in indexed.items() if name not in revisions and not known.deleted)
    changes += [ConversationChange(known.name, None, known, 0) for known in deleted]
    return sorted(changes, key=lambda change: change.conversation, reverse=True)


def _has_only_grown(feed: Feed, known: IndexedConversation, revision: Revision) -> bool:
    if not known.fingerprint or known.end >= revision.end:
        return False
    return known.fingerprint == feed.fingerprint(known.name, revision, known.end)
