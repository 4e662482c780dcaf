"""The lineage of a conversation's prompt: record which turns leave it."""

from collections.abc import Iterator

from aish.conversation.session import Session
from aish.memory.compactions import Compaction, CompactionKind, as_record, compactions, following
from aish.memory.journal import TurnLog
from aish.values.items import stamp
from aish.values.turns import STEERING_META, SUMMARIZER_META


def record_compaction(session: Session, kind: CompactionKind, last: int, text: str = "") -> Compaction | None:
    """Record that the turns up to `last` were compacted. None if they were compacted before. Raises `StoreTrouble`."""
    text = session.services.redaction.text(text)  # the prompt has secrets that the journal must not get
    new = following(compactions(session.journal), kind, last, text) if session.remembers else None
    if new:
        session.journal.note(as_record(new, stamp(session.services.now())))
    return new


def last_turn_before(session: Session, exchanges: int) -> int:
    """Return the number of the last turn that is older than the newest `exchanges` of the prompt."""
    last, left = session.turn_number, exchanges
    for first in _exchange_starts(session.journal):
        if left == 0:
            return last
        last, left = first - 1, left - 1
    return 0 if left else last


def _exchange_starts(journal: TurnLog) -> Iterator[int]:
    """Yield the number of each question that got an answer, newest first. A question without one is not in a prompt."""
    answered = True  # the newest question may still wait for its answer
    for entry in journal.entries_back():
        turn = entry.turn
        if entry.meta.get("meta") == SUMMARIZER_META:
            continue
        if turn.role == "user" and not entry.meta.get(STEERING_META):
            if answered:
                yield entry.number
            answered = False
        elif turn.content or turn.tool_calls:
            answered = True
