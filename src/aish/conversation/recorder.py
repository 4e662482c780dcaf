"""The recorder of a conversation: writes every turn to the journal. If that fails, the conversation continues."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from aish.memory.conversations import Conversations
from aish.memory.journal import TurnLog
from aish.memory.redaction import MaskedPart, Redaction, count_kinds
from aish.values.errors import StoreTrouble
from aish.values.events import Notice, notice
from aish.values.named_tuple import NamedTuple
from aish.values.turns import Turn

_KEPT_MASKS = 20  # so many of the last masks can be taken back
EVICTED = "prompt.evicted"  # said once in a conversation


class RecentMask(NamedTuple):
    """Something that was masked in this conversation, and can be written unmasked while this process lives."""

    number: int
    journal: TurnLog
    turn: int
    part: MaskedPart


class Recorder:
    """Records one conversation. Without `remembers` nothing is written. `about` is added to its first line."""

    def __init__(
        self,
        conversations: Conversations,
        redaction: Redaction,
        now: Callable[[], datetime],
        *,
        remembers: bool,
        about: Mapping[str, object] | None = None,
    ) -> None:
        self.remembers = remembers
        self.about = dict(about or {})
        self._conversations, self._redaction, self._now = conversations, redaction, now
        self._journal: TurnLog | None = None
        self._said: set[str] = set()
        self.masks: dict[int, RecentMask] = {}
        self._mask_count = 0

    @property
    def conversation(self) -> str:
        """The id of this conversation; empty before it begins, and asking does not begin it."""
        return self._journal.id if self._journal else ""

    def journal(self, cwd: Path, model: str, channel: Callable[[], str]) -> TurnLog:
        """Return the journal of this conversation; its file is created with the first turn."""
        if self._journal is None:
            now = self._now()
            meta: dict[str, Any] = {"started": now.isoformat(timespec="seconds"), "cwd": str(cwd), "model": model}
            meta |= {"channel": channel(), **self.about}
            self._journal = self._conversations.new(now, meta)
        return self._journal

    def open(self, journal: TurnLog | None) -> None:
        """Continue with this journal, or with a new one if it is None."""
        self._journal = journal
        self._said.discard(EVICTED)
        self.masks.clear()

    def keep(self, journal: TurnLog, turn: Turn, meta: dict[str, Any] | None = None) -> list[Notice]:
        """Write a turn into the journal."""
        if not self.remembers:
            return []
        try:
            number = journal.add(turn, self._now(), meta)
        except StoreTrouble as error:
            return self.say_once("store.not_kept", f"this conversation is not recorded: {error}")
        kinds = journal.masked
        text = f"masked before saving: {count_kinds(kinds)}"
        numbers = self._keep_masks(journal, number) if kinds else ()
        return [notice("secrets.masked", text, warning=True, kinds=tuple(kinds), numbers=numbers)] if kinds else []

    def unmask(self, number: int) -> bool:
        """Write what was masked under this number into the journal as it was. False if its mask is gone there.

        Raises `KeyError` if the number is not known, and `StoreTrouble`.
        """
        mask = self.masks[number]
        done = mask.journal.unmask(mask.turn, mask.part)
        del self.masks[number]
        return done

    def _keep_masks(self, journal: TurnLog, turn: int) -> tuple[int, ...]:
        """Remember in memory what was masked in this turn, and return the numbers for `:unmask`."""
        first = self._mask_count + 1
        for part in dict.fromkeys(journal.masked_parts):
            self._mask_count += 1
            self.masks[self._mask_count] = RecentMask(self._mask_count, journal, turn, part)
        for old in list(self.masks)[:-_KEPT_MASKS]:
            del self.masks[old]
        return tuple(range(first, self._mask_count + 1))

    def keep_shown(self, journal: TurnLog, text: str, provenance: str = "") -> list[Notice]:
        """Write a piece of an answer to the journal before it is shown."""
        if not self.remembers:
            return []
        try:
            journal.show(text, provenance)
        except StoreTrouble as error:
            return self.say_once("store.not_kept", f"this answer is not recorded while it streams: {error}")
        return []

    def take_back_shown(self, journal: TurnLog) -> list[Notice]:
        """Take back what was kept of an answer, because it was the model's reasoning."""
        if not self.remembers:
            return []
        try:
            journal.take_back_shown()
        except StoreTrouble as error:
            return self.say_once("store.not_kept", f"this answer is not recorded while it streams: {error}")
        return []

    def is_news(self, code: str) -> bool:
        """Return whether nothing was said under this code before; the next time it is not news."""
        news = code not in self._said
        self._said.add(code)
        return news

    def say_once(self, code: str, text: str, **fields: object) -> list[Notice]:
        """Return a warning, unless one with this code was given before."""
        return [notice(code, text, warning=True, **fields)] if self.is_news(code) else []
