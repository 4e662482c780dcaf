"""A conversation in progress: its turns, its prompt, its journal and its model."""

import re
import threading
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aish.agent.tool import Tool
from aish.context.blocks import Block
from aish.context.eviction import Limits
from aish.context.history import History
from aish.context.token_counts import PromptSize, TokenCounts, measure
from aish.conversation.endpoints import Endpoints
from aish.conversation.layer import Layer
from aish.conversation.notes_progress import NotesProgress
from aish.conversation.recorder import Recorder
from aish.conversation.services import Services
from aish.memory.compactions import summarised_to
from aish.memory.conversations import window
from aish.memory.curation import Memory
from aish.memory.journal import TurnLog
from aish.memory.purge import Eraser
from aish.model.backend import Backend
from aish.model.run_form import RUN_TOOL
from aish.model.weights import PromptForm
from aish.settings.options import Settings
from aish.values.errors import AishError, BadTurn, StoreTrouble
from aish.values.events import Notice, notice
from aish.values.hits import Finder, SearchResult
from aish.values.stores import Damage
from aish.values.text import clip
from aish.values.turns import SUMMARIZER_META, Turn

if TYPE_CHECKING:  # a turn has a session, and notes are loaded when the first one is read
    from aish.conversation.turn_context import TurnContext
    from aish.memory.notes.channel_notes import ChannelNotes

MAX_TURN_CHARS = 2_000_000  # longer turns are cut before sending; the journal keeps the full text
L = TypeVar("L", bound=Layer)


class Session:
    """One conversation. State of a single turn is in its `TurnContext`, state of a layer in the layer."""

    services: Services
    model: str
    cwd: Path
    layers: Sequence[Layer]
    tools: Sequence[Tool[Any]]
    recorder: Recorder
    endpoints: Endpoints
    history: History
    evicted: list[Turn]  # dropped from the prompt, not in the summary yet
    token_counts: TokenCounts
    last_size: PromptSize | None = None
    last_blocks: tuple[Block, ...] = ()  # the prompt of the last answer, for `:why`
    found: SearchResult | None = None  # the last search, by the user, the model or a layer
    searching: threading.Lock  # one search at a time
    progress: NotesProgress  # how far the notes have got
    named_channel: str = ""  # chosen by the user; otherwise the project decides

    def __init__(
        self,
        *,
        services: Services,
        model: str,
        cwd: Path,
        layers: Sequence[Layer],
        tools: Sequence[Tool[Any]],
        recorder: Recorder,
        endpoints: Endpoints,
    ) -> None:
        self.services, self.model, self.cwd = services, model, cwd
        self.layers, self.tools, self.recorder, self.endpoints = layers, tools, recorder, endpoints
        self.history, self.evicted, self.token_counts = History(), [], TokenCounts()
        self.searching, self.progress = threading.Lock(), NotesProgress()

    @property
    def settings(self) -> Settings:
        return self.services.settings

    @property
    def remembers(self) -> bool:
        return self.recorder.remembers

    @property
    def backend(self) -> Backend:
        return self.services.open_backend(self.model)

    def prompt_form(self, turn: "TurnContext | None" = None) -> PromptForm:
        """Return what the model that answers is sent: that of the turn, or the one that was chosen."""
        try:
            return ((turn.backend if turn else None) or self.backend).prompt_form
        except AishError:  # there is no such model; the question will fail with the reason
            return "full"

    def is_small(self, turn: "TurnContext | None" = None) -> bool:
        """Is the model that answers a small one, whose prompts are short?"""
        return self.prompt_form(turn) != "full"

    @property
    def journal(self) -> TurnLog:
        return self.recorder.journal(self.cwd, self.model, lambda: self.channel)

    @property
    def memory(self) -> Memory:
        return self.services.open_memory()[0]

    @property
    def channel(self) -> str:
        """The channel whose notes are used: the one that the user chose, or the one of the project."""
        return self.named_channel or self.services.channels.at(self.cwd)

    @property
    def parent(self) -> str:
        """The conversation that this one works for as a sub-agent; empty for a conversation of the user."""
        return str(self.recorder.about.get("parent", ""))

    @property
    def owner(self) -> str:
        """The conversation of the user that costs and changes of files are counted for."""
        return self.parent or self.journal.id

    @property
    def keeps_notes(self) -> bool:
        """Are notes of this conversation kept? The words in that of a sub-agent are not the user's."""
        wanted = self.settings.notes.upkeep and self.remembers and not self.parent
        return wanted and bool(self.recorder.conversation)

    @property
    def notes(self) -> "ChannelNotes":
        """The notes of the channel."""
        return self.services.open_notes(self.channel)

    @property
    def finder(self) -> Finder:
        return self.services.open_finder()

    @property
    def turn_number(self) -> int:
        """The number of the newest turn in the journal, or 0."""
        newest = next(self.journal.entries_back(), None)
        return newest.number if newest else 0

    def layer(self, kind: type[L]) -> L:
        """Return the layer of this class."""
        return next(layer for layer in self.layers if isinstance(layer, kind))

    def enabled_tools(self) -> tuple[Tool[Any], ...]:
        """Return the tools that the settings switch on."""
        if not self.remembers:
            return ()
        return tuple(tool for tool in self.tools if self._is_enabled(tool))

    def _is_enabled(self, tool: Tool[Any]) -> bool:
        if tool.layer and not any(layer.name == tool.layer and layer.text(self, None) for layer in self.layers):
            return False
        return not tool.setting or bool(attrgetter(tool.setting)(self.settings))

    def offered_tools(self, backend: Backend) -> tuple[Tool[Any], ...]:
        """Return the enabled tools, or none if the model cannot use tools; some run commands and nothing else."""
        wanted = self.endpoints.takes_tools(backend)
        offered = (tool for tool in self.enabled_tools() if tool.offered) if wanted else ()
        return tuple(tool for tool in offered if backend.prompt_form != "run" or tool.name == RUN_TOOL)

    def chain_for(self, question: str) -> list[str]:
        """Return the presets to ask, in order: from the first matching rule, else the chosen one; then fallbacks."""
        first = self.model
        for rule in self.settings.rules:
            if re.search(rule.get("match", ""), question):  # validated when settings are loaded
                first = rule["model"]
                break
        named = [first, *(name for name in self.settings.fallback if name != first)]
        smaller = [other for name in named for other in self.services.stand_ins(name)]
        return [*named, *(name for name in smaller if name not in named)]

    async def size(
        self, backend: Backend, blocks: Sequence[Block], tools: Sequence[Tool[Any]], front: Sequence[Block] = ()
    ) -> PromptSize:
        """Return the size of a prompt with these blocks and tools and the current history.

        `front` goes in front of the next message.
        """
        schemas = tuple(tool.schema for tool in tools)
        return await measure(self.token_counts, backend.tokenizer, blocks, self.history, schemas, front)

    def say_once(self, code: str, text: str, **fields: object) -> list[Notice]:
        """Return a warning, unless one with this code was given before."""
        return self.recorder.say_once(code, text, **fields)

    def erase(self, phrases: list[str]) -> None:
        """Remove purged phrases from the prompt."""
        clean = Eraser(phrases, lambda _: "").clean
        self.history.rewrite(clean)
        for layer in self.layers:
            layer.rewrite(clean)
        self.evicted = [turn.with_content(clean(turn.content)) for turn in self.evicted]
        self.found, self.last_blocks = None, ()
        self.progress.purges += 1
        self.services.forget_recall()
        self.token_counts, self.last_size = TokenCounts(), None

    def start_new(self) -> None:
        """Start a new conversation; the current one stays in its journal."""
        self.recorder.open(None)
        self.reset()
        self.progress.clear()

    def reset(self) -> None:
        """Clear the turns in the prompt; the conversation continues in the same journal."""
        self.history.clear()
        self.evicted.clear()
        self.last_size, self.last_blocks = None, ()
        for layer in self.layers:
            layer.clear()

    def resume(self, id: str) -> tuple[int, list[Notice]]:
        """Continue a conversation: load the turns that fit, and recover an answer that a crash interrupted."""
        journal = self.services.conversations.open(id)
        notices = self._recover(journal)
        damage = Damage()
        limits = self._expected_limits()
        entries = window(journal, limits.max_turns, 8 * limits.token_budget, damage, leave_out=SUMMARIZER_META)
        self.reset()
        self.recorder.open(journal)
        self.progress.clear()
        summarised = summarised_to(journal)
        loaded = [entry for entry in entries if entry.number > summarised]
        self.history = restored([entry.turn for entry in loaded])
        self.history.foreign_gone = bool(entries) and (not loaded or loaded[0].number > 1)  # nobody looks: perhaps
        for layer in self.layers:
            layer.resumed(self)
        if damage.lines:
            text = f"skipped {damage.lines} damaged lines of this conversation (aish doctor)"
            notices.append(notice("conversation.damaged", text, warning=True, lines=damage.lines))
        return self.turn_number, notices

    def _expected_limits(self) -> Limits:
        try:
            return self.endpoints.expected_limits(self.backend)
        except AishError:  # there is no such model; the question will fail with the reason
            return Limits()

    def _recover(self, journal: TurnLog) -> list[Notice]:
        try:
            if self.remembers and journal.recover(self.services.now()):
                text = "the last answer was interrupted when aish ended; the part that was shown is kept"
                return [notice("conversation.recovered", text)]
        except StoreTrouble as error:
            text = f"could not recover the interrupted last answer: {error}"
            return [notice("conversation.not_recovered", text, warning=True)]
        return []


def restored(turns: list[Turn]) -> History:
    """Build the history from journaled turns, without unanswered questions and broken tool groups."""
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
