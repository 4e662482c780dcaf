"""The token budget with a real server: its counts, and when the oldest exchange is evicted."""

import pytest
from world import World

pytestmark = [pytest.mark.anyio, pytest.mark.real]

BUDGET = 240
SLACK = 25  # tolerance in tokens: chat template markers and word boundaries
QUESTIONS = [
    "Tell me something about the harbour of Hamburg and the ships that come and go there in the winter months.",
    "Now tell me something about the mountains of Norway, their rivers, and the people who live between them.",
    "What do you know about the old railway from Paris to Istanbul, the trains, the stations and the travellers?",
    "Describe a market in Mexico in the early morning: the fruit, the voices, the colours and the smell of bread.",
    "And now describe a small library in a village by the sea, its shelves, its keeper and its only window.",
]


@pytest.mark.proves("T20", "C20", "T3", "T8")
async def test_exchanges_leave_the_prompt_when_the_server_would_count_more_than_the_budget(world: World) -> None:
    """Neither too early nor too late: every prompt is checked against the usage that the real server reports."""
    program = world.program(
        {
            "model": "small",
            "context": {"token_budget": BUDGET, "summarize_evicted": False},
            "models": {"small": {"kind": "embedded", "max_tokens": 40}},
        }
    )
    session = program.session()
    counter = program.backend("small").tokenizer
    evictions, carried = 0, 0  # carried: tokens in the server's window after the last answer
    try:
        for question in QUESTIONS:
            expected = carried + 10 + await counter.count(question)
            before = len(session.evicted)
            said = await world.ask(session, question)
            assert said.done.usage, said.done.trouble
            size = session.last_size
            assert size and counter.ability == "yes"

            assert abs(said.done.usage.prompt_tokens - size.total) <= SLACK
            assert said.done.usage.prompt_tokens <= BUDGET + SLACK
            evicted = len(session.evicted) > before
            if carried and abs(expected - BUDGET) > SLACK:
                assert evicted == (expected > BUDGET), (expected, said.notices)
            evictions += evicted
            carried = said.done.usage.prompt_tokens + said.done.usage.completion_tokens
    finally:
        await program.close()
    assert evictions >= 1
    assert len(list(session.journal.entries())) == 2 * len(QUESTIONS)  # the journal has them all
