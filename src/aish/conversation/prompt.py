"""The prompt of a conversation: its layers loaded, put in order, counted, and made to fit."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from aish.agent.tool import Tool
from aish.context.blocks import Block
from aish.context.eviction import Limits, excess, over_budget_warning
from aish.context.token_counts import PromptSize
from aish.conversation.layer import Layer
from aish.conversation.session import MAX_TURN_CHARS, Session
from aish.conversation.turn_context import TurnContext
from aish.model.backend import Backend
from aish.values.events import Notice, notice
from aish.values.text import clip


def is_stable(layer: Layer) -> bool:
    """Does the layer stay the same in the whole conversation?"""
    return layer.stability != "changing"


def is_ready_before(layer: Layer) -> bool:
    """Must the layer be loaded before the question is written down? Others may ask a model, and that can be stopped."""
    return is_stable(layer) or layer.place == "message"


async def load_layers(turn: TurnContext, wanted: Callable[[Layer], bool]) -> AsyncGenerator[Notice]:
    """Bring the wanted layers up to date, in their order."""
    for layer in sorted(turn.session.layers, key=lambda layer: layer.order):
        if wanted(layer):
            async with aclosing(layer.load(turn)) as notices:
                async for one in notices:
                    yield one


def system_blocks(session: Session, turn: TurnContext | None = None) -> tuple[Block, ...]:
    """The blocks of the system prompt."""
    return tuple(layer.block(session, turn) for layer in session.layers if layer.place == "system")


def message_front(session: Session, turn: TurnContext | None = None) -> tuple[list[str], list[list[int]]]:
    """What goes in front of the next message, and which of its lines only repeat what stands in another journal."""
    texts, repeated, line = list[str](), list[list[int]](), 0
    for layer in sorted(session.layers, key=lambda layer: layer.order):
        text = layer.text(session, turn) if layer.place == "message" else ""
        if text:
            texts.append(text)
            repeated += [[line + begin, line + end] for begin, end in layer.repeated_lines(session)]
            line += text.count("\n") + 2  # the next one comes after a blank line
    return texts, repeated


def offered_tools(session: Session, backend: Backend, turn: TurnContext | None = None) -> tuple[Tool[Any], ...]:
    """The tools that this backend is offered; none where the answer needs care."""
    return session.offered_tools(backend) if turn is None or turn.tools_offered else ()


async def prompt_size(session: Session, backend: Backend, turn: TurnContext | None = None) -> PromptSize:
    """What a prompt would cost if it were sent now."""
    return await session.size(backend, system_blocks(session, turn), offered_tools(session, backend, turn))


async def make_room(turn: TurnContext, backend: Backend, limits: Limits) -> list[Notice]:
    """Count the prompt and drop the oldest exchanges until it fits; say what went."""
    session, notices = turn.session, list[Notice]()
    size = await prompt_size(session, backend, turn)
    gone = excess(size.fixed, size.exchanges, limits)
    if gone:
        dropped = session.history.drop_oldest(gone)
        session.evicted += dropped
        session.token_counts.forget(dropped, session.history.turns)
        size = await prompt_size(session, backend, turn)
        text = f"{len(dropped)} older turns left the prompt ({size.total} of {limits.token_budget} tokens)"
        notices.append(
            notice("prompt.evicted", text, turns=len(dropped), tokens=size.total, budget=limits.token_budget)
        )
    warning = over_budget_warning(size.blocks, limits)
    if warning:
        notices += session.say_once("prompt.over_budget", warning)
    session.last_size = size
    return notices


async def fit_question(question: str, limits: Limits, backend: Backend) -> str:
    """The question, cut in its middle if it could never fit; it may take three quarters of the budget."""
    share = limits.token_budget * 3 // 4
    fitting = clip(question, min(share * 8, MAX_TURN_CHARS))  # no text has more than 8 characters a token for long
    if len(fitting) <= share:  # nor fewer than one
        return fitting
    for _ in range(3):
        tokens = await backend.tokenizer.count(fitting)
        if tokens <= share:
            break
        fitting = clip(question, len(fitting) * share // tokens)
    return (
        fitting if len(fitting) < len(question) else question
    )  # the truncation marker may be longer than what it saves
