"""Compactions in a journal: which turns left the prompt, in what way, and the text that stands for them.

So `:why`, `:thread` and a resumed conversation can tell what stands behind a summary, and no turn is summarised twice.
"""

from typing import Literal

from aish.memory.journal import TurnLog
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Record

CompactionKind = Literal["evicted", "compacted", "summary"]
_FIELD = "compaction"


class Compaction(NamedTuple):
    """Turns that left the prompt (`evicted`, `compacted`), or that a summary stands for."""

    number: int
    kind: str
    first: int
    last: int
    parent: int = 0  # the number of the compaction before it
    text: str = ""


def compactions(journal: TurnLog) -> list[Compaction]:
    """Return all compactions of a conversation, oldest first."""
    return [found for record in journal.records_with(_FIELD) if (found := _read(record))]


def following(earlier: list[Compaction], kind: CompactionKind, last: int, text: str = "") -> Compaction | None:
    """Return the next compaction, from the end of the last one of its sort up to `last`. None if it has no turns."""
    same = [one for one in earlier if (one.kind == "summary") == (kind == "summary")]
    first = same[-1].last + 1 if same else 1
    if first > last:
        return None
    return Compaction(len(earlier) + 1, kind, first, last, earlier[-1].number if earlier else 0, text)


def as_record(one: Compaction, time: str) -> Record:
    fields = {"number": one.number, "kind": one.kind, "turns": [one.first, one.last], "parent": one.parent}
    return {"ts": time, _FIELD: {**fields, "text": one.text}}


def summarised_to(journal: TurnLog) -> int:
    """Return the last turn that a text in the prompt stands for, or 0."""
    return max((one.last for one in compactions(journal) if one.text), default=0)


def _read(record: Record) -> Compaction | None:
    match record.get(_FIELD):
        case {"number": int(number), "kind": str(kind), "turns": [int(first), int(last)], **rest}:
            parent, text = rest.get("parent"), rest.get("text")
            parent = parent if isinstance(parent, int) else 0
            return Compaction(number, kind, first, last, parent, text if isinstance(text, str) else "")
    return None
