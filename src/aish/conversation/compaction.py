"""Compaction on request: refresh the working state, keep lasting facts, then drop the older turns from the prompt."""

import asyncio

from aish.context.token_counts import PromptSize
from aish.conversation.foreign_text import drop_oldest
from aish.conversation.lineage import last_turn_before, record_compaction
from aish.conversation.prompt import prompt_size
from aish.conversation.session import Session
from aish.conversation.upkeep import close_chapter, consolidate, refresh_state, state_text
from aish.memory.compactions import Compaction
from aish.values.errors import BadUsage, Declined, StoreTrouble
from aish.values.events import Notice, notice
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted

KEEP = 2  # exchanges that stay in the prompt
SECONDS = 120.0  # the user waits for it, and a small model is slow


class Compacted(NamedTuple):
    """The prompt before and after, what was covered, and what went wrong on the way."""

    before: PromptSize
    after: PromptSize
    turns: int
    covered: Compaction | None
    notices: tuple[Notice, ...]


async def compact(session: Session, keep: int = KEEP) -> Compacted:
    """Drop all but the newest exchanges. Raises `BadUsage`, and `Declined` if turns could be lost.

    If the refresh fails, the last SESSION.md serves. If the facts cannot be kept now, their turns stay queued on disk.
    """
    exchanges = len(session.history.exchanges())
    if exchanges <= keep:
        raise BadUsage(
            f"nothing to compact: the prompt has {counted(exchanges, 'exchange')}, and the newest {keep} stay"
        )
    if not session.settings.notes.upkeep or not session.remembers:
        raise BadUsage("nothing can be compacted, because notes are switched off (notes.upkeep, --no-memory)")
    before = await prompt_size(session, session.backend)
    notices = [one for layer in session.layers for one in await layer.compacting(session)]
    notices += [*await _refresh(session), *await _keep_facts(session)]
    covered = _record(session, keep)
    dropped = drop_oldest(session.history, exchanges - keep)
    session.token_counts.forget(dropped, session.history.turns)
    for layer in session.layers:
        layer.compacted(session)
    after = await prompt_size(session, session.backend)
    session.last_size = after
    return Compacted(before, after, len(dropped), covered, tuple(notices))


async def _refresh(session: Session) -> list[Notice]:
    """Refresh SESSION.md, without a model if that takes too long."""
    try:
        try:
            async with asyncio.timeout(SECONDS), session.progress.lock:
                refreshed = await refresh_state(session)
        except TimeoutError:
            refreshed = (await refresh_state(session, ask=False))._replace(trouble="it took too long")
    except (StoreTrouble, Declined) as error:
        return [notice("notes.not_kept", f"SESSION.md was not updated: {error}", warning=True)]
    if not refreshed.trouble:
        return list(refreshed.notices)
    if not refreshed.written:
        return [notice("notes.not_kept", f"SESSION.md was not updated: {refreshed.trouble}", warning=True)]
    text = f"SESSION.md was updated without a model: {refreshed.trouble}"
    return [*refreshed.notices, notice("notes.plain_state", text, reason=refreshed.trouble)]


async def _keep_facts(session: Session) -> list[Notice]:
    try:
        queued = close_chapter(session)
        async with asyncio.timeout(SECONDS):
            return await consolidate(session, queued) if queued else []
    except TimeoutError:
        return [notice("notes.not_kept", "lasting facts will be kept later: the model took too long")]
    except StoreTrouble as error:
        return [notice("notes.not_kept", f"lasting facts were not kept: {error}", warning=True)]


def _record(session: Session, keep: int) -> Compaction | None:
    """Record in the journal which turns leave the prompt. Raises `Declined` unless the journal has all of them."""
    try:
        session.journal.extend([])  # writes turns that could not be written before
        return record_compaction(session, "compacted", last_turn_before(session, keep), state_text(session))
    except StoreTrouble as error:
        raise Declined(f"nothing was dropped: the journal cannot be written ({error})") from error
