"""Recall for a turn: choose from the notes of the channel and from the ledger what a question needs.

Loaded with the first question of someone who has notes or memory, because the parser and the vectors take a while.
"""

from collections.abc import Collection, Iterable

from aish.conversation.session import Session
from aish.memory.notes.channel_notes import ChannelNotes
from aish.memory.recall.engine import RecallEngine
from aish.memory.recall.gather import LAYERS, document_memos, for_question, item_memo
from aish.values.recall import LAYERS as ALL_LAYERS
from aish.values.recall import NOTHING, Memo, NoteLayer, Recalled

_PER_LINE = 12  # tokens of a date and a label
_MARKS = 45  # tokens of the first and last line of the block, and of the line that counts what was left out


class TurnRecall:
    """Chooses for one program. Notes and items that did not change are not read again."""

    def __init__(self, engine: RecallEngine) -> None:
        self._engine = engine
        self._notes: dict[str, tuple[str, list[Memo]]] = {}  # by channel and note: its revision, and what it says
        self._items: dict[int, Memo | None] = {}

    def choose(
        self,
        session: Session,
        question: str,
        known: Iterable[str],
        *,
        layers: Collection[NoteLayer] = ALL_LAYERS,
        tokens: int | None = None,
    ) -> Recalled:
        """Choose what is brought to a question, out of these layers. `known` are texts that the prompt has.

        `tokens` is the budget; by default that of the settings. Raises `StoreTrouble`.
        """
        tokens = session.settings.notes.recall_tokens if tokens is None else tokens
        memos = [memo for memo in for_question(self.memos(session), question) if memo.layer in layers]
        if not memos:
            return NOTHING
        self._engine.load(memos)
        return self._engine.choose(
            question,
            session.services.now(),
            known=[*known, *self._own(session, memos)],
            budget=max(tokens - _MARKS, 0),
            count=lambda text: session.services.estimates.count(session.model, text) + _PER_LINE,
        )

    def memos(self, session: Session) -> list[Memo]:
        """Return everything that may be brought to a turn."""
        notes, memory = session.notes, session.memory
        found: list[Memo | None] = [memo for layer in LAYERS for memo in self._note(notes, layer)]
        for id in memory.ids():
            if id not in self._items:
                item = memory.get(id)
                self._items[id] = item_memo(item) if item else None
            found.append(self._items[id])
        return [memo for memo in found if memo]

    def _note(self, notes: ChannelNotes, layer: NoteLayer) -> Collection[Memo]:
        key, revision = f"{notes.channel}/{layer}", notes.revision(layer)
        before = self._notes.get(key)
        if before is None or before[0] != revision:
            self._notes[key] = before = (revision, list(document_memos(notes.read(layer), layer)))
        return before[1]

    def _own(self, session: Session, memos: Iterable[Memo]) -> list[str]:
        """Return what was learned from turns of this conversation that are all in the prompt."""
        own = session.recorder.conversation
        if not own:
            return []
        dropped = session.turn_number - len(session.history.turns)  # or unanswered
        return [memo.text for memo in memos if _begins_after(memo.source, own, dropped)]

    def prepare(self, session: Session) -> None:
        """Read and index what has changed, so that the next question does not wait for it. Raises `StoreTrouble`."""
        self._engine.load([memo for memo in self.memos(session) if memo.confirmed])


def _begins_after(source: str, conversation: str, turn: int) -> bool:
    """Are these turns of a conversation, such as 20261117-101500-abc/12-18, all newer than a turn?"""
    name, _, turns = source.rpartition("/")
    first = turns.partition("-")[0]
    return name == conversation and first.isdecimal() and int(first) > turn
