"""Plans: what the model says, what the user changes, and when it is brought to the model again."""

import json
from pathlib import Path

import pytest
from world import World

from aish.acting.worker import Worker
from aish.conversation.plan import EDITED_MARK, PLAN_MARK, PlanKeeper
from aish.conversation.session import Session
from aish.model.scripted import ScriptedModel
from aish.values.person import Nobody
from aish.values.plan import PlanStep, as_text, parse_steps, plan_from, plan_in, progress

pytestmark = pytest.mark.anyio
PLAN = {"steps": [{"text": "read", "state": "done"}, {"text": "fix the import", "state": "doing"}, {"text": "test"}]}
CALL = f"TOOL: update_plan {json.dumps(PLAN)}"
ON = {"commands": {"plan": True, "file_tools": False, "tool": False}, "models": {"script": {"tools": True}}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def session_of(world: World, *answers: str, **context: int) -> Session:
    script = {"kind": "scripted", "answers": list(answers), "tools": True}
    settings = {"commands": {"plan": True, "file_tools": False, "tool": False}, "context": context}
    program = world.program({**settings, "model": "script", "models": {"script": script}, "memory": {"propose": False}})
    return program.session()


def last_sent(session: Session) -> str:
    model = session.backend.model
    assert isinstance(model, ScriptedModel)
    return str(model.requests[-1].messages[-1]["content"])


def test_the_rules_for_steps() -> None:
    """Bounded, one line each, and with a known state."""
    steps = parse_steps(PLAN["steps"])
    assert isinstance(steps, tuple)
    assert progress(steps) == "plan: 1 of 3 · now: fix the import"
    assert as_text(steps) == "[x] read\n[>] fix the import\n[ ] test"
    assert plan_from(as_text(steps)) == steps
    wrong: list[object] = [None, {}, ["x"] * 21, [{"state": "todo"}], [{"text": " "}], [{"text": "x", "state": "soon"}]]
    assert all(isinstance(parse_steps(bad), str) for bad in wrong)
    long = parse_steps([{"text": "a\nb\x1b[2J" + "x" * 999}])
    assert isinstance(long, tuple)
    assert len(long[0].text) == 200 and "\n" not in long[0].text and "\x1b" not in long[0].text


def test_only_the_answers_own_lines_are_a_plan() -> None:
    """Quoted text may be of somebody else, as for commands."""
    own = "I go on.\n\nPLAN: [x] read\nPLAN: fix\n"
    assert plan_in(own) == (PlanStep("read", "done"), PlanStep("fix"))
    for quoted in ("```\nPLAN: a\n```", "> PLAN: a", "- PLAN: a", "<think>\nPLAN: a\n</think>", "a PLAN: b"):
        assert plan_in(quoted) == ()


async def test_the_tool_shows_progress_and_an_edited_plan_is_given_once(world: World) -> None:
    """In front of the next message, marked as the user's; the model's own plan is in its turn already."""
    session = session_of(world, CALL, "Working.", "Yes.", "On.", "Done.")
    said = await world.ask(session, "do it")
    keeper = session.layer(PlanKeeper)
    assert "plan: 1 of 3 · now: fix the import" in said.notices
    await world.ask(session, "and?")
    assert "[plan" not in last_sent(session)

    keeper.update((PlanStep("only test"),), edited=True)
    await world.ask(session, "go on")
    assert last_sent(session) == f"{EDITED_MARK}\n[ ] only test\n\ngo on"
    await world.ask(session, "more")
    assert last_sent(session) == "more"

    again = session_of(world)
    again.resume(session.journal.id)
    assert again.layer(PlanKeeper).plan == (PlanStep("only test"),)


async def test_a_plan_survives_resume_and_eviction(world: World) -> None:
    """It is in the journal, and comes back in front of the message when its turn has left the prompt."""
    session = session_of(world, CALL, "Working.", "B", "C", "D", "E", max_turns=4)
    await world.ask(session, "do it")
    plan = session.layer(PlanKeeper).plan
    for question in ("b", "c", "d"):
        await world.ask(session, question)
    sent = [turn.content for turn in session.history.turns if turn.role == "user"]
    assert any(text.startswith(f"{PLAN_MARK}\n[x] read\n[>] fix the import") for text in sent)

    again = session_of(world)
    again.resume(session.journal.id)
    assert again.layer(PlanKeeper).plan == plan and len(plan) == 3
    again.start_new()
    assert again.layer(PlanKeeper).plan == ()


async def test_a_model_without_tools_states_its_plan_in_lines(world: World) -> None:
    """They replace the plan, and the user sees how far it is."""
    session = session_of(world, "PLAN: [x] read\nPLAN: fix\n\nGoing on.")
    notes: list[str] = []

    async def show(events: object) -> object:
        return [event async for event in events][-1]  # type: ignore[attr-defined]  # a generator of events

    worker = Worker(session, Nobody(), None, show, notes.append)  # type: ignore[arg-type]  # shows nothing
    await worker.ask("do it")
    assert notes == ["plan: 1 of 2"]
    assert session.layer(PlanKeeper).plan == (PlanStep("read", "done"), PlanStep("fix"))


async def test_the_command_shows_edits_and_clears(world: World) -> None:
    """An edited plan says when the model gets it."""
    program = world.program()
    shell = world.shell(program)
    assert (await world.type(shell, ":plan")).text == "there is no plan"
    world.answers = ["[x] read\nwrite"]
    assert "the model gets it with your next message" in (await world.type(shell, ":plan edit")).text
    assert (await world.type(shell, ":plan")).text == "[x] read\n[ ] write\nplan: 1 of 2"
    assert (await world.type(shell, ":plan clear")).text == "the plan is dropped"
    assert (await world.type(shell, ":plan")).text == "there is no plan"
