"""A conversation in progress: its turns, its journal, its model and what it may cost."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aish.context.blocks import Block, base_block, goal_block, summary_block
from aish.context.eviction import Limits
from aish.context.history import History
from aish.context.tally import PromptSize, Tally, measure
from aish.memory.journal import Journal, new_id
from aish.memory.shelf import Shelf, window
from aish.model.backend import Backend
from aish.model.cost import CostBook
from aish.model.estimate import Estimates
from aish.model.tokenizer import find_window
from aish.settings.options import Settings
from aish.storage.lines import Damage
from aish.values.errors import AishError, BadTurn, StoreTrouble
from aish.values.events import Notice
from aish.values.text import clip
from aish.values.turns import Turn

OpenBackend = Callable[[str], Backend]
MAX_TURN_CHARS = 2_000_000  # longer turns are cut before they are sent; the journal keeps them whole


@dataclass(slots=True)
class Session:
    """Everything a turn needs to know. Commands and views change it through its verbs."""

    settings: Settings
    shelf: Shelf
    costs: CostBook
    estimates: Estimates
    open_backend: OpenBackend
    model: str
    remembers: bool = True  # false: nothing is written anywhere
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    cwd: Path = field(default_factory=Path.cwd)
    history: History = field(default_factory=History)
    tally: Tally = field(default_factory=Tally)
    goal: str = ""
    summary: str = ""
    evicted: list[Turn] = field(default_factory=list)  # left the prompt, not in the summary yet
    last_size: PromptSize | None = None
    no_tool_role: set[str] = field(default_factory=set)  # endpoints that refused it
    _journal: Journal | None = None
    _said: set[str] = field(default_factory=set)
    _windows: dict[str, int] = field(default_factory=dict)

    @property
    def backend(self) -> Backend:
        return self.open_backend(self.model)

    @property
    def journal(self) -> Journal:
        """The journal of this conversation; its file appears with the first turn."""
        if self._journal is None:
            now = self.now()
            meta = {"started": now.isoformat(timespec="seconds"), "cwd": str(self.cwd), "model": self.model}
            self._journal = Journal(self.shelf.directory, new_id(now), meta)
        return self._journal

    def blocks(self) -> tuple[Block, ...]:
        return base_block(), summary_block(self.summary), goal_block(self.goal)

    def chain_for(self, question: str) -> list[str]:
        """The presets to ask, in order: the first rule that matches, else the chosen one; then the fallbacks."""
        first = self.model
        for rule in self.settings.rules:
            if re.search(rule.get("match", ""), question):  # checked when the settings were loaded
                first = rule["model"]
                break
        return [first, *(name for name in self.settings.fallback if name != first)]

    async def limits(self, backend: Backend) -> Limits:
        """What a prompt for this backend may hold."""
        options = self.settings.context
        budget = options.token_budget
        if budget == "auto":
            if backend.endpoint not in self._windows:
                found = await _window_of(backend)
                if found:  # a server that was away is asked again next time
                    self._windows[backend.endpoint] = found
            size = self._windows.get(backend.endpoint)
            budget = size - size // 4 if size else 4096  # a quarter is left for the answer
        return Limits(max_turns=options.max_turns, token_budget=budget, max_bytes=options.max_bytes)

    async def size(self, backend: Backend) -> PromptSize:
        """What a prompt would cost if it were sent now."""
        return await measure(self.tally, backend.tokenizer, self.blocks(), self.history)

    def keep(self, turn: Turn, meta: dict[str, Any] | None = None) -> list[Notice]:
        """Write a turn into the journal; trouble is said once and does not stop the conversation."""
        if not self.remembers:
            return []
        try:
            self.journal.add(turn, self.now(), meta)
        except StoreTrouble as error:
            return self.say_once("store", f"this conversation is not kept: {error}")
        return []

    def keep_shown(self, text: str) -> list[Notice]:
        """Write down a piece of an answer before it is shown."""
        if not self.remembers:
            return []
        try:
            self.journal.show(text)
        except StoreTrouble as error:
            return self.say_once("store", f"this answer is not kept while it comes: {error}")
        return []

    def say_once(self, about: str, text: str) -> list[Notice]:
        """A warning, unless something was said about this already."""
        if about in self._said:
            return []
        self._said.add(about)
        return [Notice(text, warning=True)]

    def start_new(self) -> None:
        """Begin another conversation; this one stays in its journal."""
        self._journal = None
        self._clear()

    def reset(self) -> None:
        """Forget the turns in the prompt; the conversation goes on in the same journal."""
        self._clear()

    def resume(self, id: str) -> tuple[int, list[Notice]]:
        """Go on with a conversation: the turns that fit come back, and what a crash left behind is taken in."""
        journal = self.shelf.open(id)
        notices = []
        try:
            if self.remembers and journal.recover(self.now()):
                notices.append(Notice("the last answer was cut short when aish ended; what was shown of it is kept"))
        except StoreTrouble as error:
            notices.append(Notice(f"an answer that was cut short could not be taken in: {error}", warning=True))
        damage = Damage()
        budget = self.settings.context.token_budget
        room = 8 * (budget if isinstance(budget, int) else 32_768)
        entries = window(journal, self.settings.context.max_turns, room, damage)
        self._clear()
        self._journal = journal
        self.history = restored([entry.turn for entry in entries])
        if damage.lines:
            notices.append(Notice(f"{damage.lines} damaged lines of this conversation were skipped", warning=True))
        total = next(journal.entries_back(), None)
        return (total.number if total else 0), notices

    def _clear(self) -> None:
        self.history.clear()
        self.summary = ""
        self.evicted.clear()
        self.last_size = None


async def _window_of(backend: Backend) -> int | None:
    try:
        return await find_window(await backend.server(), backend.model_name) if backend.server else None
    except AishError:  # it cannot be started; the question itself will say so
        return None


def restored(turns: list[Turn]) -> History:
    """The history of journaled turns, without questions whose answer failed without a word and broken tool groups."""
    history = History()
    for turn in turns:
        if turn.role == "assistant" and not turn.content and not turn.tool_calls:
            if history.turns and history.turns[-1].role == "user":
                history.take_back(history.turns[-1])
            continue
        try:
            history.add(turn.with_content(clip(turn.content, MAX_TURN_CHARS)))
        except BadTurn:
            continue
    return history
