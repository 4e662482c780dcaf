"""Learning and remembering with the real model: its words vary, but the format and the prompt are fixed."""

import json
from typing import Any

import pytest
from world import World

from aish.memory.candidates import read_candidates
from aish.model.cost import by_model
from aish.values.items import KINDS

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SLACK = 25  # tolerance in tokens: chat template markers and word boundaries


@pytest.mark.proves("M37", "M45", "M49", "M23", "M32", "C20")
async def test_a_small_model_learns_valid_lines_and_uses_an_item(world: World) -> None:
    """One start of the model for both: the grammar allows only valid lines, and the item is in the prompt."""
    program = world.program(
        {
            "model": "small",
            "context": {"summarize_evicted": False},
            "models": {"small": {"kind": "embedded", "max_tokens": 40}},
        }
    )
    shell = world.shell(program)
    session = shell.session
    counter = program.backend("small").tokenizer
    try:
        first = await world.ask(session, "My name is Ada and I write Python. Say only: hello")
        assert first.done.usage and session.last_size, first.done.trouble
        without = first.done.usage.prompt_tokens

        await world.type(shell, ":remember the cat is called Miso")
        second = await world.ask(session, "Say only: hello")
        assert second.done.usage and session.last_size
        block = next(block for block in session.last_size.blocks if block.name == "background")
        assert block.text.endswith("\n- (fact) the cat is called Miso")
        assert block.tokens == await counter.count(block.text) > 10
        assert counter.ability == "yes"
        assert abs(second.done.usage.prompt_tokens - session.last_size.total) <= SLACK
        said = sum([await counter.count(text) for text in (first.text, "Say only: hello")])
        assert second.done.usage.prompt_tokens >= without + block.tokens + said - SLACK

        world.answers = ["y"] * 20
        reply = await world.type(shell, ":memory summarize")
    finally:
        await program.close()

    [call] = [call for call in session.services.costs.all() if call.category == "memory"]
    assert 0 < call.usage.completion_tokens <= 400, "it ends at its greatest length, whatever the model does"
    assert reply.text.splitlines()[-1] == f"[aish] memory: added {len(reply.data['added'])} candidates"
    entries = list(session.journal.entries())
    asked, answered = entries[-2:]
    assert (asked.meta["meta"], answered.meta["meta"]) == ("summarize", "summarize")
    lines = [line for line in answered.turn.content.splitlines() if line.strip()]
    whole = lines[:-1]  # the last one may be truncated at the maximum length
    assert all(line.partition(": ")[0] in KINDS for line in whole), lines
    assert reply.data["candidates"] == len(read_candidates(answered.turn.content)) <= 10
    assert ("small", "memory") in {
        (model.partition(" ")[0], category) for model, category in by_model(session.services.costs.all())
    }
    records: list[dict[str, Any]] = [json.loads(line) for line in world.places.memory.read_bytes().splitlines()[1:]]
    assert all(record["source"] == session.journal.id for record in records[1:])
