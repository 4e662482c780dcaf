"""Turns of earlier conversations for the current turn: search in a thread, and tell whose words they are."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from aish.conversation.session import Session
from aish.values.hits import Hit
from aish.values.turns import EXEC_MARK, FILES_MARK, INPUT_MARK, TASK_MARK

_T = TypeVar("_T")


async def search_in_thread(session: Session, look: Callable[[], _T], stop: Callable[[], object] = lambda: None) -> _T:
    """Run a search in a thread, one at a time per conversation, because a finder is not thread-safe.

    When cancelled, call `stop` and wait for the thread: the program could not exit before it ends anyway.
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
    """Return the hits that are not in the prompt already; otherwise the best hit would be the question itself."""
    first = session.turn_number - len(session.history.turns)
    return [hit for hit in hits if hit.conversation != session.journal.id or hit.turn <= first]


def trust_of(hit: Hit) -> str:
    """Say whose words a turn contains, for judging how far to trust it."""
    if hit.source:
        return f"imported from {hit.source}"
    if hit.role == "user" and hit.text.startswith(TASK_MARK):
        return "a model, as a task for a sub-agent"
    if hit.role == "user" and (EXEC_MARK in hit.text or hit.text.startswith((INPUT_MARK, FILES_MARK))):
        return "the user, with the output of a command or a file"
    return {"user": "the user", "assistant": "a model"}.get(hit.role, "a tool")
