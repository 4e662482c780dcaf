"""Stories about small models on this machine: they read little, and never again what they have read."""

import itertools
import json
import os
import re
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, cast

import pytest
from fake_server import FakeServer, sse
from note_taking import STATE, Desk
from world import World, script_of

from aish.acting.gate import Decided, Gate
from aish.acting.worker import Worker
from aish.conversation.prompt import opening_messages, prompt_messages
from aish.conversation.session import Session
from aish.jobs import summary
from aish.model.run_form import FIXED, in_run_form, openings
from aish.model.weights import SMOLLM2, PromptForm, find_here
from aish.places import find_places, model_directories
from aish.prompt.base import WORDS
from aish.values.events import TurnDone, TurnEvent
from aish.values.person import Nobody

pytestmark = pytest.mark.anyio

FORMS: tuple[PromptForm, ...] = ("run", "words")


def becomes_small(session: Session, form: PromptForm) -> None:
    """Let the scripted model be a small one."""
    session.backend.prompt_form = form


def sent(session: Session) -> list[list[dict[str, Any]]]:
    return [list(request.messages) for request in script_of(session).requests]


# What they are sent


@pytest.mark.parametrize(("form", "begins"), [("run", FIXED), ("words", WORDS)])
async def test_lists_of_notes_and_skills_and_long_instructions_are_left_out(
    world: World, form: PromptForm, begins: str
) -> None:
    """Each line takes seconds to read, and they do not use it. A large model still gets all of it."""
    skill = world.places.workspace / "skills" / "release" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: release\ndescription: Make a release.\n---\nDo it.\n", encoding="utf-8")
    (world.places.workspace / "SOUL.md").write_text("Speak kindly and slowly. " * 150, encoding="utf-8")
    desk = Desk(world, "A1", "A2", "A3", "A4", notes=[STATE], skills={"prompt_chars": 2000})
    await desk.work("please move billing to Envoy", "billing is moved; auth remains")
    await desk.type(":new")

    await desk.work("where were we?")
    large = desk.system()
    becomes_small(desk.session, form)
    await desk.work("and now?")
    small = desk.system()

    assert "[skills]" in large and "[notes]" in large and "You are aish, an assistant inside" in large
    assert small.startswith(begins)
    assert "[skills]" not in small and "[notes]" not in small and "You are aish, an assistant inside" not in small
    assert len(large) > 3_000 and "Speak kindly" in small
    assert len(small) - len(begins) < 2_000


@pytest.mark.parametrize("form", [*FORMS, "full"])
async def test_output_of_a_command_is_held_with_its_beginning_and_its_end(world: World, form: PromptForm) -> None:
    """At most 450 characters and the truncation marker, for a small model."""
    session = world.session(["It failed."])
    becomes_small(session, form)
    for number in range(3):
        session.history.hold(f"$ make {number}\n" + "".join(f"line {line} of {number}\n" for line in range(400)))

    await world.ask(session, "why?")
    [_, message] = sent(session)[0]
    output = message["content"].removesuffix("\n\nwhy?")

    if form == "full":
        assert len(output) > 2_000
    else:
        assert len(output) < 450 + 60
        assert "$ make 2\n" in output and "line 399 of 2" in output and "left out" in output
        assert "make 1" not in output


@pytest.mark.parametrize("form", FORMS)
async def test_what_was_sent_stays_the_beginning_of_what_is_sent_next(world: World, form: PromptForm) -> None:
    """Byte for byte, over questions, output, a change of directory and things to remember: nothing is read again."""
    settings = {"context": {"surroundings": True}, "project": {"max_chars": 2000}}
    session = world.session([f"A{number}" for number in range(6)], settings)
    becomes_small(session, form)
    (world.directory / "todo.txt").write_text("x", encoding="utf-8")
    openings_sent = list[tuple[Any, ...]]()
    for number in range(6):
        if number == 2:
            session.history.hold("$ ls\ntodo.txt\n")
        if number == 3:
            (world.directory / "sub").mkdir()
            session.cwd = world.directory / "sub"
        if number == 4:
            session.memory.remember("the cat is called Tom", source="user")
        before = opening_messages(session, session.backend)
        await world.ask(session, f"question {number}")
        assert list(before[:-1]) == sent(session)[-1][: len(before) - 1]
        openings_sent.append(openings(script_of(session).requests[-1]) if form == "run" else before[:1])

    requests = script_of(session).requests
    assert openings_sent == openings_sent[:1] * 6
    for earlier, later in itertools.pairwise(requests):
        if form == "run":
            earlier, later = in_run_form(earlier), in_run_form(later)
        assert later.messages[: len(earlier.messages)] == earlier.messages


async def test_what_changes_is_told_with_the_question_to_small_models(world: World) -> None:
    """A block that changes in the middle of the prompt would let everything after it be read again."""
    session = world.session(["A1"])
    await world.ask(session, "first")
    session.history.ask("second")
    changing = session.last_blocks[0]._replace(name="news", text="It rains.", stability="changing")

    full = prompt_messages(session, [*session.last_blocks, changing], session.backend)
    becomes_small(session, "run")
    small = prompt_messages(session, [*session.last_blocks, changing], session.backend)

    assert "It rains." in full[0]["content"] and full[-1]["content"] == "second"
    assert "It rains." not in str(small[:-1]) and small[-1]["content"] == "It rains.\n\nsecond"


def test_the_question_goes_with_what_is_in_the_directory(world: World) -> None:
    """As it is, however it is named. One that cannot be read is not said to be empty."""
    session = world.session()
    session.cwd = world.directory / "here"
    session.cwd.mkdir()
    session.settings.context.surroundings = True
    becomes_small(session, "run")

    def told() -> str:
        return str(opening_messages(session, session.backend)[-1]["content"])

    assert told().endswith(f'directory: "{session.cwd}"\nfiles: nothing')
    for name in ("a b", "c\nd", ".hidden", "e"):
        (session.cwd / name).write_text("", encoding="utf-8")
    (session.cwd / "sub").mkdir()
    (session.cwd / "sub" / "f").write_text("", encoding="utf-8")
    assert told().endswith("files: 'a b' 'c⟨U+000A⟩d' e sub/f")
    for number in range(600):
        (session.cwd / f"x{number}").touch()
    assert told().endswith(" and many more")
    session.cwd = world.directory / "gone"
    assert told().endswith(f'directory: "{session.cwd}"')


# What they are not asked


@pytest.mark.parametrize("form", FORMS)
async def test_a_small_model_is_never_asked_beside_the_conversation(world: World, form: PromptForm) -> None:
    """It needs its time for questions. The working state is made without it; facts wait for a larger model."""
    desk = Desk(world, *(f"A{number}" for number in range(8)), context={"summarize_evicted": True, "max_turns": 4})
    desk.program.backend("notes").prompt_form = form
    becomes_small(desk.session, form)
    for number in range(8):
        await desk.work(f"please move service {number} to Envoy")
        await desk.rest()
    await desk.type(":new")
    for _ in range(5):
        await desk.rest()

    assert desk.asked_helper() == []
    assert len(script_of(desk.session).requests) == 8
    assert desk.session.evicted == [] and not summary.is_due(desk.session)
    assert "Last asked: please move service 7" in desk.note()
    log = await desk.type(":notes log 100")
    for job in ("working state", "lasting facts"):
        assert len(re.findall(f"{job}.*too small", log)) == 1, log

    desk.program.backend("notes").prompt_form = "full"
    desk.helper._answers[:] = ["decision: move all services to Envoy"]
    await desk.rest()
    assert len(desk.asked_helper()) == 1


async def test_a_reason_is_logged_again_on_another_day_and_another_reason_at_once(world: World) -> None:
    """So the log tells what holds now."""
    desk = Desk(world, "A1")
    notes, reason = desk.session.notes, "the model is too small"
    for text in (reason, reason, "the limit is reached", reason):
        notes.record_once("skipped", "lasting facts", text)
    assert [one.reason for one in notes.events()] == ["the limit is reached", reason]
    desk.now += timedelta(days=1)
    notes.record_once("skipped", "lasting facts", reason)
    notes.record_once("skipped", "lasting facts", reason)
    assert [one.reason for one in notes.events()] == [reason, "the limit is reached", reason]


# What a program is told


def as_json(world: World, *arguments: str) -> dict[str, Any]:
    ran = world.aish("--json", *arguments)
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert isinstance(told, dict)
    return told


def test_timing_is_told_of_any_model_and_loading_where_it_is_known(world: World) -> None:
    """A server does not say how long it loaded. What failed before its first word has none."""
    with FakeServer(sse("Four.", usage=(250, 7))) as server:
        world.configure(f'model = "srv"\n[models.srv]\nendpoint = "{server.url}"\n')
        served = as_json(world, "two and two?")
    world.script("Four.")
    scripted = as_json(world, "two and two?")
    world.script("!away")
    failed = json.loads(world.aish("--json", "two and two?").out)

    for told in (served, scripted):
        assert told["timing"]["load_ms"] is None
        assert 0 <= told["timing"]["first_word_ms"] <= told["timing"]["total_ms"]
    assert served["usage"] == {"prompt_tokens": 250, "read_tokens": 250, "cached_tokens": 0, "completion_tokens": 7}
    assert failed["timing"]["first_word_ms"] is None and failed["timing"]["total_ms"] >= 0
    assert failed["usage"] is None


SMALL = """
model = "small"
[models.small]
kind = "embedded"
tools = "commands"
path = "{path}"
window = 4096
max_tokens = 8
"""


@pytest.mark.real
def test_the_second_start_reads_the_question_only_and_a_purge_removes_what_was_read(world: World) -> None:
    """With the real text. A question that is not remembered leaves no state of what is known either."""
    weights = find_here(SMOLLM2, model_directories(find_places(os.environ), os.environ))
    assert weights, f"run: aish models pull {SMOLLM2.name}"
    world.configure(SMALL.format(path=weights))
    world.program().memory.remember("the otter likes juniper berries " * 12, source="user")
    first = as_json(world, "--no-memory", "Who are you?")
    files = list(world.places.prompt_states.iterdir())
    second = as_json(world, "Who are you?")
    third = as_json(world, "Who are you?")

    assert len(files) == 1 and first["conversation"] is None
    assert first["usage"]["cached_tokens"] < 50 and first["usage"]["read_tokens"] > 1_000
    assert second["usage"]["cached_tokens"] > 1_000
    assert third["usage"]["read_tokens"] < 60
    assert third["answer"] == second["answer"]
    for told in (first, second, third):
        timing = told["timing"]
        assert 0 < timing["load_ms"] <= timing["first_word_ms"] <= timing["total_ms"]
    assert third["timing"]["first_word_ms"] < first["timing"]["first_word_ms"]

    assert set(files) < set(world.places.prompt_states.iterdir())
    purged = world.aish("--lines", given=":memory purge --yes juniper berries\n")
    assert "erased" in purged.out
    assert list(world.places.prompt_states.iterdir()) == []


# What they propose


@pytest.mark.parametrize(("form", "offered"), [("full", 1), ("words", 0)])
async def test_a_toy_proposes_no_commands(world: World, form: PromptForm, offered: int) -> None:
    """What it writes on a `CMD:` line is nonsense, and nobody should be asked about it."""
    session = world.session(["Try this:\n\nCMD: git rm -r *"])
    becomes_small(session, form)
    asked = list[str]()

    class Offers:
        """A gate that notes what it is offered."""

        failed = ("", 0)

        async def offer(self, answer: str, *, complete: bool = True) -> list[Decided]:
            asked.append(answer)
            return []

    async def show(events: AsyncGenerator[TurnEvent]) -> TurnDone | None:
        done = [event async for event in events]
        return done[-1] if isinstance(done[-1], TurnDone) else None

    worker = Worker(session, Nobody(), None, show, lambda text: None)
    worker.gate = cast(Gate, Offers())
    worker._end_consent = lambda: None  # type: ignore[method-assign]  # it is of the real gate
    await worker.step("how do I clean up?")
    assert len(asked) == offered
