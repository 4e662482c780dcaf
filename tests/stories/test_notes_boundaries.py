"""What notes never contain, and what recall never reads."""

import pytest
from world import World, script_of

from aish.jobs.notes import finish_conversation, refresh
from aish.values.stores import Record

pytestmark = pytest.mark.anyio
NOTES = {"upkeep": True, "tools": False, "daily_tokens": 0}  # no model is asked


@pytest.mark.proves("S7", "S28")
async def test_logs_of_a_channel_are_never_part_of_a_prompt(world: World) -> None:
    """They tell what was changed and what failed, also what was forgotten."""
    session = world.session(["A1"], {"notes": NOTES})
    session.notes.record("failed", "lasting facts", "the zeppelin of Friedrichshafen")
    line: Record = {"what": "change", "n": 1, "reason": "zeppelin Friedrichshafen", "ts": "2026-11-17T10:00:00.000Z"}
    folder = world.places.channel(session.channel)
    (folder / "log.jsonl").write_text(f"{line}\n".replace("'", '"'), encoding="utf-8")
    (folder / "MEMORY.md").write_text("## Decisions\n\n- Balloons fly on Sundays.\n", encoding="utf-8")

    await world.ask(session, "What do we know about the zeppelin of Friedrichshafen? What failed?")

    sent = str(script_of(session).requests[0].messages).partition("What do we know")[0]
    assert "zeppelin" not in sent


@pytest.mark.proves("R17")
async def test_notes_contain_no_transcript(world: World) -> None:
    """A long answer is in the journal. The notes have single lines, and few of them."""
    answer = "The quick brown fox. " * 200
    session = world.session([answer, answer], {"notes": NOTES})
    question = "Please explain the fox in " + "great detail " * 60

    await world.ask(session, question)
    await world.ask(session, question)
    await refresh(session)
    await finish_conversation(session)

    folder = world.places.channel(session.channel)
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
    assert "explain the fox" in text
    assert "quick brown fox. The quick" not in text
    assert max(map(len, text.splitlines())) < 400
