"""A conversation in progress: its turns, its journal, its model and what it may cost."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aish.context.blocks import (
    Block,
    background_block,
    base_block,
    care_block,
    goal_block,
    recalled_block,
    summary_block,
)
from aish.context.crisis import CARE
from aish.context.eviction import Limits
from aish.context.history import History
from aish.context.token_counts import PromptSize, TokenCounts, measure
from aish.conversation.project import Project, counted, entered, look, root_of
from aish.memory.candidates import MARK
from aish.memory.conversations import Conversations, window
from aish.memory.curation import Memory
from aish.memory.journal import Journal, new_id
from aish.memory.purge import Eraser
from aish.memory.redaction import Redaction, count_kinds
from aish.model.backend import Backend
from aish.model.cost import CostBook
from aish.model.estimate import Estimates
from aish.model.tokenizer import find_window
from aish.settings.options import Settings
from aish.settings.trust import Trust
from aish.storage.lines import Damage
from aish.values.channels import channel_of
from aish.values.errors import AishError, BadTurn, StoreTrouble
from aish.values.events import Notice
from aish.values.hits import Finder, SearchResult
from aish.values.text import clip
from aish.values.turns import Message, Turn

OpenBackend = Callable[[str], Backend]
MAX_TURN_CHARS = 2_000_000  # longer turns are cut before they are sent; the journal keeps them whole


@dataclass(slots=True)
class Session:
    """Everything a turn needs to know. Commands and views change it through its verbs."""

    settings: Settings
    conversations: Conversations
    costs: CostBook
    estimates: Estimates
    open_backend: OpenBackend
    open_memory: Callable[[], tuple[Memory, str]]
    open_finder: Callable[[], Finder]
    redaction: Redaction
    model: str
    remembers: bool = True  # false: nothing is written anywhere
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    cwd: Path = field(default_factory=Path.cwd)
    history: History = field(default_factory=History)
    token_counts: TokenCounts = field(default_factory=TokenCounts)
    goal: str = ""
    summary: str = ""
    offered: tuple[Message, ...] = ()
    recalled: str = ""  # what was said before and this turn's question is about
    provenance: str = ""  # the least trusted of it, if that is less than a model's word
    found: SearchResult | None = None  # what the last search came to, whoever asked for it
    needs_care: bool = False  # the question of this turn shows a person in crisis
    evicted: list[Turn] = field(default_factory=list)  # left the prompt, not in the summary yet
    last_size: PromptSize | None = None
    no_tool_role: set[str] = field(default_factory=set)  # endpoints that refused it
    no_tools: set[str] = field(default_factory=set)
    background: tuple[Block, tuple[int, ...]] | None = None  # what is remembered, and the ids; None: not looked up yet
    project: Project | None = None  # what was found where we are
    project_on: bool = True
    _looked: Path | None = None  # where it was looked for
    _known: Path | None = None  # where the user knows to be
    _told: tuple[int, ...] = ()  # the ids that the journal says were in the prompt
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
            meta["channel"] = channel_of(str(root_of(self.cwd) or self.cwd))
            self._journal = Journal(self.conversations.directory, new_id(now), meta, self.redaction)
        return self._journal

    @property
    def memory(self) -> Memory:
        return self.open_memory()[0]

    @property
    def finder(self) -> Finder:
        return self.open_finder()

    @property
    def turn_number(self) -> int:
        """The number of the newest turn in the journal."""
        newest = next(self.journal.entries_back(), None)
        return newest.number if newest else 0

    @property
    def trust(self) -> Trust:
        """The project files that the user trusts; they are listed beside the conversations."""
        return Trust(self.conversations.directory.with_name("trusted.jsonl"))

    def blocks(self) -> tuple[Block, ...]:
        background = (self.background[0],) if self.background else ()
        later = [summary_block(self.summary), recalled_block(self.recalled)]
        later += [care_block(CARE if self.needs_care else ""), goal_block(self.goal)]
        return base_block(), *self._project_block(), *background, *later

    def _project_block(self) -> tuple[Block, ...]:
        """The block of the project. Changed files are counted when it is needed first, because git can be slow."""
        if self.project is None or not self.project_on:
            return ()
        self.project = counted(self.project)
        return (self.project.block,)

    def look_around(self, *, anew: bool = False) -> list[Notice]:
        """Bring the project into the prompt: once, again when another one was entered, or `anew`."""
        options = self.settings.project
        if not self.project_on or not options.max_chars or (self._looked == self.cwd and not anew):
            return []
        self._looked = self.cwd
        if self.project and not anew and root_of(self.cwd) == self.project.root:
            return []  # another folder of the same project: the prompt stays as it is
        self.project = look(self.cwd, options, self.trust.holds, self.redaction.text)
        known, self._known = self._known, self.project.root if self.project else self.cwd
        if self.project is None or self._known == known:
            return []
        if known is None and not self.project.waiting("instructions"):
            return []  # who starts in a project knows it
        return [Notice(entered(self.project))]

    def tools(self) -> tuple[Message, ...]:
        """The tools that a model is offered, if it can use any."""
        if not self.remembers or self.needs_care:
            return ()
        wanted = {True: self.settings.memory.propose, False: self.settings.finding.tools}
        return tuple(tool for tool in self.offered if wanted[tool["function"]["name"] == "memory_add"])

    def load_background(self, *, anew: bool = False) -> list[Notice]:
        """Bring what is remembered into the prompt: once in a conversation, or `anew` when the user changed it.

        The project comes with it, and follows when the directory has changed.
        """
        notices = [] if anew else self.look_around()
        if not self.remembers or (self.background and not anew):
            return notices
        options = self.settings.memory
        self.background = background_block((), 0)
        try:
            memory, trouble = self.open_memory()
            notices += self.say_once("memory held", trouble) if trouble else []
            if options.prune_older_than_days and not anew:
                notices += self._prune(memory, options.prune_older_than_days)
            if options.inject_max_chars:
                self.background = background_block(memory.ledger.items(), options.inject_max_chars)
            return notices + self._memory_problems(memory)
        except StoreTrouble as error:
            return notices + self.say_once("memory", f"what was remembered is not in the prompt: {error}")

    def _prune(self, memory: Memory, days: int) -> list[Notice]:
        try:
            count = memory.prune(days)
        except StoreTrouble as error:
            return self.say_once("prune", f"old items are not pruned: {error}")
        return [Notice(f"memory: pruned {count} items older than {days} days (:memory undo)")] if count else []

    def _memory_problems(self, memory: Memory) -> list[Notice]:
        state, name = memory.ledger.state(), memory.ledger.path.name
        notices = []
        if state.damaged:
            notices += self.say_once("damage", f"{name}: {state.damaged} damaged lines are skipped; see: aish doctor")
        if memory.ledger.torn:
            notices += self.say_once("torn", f"{name}: its last line is not whole, so it is skipped; see: aish doctor")
        if state.problems:
            more = f" (and {len(state.problems) - 1} more: aish doctor)" if len(state.problems) > 1 else ""
            notices += self.say_once("items", f"{name}: {state.problems[0]}, so it is ignored{more}")
        return notices

    def injected(self) -> list[int]:
        """The ids in the prompt, if the journal of this conversation does not say so yet."""
        ids = self.background[1] if self.background and not self.goal else ()
        if ids == self._told:
            return []
        self._told = ids
        return list(ids)

    def chain_for(self, question: str) -> list[str]:
        """The presets to ask, in order: the first rule that matches, else the chosen one; then the fallbacks."""
        first = self.model
        for rule in self.settings.rules:
            if re.search(rule.get("match", ""), question):  # checked when the settings were loaded
                first = rule["model"]
                break
        return [first, *(name for name in self.settings.fallback if name != first)]

    @property
    def budget(self) -> int:
        """The tokens that a prompt may have; 0 while the server has not told."""
        budget = self.settings.context.token_budget
        if isinstance(budget, int):
            return budget
        size = self._windows.get(self.open_backend(self.model).endpoint, 0) if self._windows else 0
        return size - size // 4

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
        tools = self.tools() if self.can_use_tools(backend) else ()
        return await measure(self.token_counts, backend.tokenizer, self.blocks(), self.history, tools)

    def looks_itself(self, backend: Backend) -> bool:
        """Can this model look for what was said before?"""
        return self.settings.finding.tools and bool(self.tools()) and self.can_use_tools(backend)

    def can_use_tools(self, backend: Backend) -> bool:
        return backend.offers_tools and backend.endpoint not in self.no_tools

    def keep(self, turn: Turn, meta: dict[str, Any] | None = None) -> list[Notice]:
        """Write a turn into the journal; trouble is said once and does not stop the conversation."""
        if not self.remembers:
            return []
        try:
            self.journal.add(turn, self.now(), meta)
        except StoreTrouble as error:
            return self.say_once("store", f"this conversation is not kept: {error}")
        masked = self.journal.masked
        return [Notice(f"masked in what is kept: {count_kinds(masked)}", warning=True)] if masked else []

    def keep_shown(self, text: str) -> list[Notice]:
        """Write down a piece of an answer before it is shown."""
        if not self.remembers:
            return []
        try:
            self.journal.show(text, self.provenance)
        except StoreTrouble as error:
            return self.say_once("store", f"this answer is not kept while it comes: {error}")
        return []

    def say_once(self, about: str, text: str) -> list[Notice]:
        """A warning, unless something was said about this already."""
        if about in self._said:
            return []
        self._said.add(about)
        return [Notice(text, warning=True)]

    def erase(self, phrases: list[str]) -> None:
        """Take purged words out of the prompt too."""
        clean = Eraser(phrases, lambda _: "").clean
        self.history.rewrite(clean)
        self.summary = clean(self.summary)
        self.evicted = [turn.with_content(clean(turn.content)) for turn in self.evicted]
        self.goal = clean(self.goal)
        self.found = None
        self.token_counts, self.last_size = TokenCounts(), None

    def start_new(self) -> None:
        """Begin another conversation; this one stays in its journal."""
        self._journal = None
        self._clear()

    def reset(self) -> None:
        """Forget the turns in the prompt; the conversation goes on in the same journal."""
        self._clear()

    def resume(self, id: str) -> tuple[int, list[Notice]]:
        """Go on with a conversation: the turns that fit come back, and what a crash left behind is taken in."""
        journal = self.conversations.open(id)
        notices = []
        try:
            if self.remembers and journal.recover(self.now()):
                notices.append(Notice("the last answer was cut short when aish ended; what was shown of it is kept"))
        except StoreTrouble as error:
            notices.append(Notice(f"an answer that was cut short could not be taken in: {error}", warning=True))
        damage = Damage()
        budget = self.settings.context.token_budget
        room = 8 * (budget if isinstance(budget, int) else 32_768)
        entries = window(journal, self.settings.context.max_turns, room, damage, leave_out=MARK)
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
        self.background, self._told = None, ()
        self.project, self._looked = None, None


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
