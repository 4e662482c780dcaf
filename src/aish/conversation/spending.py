"""Cost of model calls: check the caps before a call, and record tokens and money after it."""

import json
from collections.abc import Iterator
from datetime import datetime

from aish.context.eviction import Size
from aish.context.token_counts import PromptSize
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.model.backend import Backend
from aish.model.cost import ModelCall, worst_case
from aish.model.estimate import PromptCount, repeated_characters
from aish.values.errors import StoreTrouble
from aish.values.events import ChatRequest, Notice, Usage
from aish.values.person import Nobody, Person

_LIKELY_ANSWER = 1000  # tokens assumed for an answer if max_tokens is not set
_MOST_ADDED = 200_000  # tokens of a prompt that a gateway may have put in front of ours
_MOST_ANSWER = 10_000_000


async def confirm_cost(session: Session, backend: Backend, size: PromptSize, person: Person) -> bool:
    """Return whether the call may be made. Ask the user first if it could exceed a cap."""
    caps = session.settings.cost
    if caps.cap_at_dollars is None and caps.cap_at_dollars_per_day is None:
        return True
    if backend.price is None:
        return await person.confirm(
            f"the price of {backend.label} is unknown, so the cost cap cannot be enforced. Continue anyway?"
        )
    most = worst_case(backend.price, size.total, backend.max_tokens or _LIKELY_ANSWER)
    if not most:
        return True  # a free call is allowed even when the cap is already exceeded
    try:
        sums = (
            ("in this conversation", caps.cap_at_dollars, session.services.costs.spent_in(session.owner)),
            (
                "today",
                caps.cap_at_dollars_per_day,
                session.services.costs.spent_since(midnight(session.services.now())),
            ),
        )
    except StoreTrouble as error:
        return await person.confirm(f"cannot read past costs ({error}). Continue anyway?")
    for where, cap, spent in sums:
        if cap is not None and spent + most > cap:
            return await person.confirm(
                f"this call could cost about ${most:.4f}; with ${spent:.4f} spent {where} that exceeds the cap of "
                f"${cap:g}. Continue anyway?"
            )
    return True


async def affordable(session: Session, backend: Backend, request: ChatRequest) -> bool:
    """Return whether a call stays below the caps, without asking the user."""
    text = "".join(str(message["content"]) for message in request.messages)
    size = PromptSize(blocks=(), exchanges=(Size(turns=1, tokens=await backend.tokenizer.count(text)),))
    return await confirm_cost(session, backend, size, Nobody())


def settle(
    turn: TurnContext, backend: Backend, reported: Usage | None, text: str
) -> tuple[Usage | None, float | None, list[Notice]]:
    """Record what a call cost, and refine the token estimate from the server's count."""
    session, size, request = turn.session, turn.session.last_size, turn.request
    notices: list[Notice] = []
    if reported and request and not _is_believable(reported, request):
        reported = None
    if reported is None and not text:
        return None, None, notices
    usage = reported or Usage(
        prompt_tokens=size.total if size else 0,
        completion_tokens=backend.tokenizer.estimates.count(backend.model_name, text),
    )
    if reported and request:
        notices += _compare(turn, backend, request, reported)
    dollars = backend.price.of(usage) if backend.price else None
    notices += enter(session, backend, usage, dollars, "sub-agent" if session.parent else turn.category)
    return usage, dollars, notices


def enter(session: Session, backend: Backend, usage: Usage, dollars: float | None, category: str) -> list[Notice]:
    """Add one call to the costs."""
    call = ModelCall(
        time=session.services.now(),
        conversation=session.journal.id,
        model=backend.label,
        category=category,
        usage=usage,
        dollars=dollars,
        parent=session.parent,
    )
    if not session.remembers:
        session.services.costs.session.append(call)
        return []
    try:
        session.services.costs.add(call)
    except StoreTrouble as error:
        return session.say_once("store.not_kept", f"costs are not recorded: {error}")
    return []


def _compare(turn: TurnContext, backend: Backend, request: ChatRequest, reported: Usage) -> list[Notice]:
    """Learn from the server's token count, and warn if it shows that part of the conversation was dropped."""
    session = turn.session
    schemas = len(json.dumps(request.tools)) if request.tools else 0
    cached = reported.cached_tokens if reported.cached_tokens > reported.prompt_tokens else 0  # counted apart
    count = PromptCount(_text_length(request), schemas, reported.prompt_tokens + cached)
    estimates = session.services.estimates
    lesson = estimates.learn(backend.model_name, backend.identity, count, keep=session.remembers)
    if not lesson.missing or lesson.missing <= sum(repeated_characters(text) for text in _texts(request)):
        return []
    text = (
        f"the server counted only {count.counted:,} prompt tokens, although the prompt grew to {count.text:,} "
        f"characters: it may have dropped part of the conversation; if its window is smaller, set "
        f"models.{backend.name}.window"
    )
    fields = {"counted": count.counted, "characters": count.text}
    return session.say_once(f"tokens.too_few.{backend.name}", text, **fields)


def _texts(request: ChatRequest) -> Iterator[str]:
    """Yield the texts of a request, with the arguments of tool calls."""
    for message in request.messages:
        yield str(message.get("content") or "")
        for call in message.get("tool_calls") or ():
            yield str(call["function"]["arguments"])


def _text_length(request: ChatRequest) -> int:
    return sum(len(text) for text in _texts(request))


def _is_believable(reported: Usage, request: ChatRequest) -> bool:
    """Return whether counts are possible: a token has at least one byte, and servers add little of their own."""
    sent = 4 * (_text_length(request) + len(json.dumps(request.tools)))
    return reported.prompt_tokens <= sent + _MOST_ADDED and reported.completion_tokens <= _MOST_ANSWER


def midnight(now: datetime) -> datetime:
    """Return the start of the user's day."""
    return now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
