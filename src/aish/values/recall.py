"""Recall: what may be brought to a turn, and how each part of it was judged."""

from datetime import datetime
from typing import Literal

from aish.values.named_tuple import NamedTuple

NoteLayer = Literal["session", "memory", "workspace", "history", "ledger"]
LAYERS: tuple[NoteLayer, ...] = ("session", "memory", "workspace", "history", "ledger")
Outcome = Literal["shown", "weak", "superseded", "duplicate", "known", "quota", "budget"]


class Memo(NamedTuple):
    """One thing that may be brought to a turn. `time` is when it was learned, `source` the turns that it comes from.

    What is not `confirmed` may come from foreign text. It is brought only when the user asks for the working state.
    """

    key: str
    layer: NoteLayer
    kind: str
    text: str
    time: datetime | None
    source: str = ""
    confirmed: bool = True


class Judged(NamedTuple):
    """A memo with its score, the reasons for it, and what became of it."""

    memo: Memo
    score: float
    reasons: tuple[str, ...]
    outcome: Outcome
    note: str = ""


class Recalled(NamedTuple):
    """What a turn gets, and what it does not get although something spoke for it."""

    shown: tuple[Judged, ...]
    left_out: tuple[Judged, ...]
    tokens: int
    intents: tuple[str, ...]
    considered: int


NOTHING = Recalled((), (), 0, (), 0)
