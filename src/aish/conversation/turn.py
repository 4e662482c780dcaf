"""One turn, step by step. Read this module first; each step has its own module.

question → layers of the prompt → journal → history → make room → the loop: ask, show and keep, tools, ask again
         → journal → spending
"""

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from aish.agent.loop import AskEvent, LoopEvent, MayCall, StepDone, ToolDone, run_loop
from aish.agent.permission import Permission
from aish.agent.tool import Tool, as_json
from aish.agent.written_call import repeats, written_call
from aish.context.blocks import arrange, compose_message
from aish.context.crisis import shows_crisis
from aish.conversation.asking import Asking
from aish.conversation.enabled_tools import EnabledTools
from aish.conversation.foreign_text import has_foreign_tools
from aish.conversation.permission import AskPerson
from aish.conversation.prompt import (
    fit_question,
    held_room,
    is_ready_before,
    load_layers,
    make_room,
    message_front,
    offered_tools,
)
from aish.conversation.session import Session
from aish.conversation.spending import settle
from aish.conversation.tool_results import exchange_room, fitting_result
from aish.conversation.turn_context import CommandGate, TurnContext
from aish.memory.journal import PROVENANCE
from aish.memory.trust import claims_to_have_saved, least_trusted
from aish.model.backend import Backend
from aish.values.errors import AishError
from aish.values.events import (
    Failed,
    Notice,
    ReasoningPiece,
    TextPiece,
    ThoughtSoFar,
    Timing,
    ToolUsed,
    TurnDone,
    TurnEvent,
    Usage,
    notice,
)
from aish.values.person import Person
from aish.values.text import clip, for_keeping, one_line
from aish.values.turns import INPUT_MARK, STEERING_META, THINKING_META, Message, State, Turn
from aish.values.typed_words import TYPED_META

_MOST_THINKING = 100_000  # characters that the journal keeps of the thinking before an answer
_INTERRUPTED = as_json(status="interrupted", note="stopped before its result was read")
_WROTE_CALL = "{0} wrote a call of {1} as text; it is offered no tools for a week (to try it: aish models check {0})"
_READ_CALL = "{} writes its calls as text, such as that of {}; they are run like other calls"
_NOT_SAVED = "the model says it will remember this, but nothing was saved; to save it, use :remember TEXT"


async def take_turn(
    session: Session,
    words: str,
    person: Person,
    attached: str = "",
    *,
    typed_by_user: bool = True,
    chosen_by: str = "",
    gate: CommandGate | None = None,
    permission: Permission[TurnContext] | None = None,
    may_call: MayCall | None = None,
    category: str = "main",
    steering: Callable[[], str] = str,
) -> AsyncGenerator[TurnEvent]:
    """Ask the model and yield events; the last one is `TurnDone`.

    `words` are the user's own words unless `typed_by_user` is false. `chosen_by` are the words that choose the model,
    if these are others. `attached` came with the words, for example from a pipe, and is not trusted as the user's. An
    early end (Ctrl-C, a closed generator) is recorded as interrupted. `steering` returns what the user said meanwhile.
    """
    if said := "" if typed_by_user else steering():
        words = f"{words}\n\n{said}"
        yield _given(said)
    typed, goes_on = words if typed_by_user else said, bool(chosen_by)
    turn = TurnContext(session, person, words, typed=typed, gate=gate, goes_on=goes_on, category=category)
    turn.provenance = _origin(session, piped=not (typed_by_user or goes_on))
    turn.needs_care = session.settings.safety.crisis_support and shows_crisis(f"{chosen_by or words}\n{said}")
    question = for_keeping(f"{INPUT_MARK}\n{attached}\n\n{words}".rstrip() if attached else words)
    chain = session.chain_for(chosen_by or question)
    turn.backend = _opened(session, chain[0])
    async with aclosing(load_layers(turn, is_ready_before)) as loading:
        async for event in loading:
            yield event
    front, repeated = message_front(session, turn, for_journal=True)
    partly_typed = bool(front or attached or not typed_by_user)
    meta = _message_meta(turn, repeated, partly_typed=partly_typed, trimmed=bool(attached))
    for event in keep(turn, Turn("user", compose_message(front, question)), meta):
        yield event
    asking = Asking(turn, chain, session.services.open_backend(chain[0]))
    turn.model = chain[0]
    limits = await session.endpoints.limits(asking.backend)
    fitting = await fit_question(question, limits, asking.backend)
    session.history.shorten_held(held_room(session, asking.backend, limits, len(fitting)))
    front, _ = message_front(session, turn)
    answer = Answer(turn, session.history.ask(fitting, front), asking, steering)
    try:
        for event in await _told_before(asking, chain[0], len(question) - len(fitting)):
            yield event
        async with aclosing(load_layers(turn, lambda layer: not is_ready_before(layer))) as loading:
            async for event in loading:
                yield event
        for event in await make_room(turn, asking.backend, limits):
            yield event
        # not only those for this backend: a fallback may answer, and be offered more
        tools = EnabledTools(session, turn.refusal) if turn.tools_offered else {}
        async with aclosing(answer.run(tools, permission or AskPerson(), may_call)) as happening:
            async for shown in happening:
                yield shown
    finally:
        if not answer.recorded:
            answer.record("interrupted")


def _opened(session: Session, name: str) -> Backend | None:
    """Return the backend that answers first; None without such a model, which is said once the question is kept."""
    try:
        return session.services.open_backend(name)
    except AishError:
        return None


def _origin(session: Session, *, piped: bool) -> str:
    """Return the least trusted source of what the model reads anyway; empty if it is trusted."""
    described = "tool:mcp" if has_foreign_tools(session) else ""
    return least_trusted([described, "file" if piped else ""])  # piped in without a question


async def _told_before(asking: Asking, model: str, left_out: int) -> list[Notice]:
    """Return what the user should know before the answer: an unknown window, a cut question, another model."""
    told = await asking.turn.session.endpoints.unknown_window(asking.backend)
    if left_out:
        text = f"the message is too long for the model: {left_out:,} characters left out (:context shows the budget)"
        told.append(notice("question.cut", text, characters=left_out))
    if model != asking.turn.session.model:
        told.append(notice("model.by_rule", f"{asking.backend.label} answers this question, by a rule", model=model))
    return told


def _message_meta(
    turn: TurnContext, repeated: list[list[int]], *, partly_typed: bool, trimmed: bool
) -> dict[str, object]:
    """Return what the journal records about a message: its repeated lines, and how many at its end the user typed."""
    meta: dict[str, object] = {"recalled": repeated} if repeated else {}
    if partly_typed and turn.session.remembers:
        typed = turn.session.services.redaction.text(for_keeping(turn.typed.rstrip() if trimmed else turn.typed))
        meta[TYPED_META] = typed.count("\n") + 1 if typed else 0
    return meta


class Answer:
    """An answer in progress. Records it in the history, the journal and the costs."""

    def __init__(self, turn: TurnContext, asked: Turn, asking: Asking, steering: Callable[[], str] = str) -> None:
        self.turn, self.asked, self.asking, self.steering = turn, asked, asking, steering
        self.text: list[str] = []  # shown since the last recorded step
        self.thought: list[str] = []  # the reasoning since then; in the journal apart from the answer, never sent back
        self.usage: Usage | None = None  # of the step that is not recorded yet
        self.failure: Failed | None = None
        self.open_calls: list[str] = []  # ids of tool calls without a result
        self.calls = 0  # of the newest answer
        self.recorded = False
        self.started = time.monotonic()
        self.first, self.loaded_before = asking.backend, _load_seconds(asking.backend)
        self.first_word: float | None = None  # when it was shown

    async def run(
        self, tools: Mapping[str, Tool[TurnContext]], permission: Permission[TurnContext], may_call: MayCall | None
    ) -> AsyncGenerator[TurnEvent]:
        """Run the loop to its end, and yield the events to show."""
        session = self.turn.session

        def new_id() -> str:
            return f"call-{session.turn_number}"

        def offered() -> list[Message]:
            return [tool.schema for tool in offered_tools(session, self.asking.backend, self.turn)]

        loop = run_loop(
            self.ask, tools, permission, self.turn, may_call=may_call, new_id=new_id, offered=offered, heard=self.heard
        )
        async with aclosing(loop) as happening:
            async for step in happening:
                for shown in await self.take(step):
                    yield shown

    def heard(self) -> list[str]:
        """Return what the user and the tools said, as far as the model still sees it."""
        return [turn.content for turn in self.turn.session.history.turns if turn.role in ("user", "tool")]

    async def ask(self, offer_tools: bool) -> AsyncGenerator[AskEvent]:
        """Ask the model, with what the user has said meanwhile."""
        if said := for_keeping(self.steering()):
            turn, session = self.turn, self.turn.session
            turn.typed = f"{turn.typed}\n{said}".lstrip()
            turn.needs_care = turn.needs_care or (session.settings.safety.crisis_support and shows_crisis(said))
            for event in [*keep(turn, session.history.steer(said), {STEERING_META: True}), _given(said)]:
                yield event
            for event in await make_room(
                turn, self.asking.backend, await session.endpoints.limits(self.asking.backend)
            ):
                yield event
        async with aclosing(self.asking.ask(offer_tools)) as events:
            async for one in events:
                yield one

    async def take(self, event: LoopEvent) -> Sequence[TurnEvent]:
        """Record an event of the loop, and return the events to show. Text is recorded before it is shown."""
        session = self.turn.session
        match event:
            case TextPiece(text):
                self.first_word = self.first_word or time.monotonic()
                self.text.append(text)
                return [*session.recorder.keep_shown(session.journal, text, self.turn.provenance), event]
            case ReasoningPiece(text):
                self.thought.append(text)
                return [event]
            case ThoughtSoFar():
                self.thought.append("".join(self.text))
                self.text = []
                return [*session.recorder.take_back_shown(session.journal), event]
            case Usage():
                self.usage = event
                return []
            case StepDone():
                learned = self._learn_from(event)
                return [*learned, *(self.finish(event) if event.last else self.called(event))]
            case ToolDone():
                notices = self.used(event)
                if not self.open_calls:
                    session.history.shorten_results(exchange_room(session))
                    backend = self.asking.backend
                    notices += await make_room(self.turn, backend, await session.endpoints.limits(backend))
                return notices
        return [event]

    def called(self, step: StepDone) -> Sequence[TurnEvent]:
        """Record the model's text and its tool calls."""
        session, text = self.turn.session, for_keeping(step.text)
        usage, _, notices = settle(self.turn, self.asking.backend, self.usage, text)
        turn = session.history.add(Turn(role="assistant", content=text, tool_calls=step.calls))
        notices += keep(self.turn, turn, self._meta(usage))
        self.text, self.thought, self.usage, self.started = [], [], None, time.monotonic()
        self.open_calls = [call.id for call in step.calls]
        self.calls = len(step.calls)
        return notices

    def _learn_from(self, step: StepDone) -> list[Notice]:
        """Remember whether the model calls tools or only writes about it."""
        session, backend = self.turn.session, self.asking.backend
        names = {tool.name for tool in offered_tools(session, backend, self.turn)}
        made = next((call.name for call in step.calls if call.name in names), "")
        written = "" if made or step.failure else written_call(step.text, names)
        if written and repeats(step.text, self.heard()):
            written = ""
        if made:
            session.endpoints.called(backend, made)
        if made and step.written and session.recorder.is_news(f"model.writes_calls {backend.name}"):
            text = _READ_CALL.format(backend.name, made)
            return [notice("model.written_calls_run", text, model=backend.name, tool=made)]
        if written and session.endpoints.wrote_call(backend, written):
            text = _WROTE_CALL.format(backend.name, written)
            return [notice("model.writes_calls", text, warning=True, model=backend.name, tool=written)]
        return []

    def used(self, done: ToolDone) -> list[TurnEvent]:
        """Record the result of a tool call."""
        result = done.result
        self.turn.wrote = self.turn.wrote or result.wrote
        self.open_calls.remove(done.call.id)
        marks: dict[str, object] = {"recalled": result.recalled, "own": done.own_words}
        meta = {name: value for name, value in marks.items() if value}
        told = [] if done.shown else [ToolUsed(done.call.name, done.call.arguments, result.text)]
        text = fitting_result(self.turn.session, result.text, self.calls)
        return [*told, *self._keep_result(done.call.id, text, meta)]

    def _keep_result(self, id: str, text: str, meta: dict[str, object]) -> list[Notice]:
        turn = self.turn.session.history.add(Turn(role="tool", content=text, call_id=id))
        return keep(self.turn, turn, meta)

    def finish(self, step: StepDone) -> Sequence[TurnEvent]:
        """Record the end of the answer."""
        self.failure = step.failure
        done, notices = self.record("failed" if step.failure else "interrupted" if step.cut else "complete")
        if not self.turn.wrote and claims_to_have_saved(done.text, self.turn.question):
            notices.append(notice("memory.not_saved", _NOT_SAVED, warning=True))
        return [*notices, done]

    def record(self, state: State) -> tuple[TurnDone, list[Notice]]:
        """Record the answer with its final state."""
        self.recorded = True
        notices = list[Notice]()
        for id in self.open_calls:  # servers require a result for every call
            notices += self._keep_result(id, _INTERRUPTED, {})
        session, text = self.turn.session, for_keeping("".join(self.text))
        usage, dollars, told = settle(self.turn, self.asking.backend, self.usage, text)
        notices += told
        turn = Turn(role="assistant", content=text, state=state)
        if text:
            session.history.add(turn)
        else:
            session.history.take_back(self.asked)
        notices += keep(self.turn, turn, self._meta(usage))
        label, thinking = self.asking.backend.label, for_keeping("".join(self.thought)).strip()
        return TurnDone(text, state, label, usage, dollars, self.failure, thinking, self._timing()), notices

    def _timing(self) -> Timing:
        """Return how long the answer took."""
        backend, asked_at = self.asking.backend, self.turn.asked_at
        before = self.loaded_before if backend is self.first else 0.0
        load = _ms(_load_seconds(backend) - before) if backend.load_seconds else None
        first = _ms(self.first_word - asked_at) if self.first_word else None
        return Timing(load, first, _ms(time.monotonic() - asked_at))

    def _meta(self, usage: Usage | None) -> dict[str, object]:
        """Return what the journal records about how the answer was made."""
        session = self.turn.session
        meta: dict[str, object] = {"model": self.asking.backend.label}
        meta["ms"] = round(1000 * (time.monotonic() - self.started))
        if usage:
            meta["usage"] = {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens}
        if thought := for_keeping("".join(self.thought)).strip():
            meta[THINKING_META] = clip(session.services.redaction.text(thought), _MOST_THINKING)
        if self.failure:
            meta["error"] = session.services.redaction.text(for_keeping(self.failure.reason))
        if self.turn.provenance:  # later text derived from this answer gets no more trust than this
            meta[PROVENANCE] = self.turn.provenance
        in_prompt = {block.name for block in arrange(session.last_blocks)}
        for layer in session.layers:
            if layer.place == "message" or layer.name in in_prompt:
                meta |= layer.record(session)
        return meta


def _load_seconds(backend: Backend) -> float:
    """Return the seconds spent loading the model so far; 0 for models on servers."""
    return backend.load_seconds() if backend.load_seconds else 0.0


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


def _given(said: str) -> Notice:
    return notice("steering.given", f"given to the model: {one_line(said, 200)}")


def keep(turn: TurnContext, what: Turn, meta: dict[str, object]) -> list[Notice]:
    """Write a turn into the journal of the conversation."""
    return turn.session.recorder.keep(turn.session.journal, what, meta or None)
