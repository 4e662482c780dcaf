"""One turn, in order. Read this first: every step is somewhere else and knows nothing of the others.

question → memory → history → count → make room → check the cap → ask → show and keep → tools, and ask again
         → record → settle the bill
"""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from aish.context.blocks import compose
from aish.context.crisis import shows_crisis
from aish.context.eviction import Limits, excess, over_budget_warning
from aish.context.messages import render
from aish.conversation.past import recall_turns
from aish.conversation.session import MAX_TURN_CHARS, Session
from aish.conversation.spending import confirm_cost, settle
from aish.conversation.tools import use
from aish.memory.journal import PROVENANCE
from aish.memory.trust import claims_to_have_saved
from aish.model.backend import Answering, Backend, stream_with_fallback
from aish.values.events import (
    ChatRequest,
    Failed,
    Finished,
    Notice,
    ReasoningPiece,
    Switched,
    TextPiece,
    ToolPiece,
    TurnDone,
    TurnEvent,
    Usage,
)
from aish.values.person import Person
from aish.values.text import clip, for_keeping
from aish.values.turns import INPUT_MARK, State, ToolCall, Turn

MAX_STEPS = 8  # times that a model may use tools before it must answer
_TOO_LONG = "the answer was cut at its greatest length; raise max_tokens for more"
_STOPPED = "the server ended the answer early ({})"
_NOT_SAVED = "the model says that it will remember, but nothing was written; to keep it type :remember and what to keep"
CUT = {  # why an answer that ended is not whole, by the server's word for it
    "length": _TOO_LONG,
    "max_tokens": _TOO_LONG,
    **{reason: _STOPPED.format(reason) for reason in ("content_filter", "error", "abort")},
}


@dataclass(slots=True)
class Answer:
    """An answer while it is being given."""

    backend: Backend
    text: list[str] = field(default_factory=list)
    usage: Usage | None = None
    failure: Failed | None = None
    cut: bool = False
    calls: dict[tuple[int, int], ToolCall] = field(default_factory=dict)  # by their place in the stream
    consent: set[str] = field(default_factory=set)  # backends that may be asked, whatever they cost
    started: float = field(default_factory=time.monotonic)

    def add_piece(self, piece: ToolPiece) -> None:
        """Put a fragment to its call. Some servers give every call the same place, but an id of its own."""
        nth = max((n for place, n in self.calls if place == piece.place), default=0)
        call = self.calls.get((piece.place, nth), ToolCall("", ""))
        if piece.id and call.id and piece.id != call.id:
            nth, call = nth + 1, ToolCall("", "")
        whole = ToolCall(piece.id or call.id, call.name + piece.name, call.arguments + piece.arguments)
        self.calls[piece.place, nth] = whole

    @property
    def state(self) -> State:
        return "failed" if self.failure else "interrupted" if self.cut else "complete"


async def take_turn(
    session: Session, typed: str, person: Person, attached: str = "", *, typed_by_user: bool = True
) -> AsyncGenerator[TurnEvent]:
    """Ask the model, and give what happens as events; the last one is `TurnDone`.

    `typed` are the user's own words, unless it says otherwise; `attached` came along with them and is nobody's word.
    Whatever ends it early (Ctrl-C, a closed generator), the part that was shown is recorded as interrupted.
    """
    question = for_keeping(f"{INPUT_MARK}\n{attached}\n\n{typed}".rstrip() if attached else typed)
    session.needs_care = session.settings.safety.crisis_support and shows_crisis(typed)
    for notice in session.load_background():
        yield notice
    held, recalled = session.history.held, session.history.recalled
    carried = Turn(role="user", content=f"{held}\n\n{question}" if held else question)
    for notice in session.keep(carried, {"recalled": recalled} if recalled else None):
        yield notice
    chain = session.chain_for(question)
    answer = Answer(session.open_backend(chain[0]))
    limits = await session.limits(answer.backend)
    fitting = await fit_question(question, limits, answer.backend)
    session.history.shorten_held(max(limits.token_budget * 3 // 2 - len(fitting), 0))  # half of the budget or less
    asked = session.history.ask(fitting)
    recorded = False
    try:
        if fitting != question:
            yield Notice(f"the message is too long for the model: {len(question) - len(fitting):,} characters left out")
        if chain[0] != session.model:
            yield Notice(f"{answer.backend.label} answers this one, by a rule")
        async with aclosing(recall_turns(session, typed, answer.backend)) as notices_of_past:
            async for notice in notices_of_past:
                yield notice
        for notice in await make_room(session, answer.backend, limits):
            yield notice
        wrote = False
        for step in range(MAX_STEPS + 1):
            async with aclosing(ask(session, chain, answer, person, tools=step < MAX_STEPS)) as events:
                async for event in events:
                    yield event
            if not answer.calls or answer.failure:
                break
            if step == MAX_STEPS:  # it was offered none any more
                answer.failure = Failed("the model only called tools and gave no answer") if not answer.text else None
                break
            used, notices = use_tools(session, answer, typed if typed_by_user else "")
            answer = Answer(answer.backend, consent=answer.consent)  # what was said so far is recorded, and only once
            wrote = wrote or used
            for notice in notices + await make_room(session, answer.backend, await session.limits(answer.backend)):
                yield notice
        recorded = True
        done, notices = finish(session, asked, answer, answer.state)
        if not wrote and claims_to_have_saved(done.text, typed):
            notices.append(Notice(_NOT_SAVED, warning=True))
        for notice in notices:
            yield notice
        yield done
    finally:
        session.needs_care, session.recalled, session.provenance = False, "", ""
        if not recorded:
            finish(session, asked, answer, "interrupted")


async def fit_question(question: str, limits: Limits, backend: Backend) -> str:
    """The question, cut in its middle if it could never fit; three quarters of the budget are its share."""
    share = limits.token_budget * 3 // 4
    fitting = clip(question, min(share * 8, MAX_TURN_CHARS))  # no text has more than 8 characters a token for long
    if len(fitting) <= share:  # nor fewer than one
        return fitting
    for _ in range(3):
        tokens = await backend.tokenizer.count(fitting)
        if tokens <= share:
            break
        fitting = clip(question, len(fitting) * share // tokens)
    return fitting if len(fitting) < len(question) else question  # the mark of a cut is longer than little is


async def make_room(session: Session, backend: Backend, limits: Limits) -> list[Notice]:
    """Count the prompt and drop the oldest exchanges until it fits; say what went."""
    notices: list[Notice] = []
    size = await session.size(backend)
    gone = excess(size.fixed, size.exchanges, limits)
    if gone:
        dropped = session.history.drop_oldest(gone)
        session.evicted += dropped
        session.token_counts.forget(dropped, session.history.turns)
        size = await session.size(backend)
        notices.append(
            Notice(f"{len(dropped)} older turns left the prompt ({size.total} of {limits.token_budget} tokens)")
        )
    warning = over_budget_warning(size.blocks, limits)
    if warning:
        notices += session.say_once("system prompt", warning)
    session.last_size = size
    return notices


async def ask(
    session: Session, chain: list[str], answer: Answer, person: Person, *, tools: bool
) -> AsyncGenerator[TurnEvent]:
    """Get the answer. A server that refuses tools or the tool role is asked again without them."""
    while True:
        answer.failure = None
        async with aclosing(listen(session, chain, answer, person, tools=tools)) as events:
            async for event in events:
                yield event
        if not answer.text and not answer.calls and not answer.failure:
            answer.failure = Failed("the model ended its answer without a word")
        name, endpoint = answer.backend.name, answer.backend.endpoint
        trouble = answer.failure.trouble if answer.failure and not answer.text else ""
        if trouble == "tools" and session.can_use_tools(answer.backend) and session.tools():
            session.no_tools.add(endpoint)
            yield Notice(f"{name} takes no tools; going on without them")
        elif trouble == "roles" and endpoint not in session.no_tool_role:
            session.no_tool_role.add(endpoint)
            yield Notice(f"{name} does not take the tool role; from now on tool results go as plain text")
        else:
            return


async def listen(
    session: Session, chain: list[str], answer: Answer, person: Person, *, tools: bool
) -> AsyncGenerator[TurnEvent]:
    """Follow one stream to its end: keep each piece before it is shown, and fill in `answer`."""
    stream = stream_with_fallback(
        chain, session.open_backend, lambda backend: request_for(session, backend, tools=tools)
    )
    async with aclosing(stream) as events:
        async for event in events:
            match event:
                case TextPiece(text):
                    answer.text.append(text)
                    for notice in session.keep_shown(text):
                        yield notice
                    yield event
                case ReasoningPiece():
                    yield event
                case Usage():
                    answer.usage = event
                case Switched(old, new, reason):
                    yield Notice(f"{old}: {reason}; going on with {new}", warning=True)
                case Answering(backend):
                    if backend is not answer.backend:  # it counts its own way, and its window may be smaller
                        answer.backend = backend
                        for notice in await make_room(session, backend, await session.limits(backend)):
                            yield notice
                    if not await allowed(session, answer, person):
                        answer.failure = Failed("not asked: it could cost more than the cap", "declined")
                        return
                case Finished(reason) if reason in CUT:
                    answer.cut = True
                    yield Notice(CUT[reason], warning=True)
                case ToolPiece():
                    answer.add_piece(event)
                case Failed():
                    answer.failure = event


def request_for(session: Session, backend: Backend, *, tools: bool = True) -> ChatRequest:
    """What this backend is sent."""
    wanted = session.settings.context.use_tool_role and backend.use_tool_role
    tool_role = wanted and backend.endpoint not in session.no_tool_role
    messages = render(compose(session.blocks()), session.history.turns, use_tool_role=tool_role)
    offered = session.tools() if tools and session.can_use_tools(backend) else ()
    return ChatRequest(messages=messages, tools=offered, max_tokens=backend.max_tokens)


async def allowed(session: Session, answer: Answer, person: Person) -> bool:
    """May the backend be asked, as far as money goes? One yes is good for the whole answer."""
    name = answer.backend.name
    if name not in answer.consent and session.last_size:
        if not await confirm_cost(session, answer.backend, session.last_size, person):
            return False
        answer.consent.add(name)
    return True


def use_tools(session: Session, answer: Answer, typed: str) -> tuple[bool, list[Notice]]:
    """Record what the model said and called, run the calls, and record what they gave; whether memory was written."""
    number = session.turn_number
    named = (call for _, call in sorted(answer.calls.items()))
    calls = tuple(call._replace(id=call.id or f"call-{number}-{place}") for place, call in enumerate(named))
    text = for_keeping("".join(answer.text))
    usage, _, notices = settle(session, answer.backend, session.last_size, answer.usage, text)
    turn = Turn(role="assistant", content=text, tool_calls=calls)
    session.history.add(turn)
    notices += session.keep(turn, _meta(session, answer, usage))
    wrote = False
    for call in calls:
        used = use(session, call, typed)
        wrote = wrote or used.wrote
        result = session.history.add(Turn(role="tool", content=used.answer, call_id=call.id))
        notices += [*used.notices, *session.keep(result, {"recalled": True} if used.recalled else None)]
    return wrote, notices


def finish(session: Session, asked: Turn, answer: Answer, state: State) -> tuple[TurnDone, list[Notice]]:
    """Record what came of the question: in the history, the journal and the bill."""
    text = for_keeping("".join(answer.text))
    usage, dollars, notices = settle(session, answer.backend, session.last_size, answer.usage, text)
    turn = Turn(role="assistant", content=text, state=state)
    if text:
        session.history.add(turn)
    else:
        session.history.take_back(asked)
    notices += session.keep(turn, _meta(session, answer, usage))
    done = TurnDone(
        text=text,
        state=state,
        model=answer.backend.label,
        usage=usage,
        dollars=dollars,
        trouble=answer.failure,
    )
    return done, notices


def _meta(session: Session, answer: Answer, usage: Usage | None) -> dict[str, object]:
    """What the journal keeps of the making of an answer."""
    meta: dict[str, object] = {"model": answer.backend.label, "ms": round(1000 * (time.monotonic() - answer.started))}
    if usage:
        meta["usage"] = {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens}
    if answer.failure:
        meta["error"] = session.redaction.text(for_keeping(answer.failure.reason))
    if session.provenance:  # what is made of the answer in its turn is trusted no more
        meta[PROVENANCE] = session.provenance
    injected = session.injected()
    if injected:
        meta["background"] = injected
    return meta
