"""The prompt of a conversation: load its layers, order them, count tokens, and drop turns until it fits."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from aish.agent.tool import Tool
from aish.context.blocks import Block, compose, compose_message
from aish.context.eviction import Limits, excess, over_budget_warning
from aish.context.messages import render
from aish.context.token_counts import PromptSize
from aish.conversation.foreign_text import drop_oldest
from aish.conversation.layer import Layer
from aish.conversation.recorder import EVICTED
from aish.conversation.session import MAX_TURN_CHARS, Session
from aish.conversation.turn_context import TurnContext
from aish.model.backend import Backend
from aish.values.events import Notice, notice
from aish.values.text import clip, room_for
from aish.values.turns import Message, Turn

_HELD_TOKENS, _HELD_CHARS = 90, 450  # of output that comes with a question to a small model
_SHORT_QUESTION = 1_000  # tokens, with what was piped in


def is_stable(layer: Layer) -> bool:
    """Return whether the layer stays the same for the whole conversation."""
    return layer.stability != "changing"


def is_ready_before(layer: Layer) -> bool:
    """Return whether the layer must be loaded before the question is recorded.

    Other layers may ask a model. They load afterwards, so that the question is kept if the user stops them.
    """
    return is_stable(layer) or layer.place == "message"


async def load_layers(turn: TurnContext, wanted: Callable[[Layer], bool]) -> AsyncGenerator[Notice]:
    """Load the wanted layers in their order."""
    for layer in sorted(turn.session.layers, key=lambda layer: layer.order):
        if wanted(layer):
            async with aclosing(layer.load(turn)) as notices:
                async for one in notices:
                    yield one


def system_blocks(session: Session, turn: TurnContext | None = None) -> tuple[Block, ...]:
    """Return the blocks of the system prompt."""
    return tuple(layer.block(session, turn) for layer in session.layers if layer.place == "system")


def message_front(
    session: Session, turn: TurnContext | None = None, *, for_journal: bool = False
) -> tuple[list[str], list[list[int]]]:
    """Return the texts in front of the next message, and the line ranges in them that only repeat other journals."""
    texts, repeated, line = list[str](), list[list[int]](), 0
    for layer in sorted(session.layers, key=lambda layer: layer.order):
        wanted = layer.place == "message" and (layer.in_journal or not for_journal)
        text = layer.text(session, turn) if wanted else ""
        if text:
            texts.append(text)
            repeated += [[line + begin, line + end] for begin, end in layer.repeated_lines(session)]
            line += text.count("\n") + 2  # a blank line separates the texts
    return texts, repeated


def prompt_messages(session: Session, blocks: Sequence[Block], backend: Backend) -> tuple[Message, ...]:
    """Return the messages of a request.

    For a small model, blocks that change are in front of the newest question: what is before it stays as it was, so
    that it is not read again.
    """
    moved = [one for one in blocks if one.stability == "changing"] if backend.is_small else []
    rest = compose([one for one in blocks if one not in moved])
    messages = render(rest, session.history.turns, use_tool_role=session.endpoints.takes_tool_role(backend))
    front = compose(moved)
    place = next((place for place in reversed(range(len(messages))) if messages[place]["role"] == "user"), None)
    if not front or place is None:
        return messages
    asked = messages[place] | {"content": compose_message([front], str(messages[place]["content"]))}
    return (*messages[:place], asked, *messages[place + 1 :])


def may_be_kept(session: Session, turn: TurnContext | None = None) -> bool:
    """May the beginning of the prompt be kept on disk? Not if it has what was said in this conversation."""
    own = (layer.text(session, turn) for layer in session.layers if layer.of_conversation)
    return session.remembers and not any(own)


def opening_messages(session: Session, backend: Backend) -> tuple[Message, ...]:
    """Return the prompt of the next question as far as it is known before the question is."""
    with session.history.held_within(held_room(session, backend, session.endpoints.expected_limits(backend), 0)):
        front, _ = message_front(session)
    turns = [*session.history.turns, Turn("user", compose_message(front, "").strip() or "?")]
    stable = [one for one in system_blocks(session) if one.stability != "changing"]
    return render(compose(stable), turns, use_tool_role=session.endpoints.takes_tool_role(backend))


def offered_tools(session: Session, backend: Backend, turn: TurnContext | None = None) -> tuple[Tool[Any], ...]:
    """Return the tools to offer to this backend; none if the answer needs care, and no commands without a gate."""
    if turn is None:
        return session.offered_tools(backend)
    offered = session.offered_tools(backend) if turn.tools_offered else ()
    return offered if turn.gate else tuple(tool for tool in offered if not tool.needs_gate)


async def prompt_size(session: Session, backend: Backend, turn: TurnContext | None = None) -> PromptSize:
    """Return the size of the prompt if it were sent now."""
    return await session.size(
        backend,
        system_blocks(session, turn),
        offered_tools(session, backend, turn),
        () if turn else _front_blocks(session),
    )


def _front_blocks(session: Session) -> tuple[Block, ...]:
    """Return what would go in front of the next message, besides output that is held."""
    return tuple(
        layer.block(session, None)
        for layer in session.layers
        if layer.place == "message" and layer.text(session, None) not in ("", session.history.held)
    )


async def make_room(turn: TurnContext, backend: Backend, limits: Limits) -> list[Notice]:
    """Count the prompt, drop the oldest exchanges until it fits, and return notices about it."""
    session, notices = turn.session, list[Notice]()
    size = await prompt_size(session, backend, turn)
    gone = excess(size.fixed, size.exchanges, limits)
    if gone:
        by_turns = sum(exchange.turns for exchange in size.exchanges) > limits.max_turns
        for layer in session.layers:
            notices += await layer.dropping(session, gone)
        dropped = drop_oldest(session.history, gone)
        session.evicted += dropped
        session.token_counts.forget(dropped, session.history.turns)
        size = await prompt_size(session, backend, turn)
        if session.recorder.is_news(EVICTED):
            notices.append(_evicted(len(dropped), size.total, limits, by_turns=by_turns))
    warning = over_budget_warning(size.blocks, limits)
    if warning:
        notices += session.say_once("prompt.over_budget", warning)
    session.last_size = size
    return notices


def _evicted(turns: int, tokens: int, limits: Limits, *, by_turns: bool) -> Notice:
    """Return what is said when turns leave the prompt for the first time."""
    setting = "context.max_turns" if by_turns else "context.token_budget"
    text = (
        f"{turns} older turns were dropped from the prompt ({tokens} of {limits.token_budget} tokens); to keep more, "
        f"raise {setting}; later ones are counted in :cost"
    )
    return notice(EVICTED, text, turns=turns, tokens=tokens, budget=limits.token_budget)


def held_room(session: Session, backend: Backend, limits: Limits, question: int) -> int:
    """Return how many characters of held output go with a question of this length: at most half of the budget.

    A small model gets its beginning and its end.
    """
    if backend.is_small:
        return min(room_for(session.history.held, _HELD_TOKENS), _HELD_CHARS)
    return max(limits.token_budget * 3 // 2 - question, 0)


async def fit_question(question: str, limits: Limits, backend: Backend) -> str:
    """Return the question, cut in the middle if it takes more than three quarters of the token budget.

    A small model gets less.
    """
    share = limits.token_budget * 3 // 4
    if backend.is_small:
        share = min(share, _SHORT_QUESTION)
    fitting = clip(question, min(share * 8, MAX_TURN_CHARS))  # long texts have at most 8 characters per token
    if len(fitting) <= share:  # and at least one
        return fitting
    for _ in range(3):
        tokens = await backend.tokenizer.count(fitting)
        if tokens <= share:
            break
        fitting = clip(question, len(fitting) * share // tokens)
    # the truncation marker may be longer than what it saves
    return fitting if len(fitting) < len(question) else question
