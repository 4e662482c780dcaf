"""Turns of earlier conversations, as far as a turn needs them: searched off the event loop, and weighed by trust."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from aish.conversation.session import Session
from aish.values.hits import Hit
from aish.values.turns import EXEC_MARK, INPUT_MARK

_T = TypeVar("_T")


async def search_in_thread(session: Session, look: Callable[[], _T], stop: Callable[[], object] = lambda: None) -> _T:
    """Run a search in a thread, and the searches of one conversation one after another: a finder is not for two.

    Whoever is cancelled calls `stop` and waits for the thread: an exit would have to wait for it anyway.
    """

    def alone() -> _T:
        with session.searching:
            return look()

    looking = asyncio.ensure_future(asyncio.to_thread(alone))
    try:
        return await asyncio.shield(looking)
    finally:
        stop()
        if not looking.done():
            await asyncio.wait([looking])


def elsewhere(session: Session, hits: Iterable[Hit]) -> list[Hit]:
    """The hits that the prompt does not have already; the best for a question would be the question itself."""
    first = session.turn_number - len(session.history.turns)
    return [hit for hit in hits if hit.conversation != session.journal.id or hit.turn <= first]


def trust_of(hit: Hit) -> str:
    """Whose word a turn is, as far as that counts."""
    if hit.source:
        return f"imported from {hit.source}"
    if hit.role == "user" and (EXEC_MARK in hit.text or hit.text.startswith(INPUT_MARK)):
        return "the user, with the output of a command or a file"
    return {"user": "the user", "assistant": "a model"}.get(hit.role, "a tool")
