"""Upkeep of the notes: refresh `SESSION.md`, queue turns for consolidation, and move lasting facts to `MEMORY.md`.

A model only proposes. If none can be asked, `SESSION.md` is made of what the program saw.
"""

from collections.abc import Sequence

from aish.context.crisis import shows_crisis
from aish.conversation.session import Session
from aish.conversation.side_question import SideAnswer, ask_side_question
from aish.conversation.spending import midnight
from aish.memory.notes import consolidation, working_state
from aish.memory.notes.channel_notes import STATE_JOB, ChannelNotes
from aish.memory.notes.document import Document, Entry
from aish.memory.notes.notebook import Saved, random_id
from aish.memory.notes.operations import Milestone, Result
from aish.memory.notes.plain_state import plain_state
from aish.memory.notes.queue import QueuedRange
from aish.memory.notes.state_document import state_in, with_state
from aish.memory.notes.transcript import Grounds, SaidTurn, beginning, said_turns, transcript
from aish.memory.notes.working_state import ASKED, OPEN, StateLine
from aish.memory.trust import is_trusted
from aish.model.backend import Backend
from aish.values.channels import is_channel_name
from aish.values.errors import AishError, BadUsage, Declined, StoreTrouble
from aish.values.events import ChatRequest, Notice, notice
from aish.values.items import stamp
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted, one_line

CATEGORY = "notes"
_STATE_TOKENS, _FACT_TOKENS = 500, 400
_INPUT_CHARS = 12_000


class Refreshed(NamedTuple):
    """The result of a refresh: whether SESSION.md could be written, and why a model did not help."""

    written: bool = True
    trouble: str = ""
    notices: tuple[Notice, ...] = ()


def new_turns(session: Session) -> list[SaidTurn]:
    """Return the turns that SESSION.md does not cover yet."""
    if not session.keeps_notes:
        return []
    return session.progress.read(session.journal, notes_of(session).refreshed_to)


def notes_of(session: Session) -> ChannelNotes:
    """Return the notes of the channel to which the turns of this conversation belong.

    The user may be in another directory by now, or may have resumed a conversation of another project.
    """
    if session.progress.channel or not session.recorder.conversation:
        return session.services.open_notes(session.progress.channel or session.channel)
    moved_to = [str(record["channel"]) for record in session.journal.records_with("channel")]
    last = moved_to[-1] if moved_to else str(session.journal.meta().get("channel") or "")
    return session.services.open_notes(last if is_channel_name(last) else session.channel)


async def enter_channel(session: Session) -> None:
    """Before a turn: if the user is in another project now, the turns so far belong to the one before.

    They never count here, even if the notes of the one before cannot be written. Raises `StoreTrouble`.
    """
    if not session.settings.notes.upkeep or not session.remembers:
        return
    before, here = notes_of(session), session.notes
    if before.channel != here.channel and session.keeps_notes:
        try:
            close_chapter(session)
            await refresh_state(session, ask=False)
            before.count(session.progress.recalled)
        finally:
            session.progress.recalled.clear()
            _leave_out(session, here)
    session.progress.channel = here.channel


def _leave_out(session: Session, here: ChannelNotes) -> None:
    """Record that the turns so far do not belong into the notes of this channel, and that the next ones do."""
    now, last = session.services.now(), session.turn_number
    foreign = QueuedRange(session.journal.id, here.queue.covered(session.journal.id) + 1, last)
    session.progress.refreshed(last)
    session.progress.channel = here.channel
    here.record("refreshed", "another project", QueuedRange(session.journal.id, 1, last).source)
    if foreign.first <= last:
        here.queue.finish(foreign, now)
    session.journal.note({"ts": stamp(now), "channel": here.channel})


async def refresh_state(session: Session, *, ask: bool = True, before: int = 0) -> Refreshed:
    """Bring SESSION.md up to date, or only up to the turn `before`. With `ask`, a model may help.

    Raises `StoreTrouble`.
    """
    said = [turn for turn in new_turns(session) if not before or turn.number < before]
    turns = _without_crisis(said)
    if not turns:
        return Refreshed()
    last = said[-1].number
    notes = notes_of(session)
    base = notes.read("session")
    if base.problem:
        notes.record("skipped", "working state", base.problem)
        return Refreshed(written=False, trouble=base.problem)
    old, source = state_in(base), f"{session.journal.id}/{turns[0].number}-{last}"
    lines = plain_state(turns, old)
    saved = _save_state(session, notes, base, lines, source)  # at once: a model can be slow, or be stopped
    trouble = ""
    if ask:
        begun = session.progress.position
        found, trouble = await _ask_for_state(session, old, turns)
        if session.progress.position != begun:  # meanwhile the conversation has ended, or words were purged
            return Refreshed()
        if trouble:
            notes.record_once("skipped", "working state", trouble)
        if found:
            base = notes.read("session")
            saved = _save_state(session, notes, base, working_state.combined(found, lines), source)
    notes.record("refreshed", STATE_JOB, source)
    session.progress.refreshed(last)
    return Refreshed(trouble=trouble, notices=_conflicts(len(saved.conflicts)))


def _save_state(
    session: Session, notes: ChannelNotes, base: Document, lines: Sequence[StateLine], source: str
) -> Saved:
    """Write the lines into SESSION.md. What the user changed in it since `base` was read is merged."""
    today = session.services.now().date()
    lines = [
        line for line in lines if not notes.refuse(line.text) and not notes.notebook.was_forgotten(line.text, source)
    ]
    new = with_state(base, lines, source=source, today=today, new_id=random_id)
    return notes.notebook.save_session(base.text, new.text, reason=f"turns {source}")


async def _ask_for_state(
    session: Session, old: Sequence[StateLine], turns: Sequence[SaidTurn]
) -> tuple[list[StateLine], str]:
    """Ask a model for the new state. Return no lines, and why, if its answer cannot be used."""
    backend, trouble = _helper(session)
    if backend is None:
        return [], trouble
    room = await _room(session, backend)
    text = working_state.prompt(old, transcript(turns, room))
    answer, trouble = await _ask(session, backend, text, _STATE_TOKENS, working_state.GRAMMAR)
    if answer is None or (trouble and not answer.text):
        return [], trouble
    answered = working_state.read_answer(answer.text)
    grounds = Grounds(turns, [(line.text, line.origin) for line in old])
    lines = working_state.bounded(working_state.grounded(answered, grounds))
    reason = working_state.refusal(old, lines, answered)
    return ([], reason) if reason else (lines, "")


def state_text(session: Session) -> str:
    """Return the working state for a prompt; empty if there is none. What is based on foreign text stays out."""
    try:
        found = state_in(notes_of(session).read("session"))
    except StoreTrouble:
        return ""
    return "\n".join(f"- {line.field}: {line.text}" for line in found if is_trusted(line.origin))


def check_change(session: Session, entry: Entry, text: str, origin: str, *, said: bool) -> tuple[str, str]:
    """Return the origin of a text that a tool wants to put in the place of an entry, and why it may not; "" if it may.

    Without a text, the entry is to be removed. `said`: the user asked for exactly this.
    """
    imported = bool(session.journal.meta().get("source"))
    grounds = Grounds(said_turns(session.journal.entries(), imported=imported))
    origin = "user" if said else (grounds.origin(text) or origin)
    change = consolidation.Proposal("replace" if text else "drop", text or entry.text)
    return origin, consolidation.why_unchanged(change, entry, grounds, origin if text else "")


def close_chapter(session: Session, last: int = 0) -> QueuedRange | None:
    """Queue all turns, or those up to `last`, that were not queued yet for consolidation. Raises `StoreTrouble`."""
    if not session.keeps_notes:
        return None
    last = last or session.turn_number
    return notes_of(session).queue.add(session.journal.id, 1, last, session.services.now()) if last else None


async def consolidate(session: Session, queued: QueuedRange) -> list[Notice]:
    """Move lasting facts of a range of turns to the notes. If no model can be asked now, the range stays queued.

    So does a range that a command and a job would read at the same time.
    """
    if queued.conversation in session.progress.reading:
        return []
    session.progress.reading.add(queued.conversation)
    try:
        return await _consolidate(session, queued)
    finally:
        session.progress.reading.discard(queued.conversation)


async def _consolidate(session: Session, queued: QueuedRange) -> list[Notice]:
    notes = notes_of(session)
    journal = session.services.conversations.open(queued.conversation)
    imported = bool(journal.meta().get("source"))
    turns = _without_crisis(
        [
            turn
            for turn in said_turns(journal.entries(), imported=imported)
            if queued.first <= turn.number <= queued.last
        ]
    )
    if not turns:
        notes.queue.finish(queued, session.services.now())
        return []
    backend, trouble = _helper(session)
    if backend is None:
        notes.record_once("skipped", "lasting facts", trouble)
        return []
    room = await _room(session, backend)
    part = beginning(turns, room)
    if len(part) < len(turns):  # the rest stays queued
        turns, queued = part, queued._replace(last=part[-1].number)
    entries = _shown_entries(notes.read("memory"))
    text = consolidation.prompt(entries, transcript(turns, room))
    purges = session.progress.purges
    answer, trouble = await _ask(session, backend, text, _FACT_TOKENS, consolidation.GRAMMAR)
    if session.progress.purges != purges:  # it may contain the purged words; ask again later
        return []
    if answer is None or (trouble and not answer.text):
        notes.record("failed", "lasting facts", f"turns {queued.source}: {trouble}")
        if answer:
            notes.queue.fail(queued, session.services.now())
        return []
    proposals = consolidation.read_answer(answer.text)
    if not proposals and answer.text.strip().casefold().strip(".`") not in ("none", ""):
        notes.record("failed", "lasting facts", f"turns {queued.source}: the answer has no usable line")
        notes.queue.fail(queued, session.services.now())
        return []
    decided = consolidation.decide(
        proposals,
        entries,
        Grounds(turns),
        source=queued.source,
        said=turns[-1].day,
        today=session.services.now().date(),
    )
    results = notes.notebook.apply(decided.operations, reason=f"turns {queued.source}") if decided.operations else []
    for text, reason in decided.refused:
        notes.record("skipped", "lasting facts", f"{reason}: {one_line(text, 80)}")
    waiting = _propose(session, decided.pending, queued)
    notes.queue.finish(queued, session.services.now())
    return _told(results, waiting)


def add_milestone(session: Session) -> None:
    """Write into HISTORY.md what the conversation was about, without a model. Raises `StoreTrouble`.

    The day is the one of its last turn. Nothing is written if SESSION.md tells of another conversation.
    """
    notes, newest = notes_of(session), next(session.journal.entries_back(), None)
    if newest is None or notes.refreshed_last() != session.journal.id:
        return
    goal = next((line for line in state_in(notes.read("session")) if line.field == "goal"), None)
    if goal and is_trusted(goal.origin):
        day = newest.time.astimezone().date().isoformat()
        text = f"Worked on: {one_line(goal.text.removeprefix(ASKED).removeprefix(OPEN), 160)}"
        source = f"{session.journal.id}/1-{newest.number}"
        notes.notebook.apply([Milestone(text, goal.origin, source, day)], reason="end of a conversation")


def _helper(session: Session) -> tuple[Backend | None, str]:
    """Return the backend for upkeep, unless the daily limit is reached."""
    options, services = session.settings.notes, session.services
    try:
        backend = services.open_backend(options.model or session.model)
        start = midnight(services.now())
        tokens, dollars = services.costs.used_since(start, CATEGORY)
    except AishError as error:
        return None, str(error)
    if backend.is_small:  # it needs its time for questions
        return None, f"{backend.label} is too small for this; set notes.model to a larger model"
    if tokens >= options.daily_tokens:
        return None, f"the daily limit of {options.daily_tokens:,} tokens for notes is reached (notes.daily_tokens)"
    if dollars >= options.daily_dollars and backend.price:
        return None, f"the daily limit of ${options.daily_dollars:g} for notes is reached (notes.daily_dollars)"
    return backend, ""


async def _room(session: Session, backend: Backend) -> int:
    """Return how many characters of a transcript fit: half of the budget, at three characters per token."""
    limits = await session.endpoints.limits(backend)
    return min(_INPUT_CHARS, limits.token_budget * 3 // 2)


async def _ask(
    session: Session, backend: Backend, text: str, tokens: int, grammar: str
) -> tuple[SideAnswer | None, str]:
    """Return the answer, None if nobody could be asked now, and what went wrong."""
    request = ChatRequest(
        messages=({"role": "user", "content": text},),
        max_tokens=min(backend.max_tokens or tokens, tokens),
        grammar=grammar if backend.takes_grammar else "",
    )
    answer = await ask_side_question(session, backend, request, CATEGORY)
    if answer is None:
        return None, "not sent: the call could exceed the cost cap"
    if answer.cut:  # half a line can say the opposite of the whole one
        answer = answer._replace(text=answer.text.rpartition("\n")[0])
    return None if answer.away else answer, answer.trouble


def _without_crisis(turns: Sequence[SaidTurn]) -> list[SaidTurn]:
    """Leave out turns that show a crisis, and the answers to them: nothing about it is kept."""
    kept: list[SaidTurn] = []
    private = False
    for turn in turns:
        if turn.role == "user":
            private = shows_crisis(turn.text)
        if not private:
            kept.append(turn)
    return kept


def _shown_entries(document: Document) -> list[Entry]:
    """Return the entries that a model may read, newest last."""
    trusted = [entry for entry in document.entries if is_trusted(entry.origin)]
    return trusted[-consolidation.MOST_ENTRIES :]


def _propose(session: Session, pending: Sequence[tuple[str, str, str]], queued: QueuedRange) -> int:
    """Save texts that are based on foreign text as pending items of memory. The user decides."""
    new = 0
    for kind, text, origin in pending:
        try:
            kept = session.memory.propose(text, kind, source=queued.conversation, origin=origin)
            new += kept.new and kept.pending
        except (BadUsage, Declined):
            continue
    return new


def _told(results: Sequence[Result], waiting: int) -> list[Notice]:
    done = sum(result.applied for result in results)
    notices = []
    if done:
        notices.append(notice("notes.changed", f"notes: {counted(done, 'change')} (:notes log)", changes=done))
    if waiting:
        text = f"new in :memory pending: {counted(waiting, 'candidate')} from foreign text"
        notices.append(notice("memory.candidates", text, count=waiting))
    return notices


def _conflicts(count: int) -> tuple[Notice, ...]:
    if not count:
        return ()
    text = f"SESSION.md: {counted(count, 'line')} that you changed were also changed by aish; yours were kept (:notes)"
    return (notice("notes.conflict", text, warning=True, count=count),)
