"""What may be brought to a turn: the entries of all notes of a channel, and the items of the ledger."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from aish.memory.notes.channel_notes import ChannelNotes
from aish.memory.notes.consolidation import KIND_OF
from aish.memory.notes.document import Document, Entry
from aish.memory.notes.working_state import BY_HEADING
from aish.memory.recall.intents import asks_for_state, plain_kind
from aish.memory.trust import is_trusted
from aish.values.invisible import visible
from aish.values.items import Item
from aish.values.recall import Memo, NoteLayer
from aish.values.text import one_line

MOST_ENTRIES = 10_000  # of one note; the newest ones
_LONGEST = 1_000  # characters of a memo
LAYERS: tuple[NoteLayer, ...] = ("session", "memory", "workspace", "history")
_OF_OTHERS = frozenset({"model", "tool", "file", "import"})


def note_memos(notes: ChannelNotes) -> list[Memo]:
    """Return the entries and paragraphs of the notes. Raises `StoreTrouble`."""
    return [memo for layer in LAYERS for memo in document_memos(notes.read(layer), layer)]


def document_memos(document: Document, layer: NoteLayer) -> Iterator[Memo]:
    """Yield what one note knows. A note that cannot be used gives nothing."""
    if document.problem and not document.parts:
        return
    for number, entry in enumerate(document.entries[-MOST_ENTRIES:]):
        yield Memo(
            key=f"{layer}:{entry.id or f'#{number}'}",
            layer=layer,
            kind=_kind(entry.section),
            text=one_line(visible(entry.text), _LONGEST),
            time=_time(entry),
            source=entry.source,
            confirmed=is_trusted(entry.origin),
        )
    for number, (section, text) in enumerate(document.prose[-MOST_ENTRIES:]):
        if not text.startswith(("```", "~~~", "|", "<")):
            yield Memo(f"{layer}:¶{number}", layer, _kind(section), one_line(visible(text), _LONGEST), None)


def for_question(memos: Iterable[Memo], question: str) -> list[Memo]:
    """Return the memos that this question may get: what is not confirmed only if it asks for the working state."""
    whole = asks_for_state(question)
    return [memo for memo in memos if whole or memo.confirmed]


def ledger_memos(items: Iterable[Item]) -> list[Memo]:
    """Return the items of the ledger that may be brought to a turn."""
    return [memo for item in items if (memo := item_memo(item))]


def item_memo(item: Item) -> Memo | None:
    """Return an item of the ledger as a memo; None for the words of others that the user has not confirmed."""
    if not item.record.get("confirmed") and item.origin.partition(":")[0] in _OF_OTHERS:
        return None
    return Memo(
        f"ledger:{item.id}", "ledger", plain_kind(item.kind), one_line(visible(item.content), _LONGEST), item.time
    )


def _kind(section: str) -> str:
    """Return the kind of an entry by the heading above it; the heading itself if it is not one of ours."""
    heading = section.casefold()
    if heading in BY_HEADING:
        return plain_kind(BY_HEADING[heading].name)
    if section[:4].isdecimal():
        return "event"  # a dated block of the history
    return plain_kind(KIND_OF.get(heading, heading[:40] or "note"))


def _time(entry: Entry) -> datetime | None:
    day = entry.made or (entry.section if entry.section[:4].isdecimal() else "")
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None
    except ValueError:
        return None
