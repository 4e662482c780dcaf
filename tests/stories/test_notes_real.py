"""Notes with the embedded model, from end to end: work, SESSION.md, MEMORY.md, HISTORY.md, and recall the next day."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from world import World

from aish.jobs.notes import finish_conversation, keep_facts, refresh
from aish.memory.notes.state_document import state_in
from aish.memory.notes.working_state import BY_NAME

pytestmark = [pytest.mark.anyio, pytest.mark.real]


@pytest.mark.proves("S22", "S23", "S32", "X2")
async def test_the_embedded_model_keeps_the_notes_and_gets_them_back(world: World) -> None:
    """It needs its time for questions, so the program keeps the state by itself; the user's own words come back."""
    now = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
    settings = {
        "model": "small",
        "models": {"small": {"kind": "embedded", "max_tokens": 40}},
        "notes": {"upkeep": True, "tools": False},
    }
    program = world.program(settings)
    program.now = lambda: now
    session = program.session()
    await world.ask(session, "We decided to keep the sessions in Redis because Postgres was too slow.")
    await world.ask(session, "Next I will write the logout button of the shop.")
    async with asyncio.timeout(120):
        await refresh(session)
    state = state_in(session.notes.read("session"))
    assert any(line.field in ("goal", "state") for line in state)
    assert all(line.field in BY_NAME and len(line.text) <= 200 for line in state)
    async with asyncio.timeout(120):
        await finish_conversation(session, seconds=60)
        await keep_facts(session)
    log = [(event.job, event.outcome, event.reason) for event in session.notes.events()]
    assert ("lasting facts", "skipped") in {(job, outcome) for job, outcome, _ in log}, log
    assert session.notes.queue.waiting()  # for a model that has time for it
    assert session.notes.exists("history")
    await program.close()

    now += timedelta(days=1)
    program = world.program(settings)
    program.now = lambda: now
    session = program.session()
    try:
        await world.ask(session, "Where were we with the logout button of the shop?")
        message = next(entry for entry in session.journal.entries() if entry.turn.role == "user").turn.content
        print(
            program.places.workspace,
            message,
            *(session.notes.read(name).text for name in ("session", "memory", "history")),
            log,
            sep="\n",
        )
        assert "[recalled " in message and "logout" in message.partition("[end of recalled")[0]
    finally:
        await program.close()
