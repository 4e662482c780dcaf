"""Jobs that keep the notes: refresh the working state, move lasting facts to MEMORY.md, and tidy up."""

import asyncio
from collections.abc import Sequence

from aish.conversation.past_turns import search_in_thread
from aish.conversation.session import Session
from aish.conversation.upkeep import (
    add_milestone,
    close_chapter,
    consolidate,
    new_turns,
    notes_of,
    refresh_state,
)
from aish.jobs.scheduler import Job
from aish.values.errors import Declined, StoreTrouble
from aish.values.events import Notice, notice

_MANY_TURNS = 20
_QUIT_SECONDS = 3.0  # the user never waits longer for notes


def state_is_due(session: Session) -> bool:
    return bool(new_turns(session)) and session.progress.is_due()


async def refresh(session: Session) -> list[Notice]:
    async with session.progress.lock:
        return list((await refresh_state(session)).notices)


def recall_is_due(session: Session) -> bool:
    return bool(
        session.remembers and session.settings.notes.recall_tokens and session.services.present_notes(session.channel)
    )


async def prepare_recall(session: Session) -> list[Notice]:
    """Index what changed in the notes, so that the next question does not wait for it."""
    await search_in_thread(session, lambda: session.services.open_recall().prepare(session))
    return []


def facts_are_due(session: Session) -> bool:
    if not session.settings.notes.upkeep or not session.remembers:
        return False
    return _many_new_turns(session) or bool(notes_of(session).queue.waiting())


def _many_new_turns(session: Session) -> bool:
    """A shell may stay open for days, so a long conversation is read before it ends."""
    conversation = session.recorder.conversation
    return bool(conversation) and session.turn_number - notes_of(session).queue.covered(conversation) >= _MANY_TURNS


async def keep_facts(session: Session) -> list[Notice]:
    """Consolidate what is queued, oldest first. Stop at the first failure, and try again at the next moment."""
    notices: list[Notice] = []
    if _many_new_turns(session):
        close_chapter(session)
    waiting = notes_of(session).queue.waiting()
    while waiting:
        notices += await consolidate(session, waiting[0])
        before, waiting = waiting[0], notes_of(session).queue.waiting()
        if waiting and waiting[0][:2] == before[:2]:  # nothing was done
            break
    return notices


def tidying_is_due(session: Session) -> bool:
    return (
        session.settings.notes.upkeep
        and session.remembers
        and notes_of(session).needs_tidying(session.progress.recalled)
    )


async def tidy(session: Session) -> list[Notice]:
    """Promote what was recalled, remove what did not last, fold old history. No model is asked."""
    await asyncio.to_thread(notes_of(session).tidy, frozenset(session.progress.recalled))
    session.progress.recalled.clear()
    return []


async def finish_conversation(session: Session, seconds: float = _QUIT_SECONDS) -> list[Notice]:
    """Bring the notes up to date before a conversation ends. What takes too long is done the next time."""
    if not session.keeps_notes:
        return []
    notices: list[Notice] = []
    try:
        if new_turns(session):
            notices += await _refresh_within(session, seconds)
        close_chapter(session)
        add_milestone(session)
        notes_of(session).count(session.progress.recalled)
        session.progress.recalled.clear()
    except (StoreTrouble, Declined) as error:  # the conversation ends without them
        notices.append(notice("notes.not_kept", f"the notes were not updated: {error}", warning=True))
    return notices


async def _refresh_within(session: Session, seconds: float) -> Sequence[Notice]:
    """Refresh SESSION.md, without a model if that takes too long. A job in the background may hold the lock."""
    try:
        async with asyncio.timeout(seconds), session.progress.lock:
            return (await refresh_state(session)).notices
    except TimeoutError:
        return (await refresh_state(session, ask=False)).notices


RECALL_AT_START = Job("recall", "start", recall_is_due, prepare_recall)
RECALL = Job("recall", "after answer", recall_is_due, prepare_recall)
STATE = Job("working state", "after answer", state_is_due, refresh)
FACTS = Job("lasting facts", "idle", facts_are_due, keep_facts)
TIDYING = Job("tidying", "idle", tidying_is_due, tidy)
AT_QUIT = Job("notes", "quit", lambda session: session.keeps_notes, finish_conversation)
