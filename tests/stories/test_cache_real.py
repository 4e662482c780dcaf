"""The prompt cache of a real server: memory must not make it read the conversation again."""

import asyncio

import pytest
from world import World

from aish.conversation.session import Session
from aish.jobs.scheduler import Scheduler
from aish.jobs.table import JOBS

pytestmark = [pytest.mark.anyio, pytest.mark.real]

FACTS = (
    "The backup of the web server runs every night at two",
    "Anna prefers short answers with a list",
    "The database is Postgres 17 on the host db3",
    "Deployments are forbidden on Fridays",
)
QUESTIONS = (
    *("When does the backup of the web server run?", "What is a good name for a cat?", "Which database do we use?"),
    *("May I deploy on Friday?", "Name three colours.", "How does Anna want her answers?", "What is two plus three?"),
)


async def counted(world: World) -> list[tuple[int, int]]:
    """Hold a conversation, and return the prompt tokens of each question with how many of them were cached."""
    settings = {
        "model": "small",
        "context": {"token_budget": 6000, "surroundings": True},
        "models": {"small": {"kind": "embedded", "max_tokens": 12}},
        "notes": {"upkeep": True, "recall_tokens": 400, "idle_seconds": 600, "tools": False},
    }
    program = world.program(settings)
    for fact in FACTS:
        program.memory.remember(fact, source="user")
    for number in range(60):  # so many that the facts are not all in [background], and have to be recalled
        program.memory.remember(
            f"Shelf {number} of the cellar holds jars of pickled vegetables and labels", source="user"
        )
    session, jobs, counts = program.session(), Scheduler(JOBS), list[tuple[int, int]]()
    try:
        for number in range(9):
            jobs.person_first()
            said = await world.ask(session, f"{QUESTIONS[number % len(QUESTIONS)]} (question {number + 1})")
            assert said.done.usage, said.done.trouble
            counts.append((said.done.usage.prompt_tokens, said.done.usage.cached_tokens))
            await _upkeep(jobs, session)
    finally:
        await jobs.close()
        await program.close()
    return counts


async def _upkeep(jobs: Scheduler, session: Session) -> None:
    """Let the background work go on for a moment, as while the user types."""
    jobs.start("after answer", session)
    try:
        async with asyncio.timeout(0.5):
            await jobs.idle()
    except TimeoutError:
        pass


@pytest.mark.proves("X8", "M32b", "S30")
async def test_memory_and_notes_keep_the_prompt_cache_of_the_server(world: World) -> None:
    """At least nine of ten prompt tokens come from the cache, by the server's own counts, with upkeep in between."""
    counts = await counted(world)

    later = counts[2:]
    cached = sum(cached for _, cached in later) / sum(prompt for prompt, _ in later)
    assert cached >= 0.9, counts
