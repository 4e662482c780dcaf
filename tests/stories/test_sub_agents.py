"""Sub-agents: what one is told, what it may use, what the user sees of it, and what comes back."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from delegating import WORKER, Office, call, delegate
from desk import Reader
from fake_server import Asked, FakeServer, Say, reply_json, sse
from note_taking import STATE, HangingModel
from note_taking import Desk as NotesDesk
from terminal import CTRL_C
from workshop import AtGate, Workshop
from world import Typist, World

from aish.acting.goal_clock import GoalClock
from aish.acting.sub_agent_run import expiring
from aish.action.project_files import Prepared, ProjectFiles, Site
from aish.conversation.past_turns import trust_of
from aish.conversation.turn import take_turn
from aish.conversation.turn_context import TurnContext
from aish.jobs.notes import finish_conversation, state_is_due
from aish.prompt.agent import MEMORY_MARK
from aish.prompt.base import BASE
from aish.prompt.working_state import STATE_MARK
from aish.values.errors import BadUsage, NotFound
from aish.values.events import ChatRequest, ModelEvent, Notice, TextPiece, ToolPiece, ToolProgress
from aish.values.turns import TASK_MARK

pytestmark = pytest.mark.anyio

DECISION = "We decided on Monday that the billing service uses PostgreSQL"
TASK = "Which database does the billing service use, and what did we decide?"
LEDGERS = ("open invoices", "paid invoices", "late invoices", "credit notes", "refunds", "reminders", "receipts")
SOUL = "You are patient with beginners."
GUIDE = "Indent with tabs in this project."


def furnished(world: World, *worker: str) -> Office:
    """Return an office with everything that a conversation can know."""
    office = Office(world, [], worker)
    places, channel = world.places, office.program.channels.at(office.project)
    notes = places.channel(channel)
    notes.mkdir(parents=True)
    (places.workspace / "SOUL.md").write_text(SOUL, encoding="utf-8")
    (notes / "MEMORY.md").write_text(
        f"# Memory\n\n## Decisions\n\n- {DECISION}.\n- The mascot of the team is a badger.\n", encoding="utf-8"
    )
    (notes / "SESSION.md").write_text("# Session\n\n## Goal\n\n- move auth to Envoy\n", encoding="utf-8")
    guide = office.project / "AGENTS.md"
    guide.write_text(GUIDE, encoding="utf-8")
    office.session.services.trust.give(guide)
    office.open(["Fine."], worker)
    return office


# What it is told


@pytest.mark.proves("S47")
async def test_an_isolated_agent_gets_the_base_its_instructions_and_its_task(world: World) -> None:
    """Nothing of the user, the project or the conversation goes to it."""
    office = furnished(world, "Done.")
    office.define("clerk", body="Count letters.")
    office.session.history.hold("$ cat secret-plan\nthe plan is to win")
    await office.ask("I like tea")

    await office.type(f":agent clerk {TASK}")

    (request,) = office.worker.requests
    system, task = request.messages
    assert system["content"].startswith(f"{BASE}\n\nYou are the sub-agent clerk.")
    assert system["content"].endswith("\nCount letters.")
    assert task["content"] == TASK
    for known in (SOUL, GUIDE, "PostgreSQL", "badger", "Envoy", "tea", "plan is to win"):
        assert known not in office.sent()
    assert office.offered() == ["read_file", "list_files", "search_files"]


@pytest.mark.proves("S47", "S48")
@pytest.mark.parametrize(
    ("memory", "recalled", "state", "all_notes"),
    [("none", 0, 0, 0), ("relevant", 1, 0, 0), ("session", 1, 1, 0), ("channel", 1, 1, 1)],
)
async def test_a_contextual_agent_gets_the_project_and_as_much_memory_as_its_definition_says(
    world: World, memory: str, recalled: int, state: int, all_notes: int
) -> None:
    """Each level has what the one before has, and one thing more."""
    office = furnished(world, "Done.")
    office.define("clerk", f"context: contextual\nmemory: {memory}")

    await office.type(f":agent clerk {TASK}")

    sent = office.sent()
    assert SOUL in sent and GUIDE in sent
    assert (DECISION in sent) == bool(recalled)
    assert ("move auth to Envoy" in sent, STATE_MARK in sent) == (bool(state), bool(state))
    assert ("badger" in sent, MEMORY_MARK in sent) == (bool(all_notes), bool(all_notes))
    assert ("read_notes" in office.offered()) is False, "switched off in this world"


@pytest.mark.proves("S47", "S48")
async def test_an_agent_with_memory_knows_what_was_decided_on_monday_and_an_isolated_one_does_not(
    world: World,
) -> None:
    """The decision is in the ledger; the model that delegates does not repeat it in the task."""
    task = "say which database the billing service uses"
    office = Office(
        world, [delegate("knowing", task), delegate("isolated", task), "Done."], ["PostgreSQL.", "No idea."]
    )
    office.define("knowing", "context: contextual\nmemory: relevant")
    office.define("isolated")
    await office.type(f":remember {DECISION}")

    await office.ask("ask both of them")

    assert DECISION in office.sent(0)
    assert "PostgreSQL" not in office.sent(1)
    assert [result["answer"] for result in office.results] == ["PostgreSQL.", "No idea."]


@pytest.mark.proves("S48")
async def test_a_sub_agent_is_brought_half_of_what_a_question_of_the_user_is_brought(world: World) -> None:
    """Its task is narrow, and several of them run at once."""
    office = Office(world, ["Fine."], ["Done."], memory={"inject_max_chars": 0, "propose": False})
    office.define("clerk", "context: contextual\nmemory: relevant")
    for number in range(40):
        await office.type(
            f":remember billing decision {number}: the billing service keeps {' and '.join(LEDGERS)} in table {number}"
        )

    await office.ask(TASK)
    await office.type(f":agent clerk {TASK}")

    brought = str(office.boss.requests[0].messages[-1]["content"]).count("\n- ")
    fewer = office.sent().count("\n- ")
    assert 1 <= fewer <= brought * 0.6


@pytest.mark.proves("S47")
async def test_a_task_of_a_model_is_marked_and_one_of_the_user_is_not(world: World) -> None:
    """Whoever finds the task in a search must not take it for words of the user."""
    office = Office(world, [delegate("clerk", "count"), "Done."], ["One.", "Two."])
    office.define("clerk")
    await office.ask()
    await office.type(":agent clerk count")

    assert office.worker.requests[0].messages[1]["content"] == f"{TASK_MARK}\n\ncount"
    assert office.worker.requests[1].messages[1]["content"] == "count"


# What it may use


@pytest.mark.parametrize(
    ("fields", "offered"),
    [
        ("", ["read_file", "list_files", "search_files"]),
        ("tools: [read_file]", ["read_file"]),
        ("tools: Read, Bash", ["read_file"]),
        ("tools: []", []),
        ("tools: [write_file, delegate, read_file]", ["write_file", "read_file"]),
        ("context: contextual", ["recent_conversations", "search_conversations", "read_thread", "read_file"]),
        ("tools: [search_conversations]", []),
        ("context: contextual\ntools: [search_conversations, memory_add]", ["search_conversations", "memory_add"]),
    ],
)
async def test_the_list_of_tools_narrows_and_never_widens(world: World, fields: str, offered: list[str]) -> None:
    """Without a list it only reads; without memory it cannot search memory either."""
    office = Office(world, [], ["Done."], finding={"tools": True}, memory={"propose": True})
    office.define("clerk", fields)

    await office.type(":agent clerk count")

    assert office.offered()[: len(offered)] == offered
    assert not {"delegate", "edit_file", "update_notes"} & set(office.offered())
    if "tools" in fields:
        assert office.offered() == offered


async def test_a_tool_that_is_not_known_is_said_and_left_out(world: World) -> None:
    """A definition of another program may name tools that aish does not have."""
    office = Office(world, [delegate("clerk", "count"), "Done."], ["Done."])
    office.define("clerk", "tools: [read_file, WebFetch, NotebookEdit]")

    await office.ask()

    assert office.offered() == ["read_file"]
    assert "agent clerk: 2 tools of its list cannot be used here: WebFetch, NotebookEdit" in office.notices


async def test_a_sub_agent_cannot_delegate(world: World) -> None:
    """It is told so, and goes on."""
    office = Office(world, [delegate("clerk", "count"), "Done."], [delegate("helper", "count"), "Three."])
    office.define("clerk", "tools: [delegate, read_file]")

    await office.ask()

    answered = json.loads(str(office.worker.requests[1].messages[-1]["content"]))
    assert answered["status"] == "refused" and "a sub-agent cannot pass tasks on" in answered["reason"]
    assert office.results[0]["answer"] == "Three."
    assert len(world.journals()) == 2, "no third conversation"


@pytest.mark.parametrize(("key", "written"), [("r", True), ("s", False)])
async def test_a_change_is_asked_about_in_the_name_of_the_agent_and_can_be_undone(
    world: World, key: str, written: bool
) -> None:
    """The same question as for the model itself, to the same user, and the same way back."""
    office = Office(world, [delegate("scribe", "write it"), "Done."], [call("write_file", path="a.txt", content="x")])
    office.define("scribe", "tools: [write_file]")
    office.person = Reader(key)

    await office.ask()

    (question,) = office.person.asked
    assert question.startswith("agent scribe: the model wants to create a.txt")
    assert (office.project / "a.txt").exists() == written
    assert ("agent scribe: created a.txt" in " ".join(office.notices)) == written
    changes = office.program.files.history.changes(office.session.journal.id)
    assert [Path(one.path).name for one in changes] == (["a.txt"] if written else []), "`:undo` finds it"


async def test_an_unknown_model_is_said_and_the_current_one_works(world: World) -> None:
    """A definition may come from another machine."""
    office = Office(world, [delegate("clerk", "count"), "Three.", "Done."])
    office.define("clerk").write_text("---\nname: clerk\ndescription: d\nmodel: sonnet\n---\nCount.", encoding="utf-8")

    await office.ask()

    assert office.results[0]["answer"] == "Three."
    assert "agent clerk: there is no model 'sonnet', so boss works on it" in office.notices


async def test_a_model_that_is_down_is_a_result(world: World) -> None:
    """The conversation goes on, and its model knows why there is no answer."""
    office = Office(world, [delegate("clerk", "count"), "Too bad."], ["!connection refused"])
    office.define("clerk")

    done = await office.ask()

    assert done.text == "Too bad."
    assert (office.results[0]["status"], office.results[0]["reason"]) == ("failed", "connection refused")


# Its budget


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        ("{steps: 1}", "1 step"),
        ("{tokens: 10}", "10 tokens"),
        ("{dollars: 0.01}", "$0.01"),
        ("{minutes: 2}", "2 minutes"),
    ],
)
async def test_a_sub_agent_at_its_limit_must_answer_with_what_it_has(world: World, budget: str, limit: str) -> None:
    """It is not offered tools any more, and the result names the limit."""
    (world.directory / "work" / "a.txt").parent.mkdir()
    prices = {WORKER: {"input": 100.0, "output": 100.0}}
    answers = [call("list_files"), "So far: one file.", "never asked"]
    office = Office(world, [delegate("clerk", "count"), "Done."], answers, prices=prices)
    office.define("clerk", f"budget: {budget}")
    seconds = count(step=100)
    office.program.agents.clock = lambda: next(seconds)

    await office.ask()

    (result,) = office.results
    assert (result["status"], result["answer"]) == ("done", "So far: one file.")
    assert result["limit_reached"] == limit
    assert office.offered(-1) == []
    assert any(f"it had to answer after {limit}" in line for line in office.progress)


async def test_the_settings_limit_an_agent_without_a_budget(world: World) -> None:
    """No definition means no unlimited work."""
    office = Office(
        world,
        [delegate("helper", "count"), *[call("list_files")] * 2, "Two.", "Done."],
        agents={"tool": True, "steps": 2},
    )

    await office.ask()

    assert (office.results[0]["steps"], office.results[0]["limit_reached"]) == (2, "2 steps")


async def test_an_agent_that_never_answers_is_stopped(world: World) -> None:
    """The limit in minutes holds also while its model is silent."""
    office = Office(world, [delegate("clerk", "count"), "Too bad."])
    office.define("clerk", "budget: {minutes: 0.001}")
    hanging = HangingModel()
    office.program.make_backend = _with(office, WORKER, hanging)

    await office.ask()

    assert hanging.stopped == 1
    assert (office.results[0]["status"], office.results[0]["limit_reached"]) == ("stopped", "0.001 minutes")


class SlowReader(Reader):
    """A user who takes long to answer."""

    def __init__(self, *answers: str) -> None:
        super().__init__(*answers)
        self.now = 0.0

    async def key(self, question: str, keys: str) -> str:
        self.now += 10_000
        return await super().key(question, keys)


async def test_the_minutes_of_an_agent_do_not_count_questions_to_the_user(world: World) -> None:
    """Otherwise it must answer because the user went for lunch."""
    worker = [call("write_file", path="a.txt", content="x"), call("list_files"), "Written."]
    office = Office(world, [delegate("scribe", "write it"), "Done."], worker)
    office.define("scribe", "tools: [write_file, list_files]\nbudget: {minutes: 1}")
    office.person = slow = SlowReader("y")
    office.program.agents.clock = lambda: slow.now

    await office.ask()

    assert len(slow.asked) == 1
    assert office.results[0]["answer"] == "Written." and "limit_reached" not in office.results[0]


async def test_an_agent_is_not_stopped_while_the_user_is_asked() -> None:
    """The limit in minutes stands still, and counts again afterwards."""
    now = [0.0]
    clock = GoalClock(lambda: now[0])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            with expiring(limit, clock, 0.001):
                with clock.standing_still():
                    now[0] = 10_000
                    await asyncio.sleep(0.01)
                now[0] += 1
                await asyncio.Event().wait()
    assert clock.seconds == 1


async def test_what_only_a_sub_agent_has_read_is_not_known_to_the_model_of_the_user(world: World) -> None:
    """It would change a file that it has never seen. The other way round is the same."""
    edit = call("edit_file", path="a.txt", old="height = 4", new="height = 5")
    office = Office(world, [delegate("clerk", "read it"), edit, "Done."], [call("read_file", path="a.txt"), "Read."])
    office.define("clerk", "tools: [read_file]")
    (office.project / "a.txt").write_text("height = 4\n", encoding="utf-8")
    office.person = Reader("y")

    await office.ask()

    assert "a.txt was not read in this conversation" in str(office.results[1])
    assert (office.project / "a.txt").read_text(encoding="utf-8") == "height = 4\n"


async def test_sub_agents_have_their_own_line_in_the_costs_and_count_for_the_cap_of_the_conversation(
    world: World,
) -> None:
    """Otherwise delegating would be a way around the cap."""
    prices = {WORKER: {"input": 1000.0, "output": 1000.0}, "boss": {"input": 0.0, "output": 0.0}}
    office = Office(
        world, [delegate("clerk", "one"), "Done."] * 2, ["One.", "Two."], prices=prices, cost={"cap_at_dollars": 2.0}
    )
    office.define("clerk")
    world.consent = True
    await office.ask(person=Typist(world))
    first = len(world.confirms)
    detail = (await office.type(":cost detail")).text
    spent = office.session.services.costs.spent_in(office.session.journal.id)
    await office.ask(person=Typist(world))

    assert f"{WORKER}, sub-agent: 1 call" in detail
    assert spent > 0.1
    assert f"with ${spent:.4f} spent in this conversation" in world.confirms[-1]
    assert world.confirms[-1].startswith("agent clerk(2): this call could cost about")
    assert len(world.confirms) > first


# Several of them


@pytest.mark.proves("S47")
async def test_two_sub_agents_work_at_the_same_time(world: World) -> None:
    """Each request is answered only after both have arrived."""
    both = threading.Barrier(2, timeout=10)

    def answer(asked: Asked) -> Say:
        both.wait()
        return sse("red" if "first" in str(asked.json["messages"]) else "blue")

    with FakeServer(answer) as server:
        server.paths = {"/v1/models": reply_json({"data": []})}
        models = {WORKER: {"endpoint": f"{server.url}/v1", "model": "m", "tools": False}}
        office = Office(
            world,
            [f"{delegate('clerk', 'the first')}\n{delegate('clerk', 'the second')}", "Done."],
            models=models,
            tokenize={"use_endpoint": "false"},
        )
        office.define("clerk")
        await office.ask()
        await office.program.close()

    assert [result["answer"] for result in office.results] == ["red", "blue"]
    assert {"agent clerk: works on: the first", "agent clerk(2): works on: the second"} <= set(office.progress)


async def test_further_sub_agents_wait_for_room(world: World) -> None:
    """They are told about, and all of them get their turn."""
    tasks = "\n".join(delegate("clerk", f"task {number}") for number in range(6))
    office = Office(
        world, [tasks, "Done."], [f"answer {n} in some words" for n in range(6)], agents={"tool": True, "at_once": 2}
    )
    office.define("clerk")
    most = 0
    async for event in take_turn(office.session, "go", office.person):
        office.events.append(event)
        if isinstance(event, ToolProgress):
            runs = office.program.agents.team(office.session).runs
            most = max(most, sum(run.state == "running" for run in runs))

    assert most == 2
    assert sum("waits until another one has ended" in line for line in office.progress) == 4
    assert [result["status"] for result in office.results] == ["done"] * 6


async def test_fifty_tasks_in_one_answer_are_not_all_done(world: World) -> None:
    """A model that runs wild costs no more than twenty of them."""
    tasks = "\n".join(delegate("clerk", f"task {number}") for number in range(50))
    office = Office(world, [tasks, "Done."], ["Yes."] * 50)
    office.define("clerk")

    await office.ask()

    statuses = [result["status"] for result in office.results]
    assert (statuses.count("done"), statuses.count("refused")) == (20, 30)
    assert len(office.worker.requests) == 20


async def test_tasks_after_commands_count_for_the_same_question(world: World) -> None:
    """The model goes on in another turn, but nobody has asked it anything new."""
    office = Office(world)
    team = office.program.agents.team(office.session)

    def passed_on(**how: Any) -> int:
        turn = TurnContext(office.session, **how)
        return sum(team.may_pass_on(turn) for _ in range(15))

    assert [passed_on(), passed_on(goes_on=True), passed_on(goes_on=True)] == [15, 5, 0]
    assert [passed_on(goes_on=True, category="goal"), passed_on()] == [15, 15]


async def test_one_of_two_can_be_stopped(world: World) -> None:
    """The other one goes on, and the model of the user reads both results."""
    office = Office(world, [f"{delegate('slow', 'a')}\n{delegate('quick', 'b')}", "Done."], ["Quick answer."])
    office.define("quick")
    hanging = HangingModel()
    office.program.make_backend = _with(office, "slow", hanging)
    office.program.settings.models["slow"] = office.program.settings.models[WORKER]
    office.define("slow").write_text("---\nname: slow\ndescription: d\nmodel: slow\n---\nWait.", encoding="utf-8")
    asking = asyncio.create_task(office.ask())
    async with asyncio.timeout(10):
        await hanging.asked.wait()
    listed = (await office.type(":agents")).table
    assert listed and listed.rows[0][1:3] == ("slow", "running")

    reply = await office.type(":agents stop 1")
    await asking

    assert reply.text == "stopped: slow"
    assert hanging.stopped == 1
    assert [result["status"] for result in office.results] == ["stopped", "done"]
    assert office.results[0]["reason"] == "stopped by user"
    assert (await office.type(":agents stop 1")).text == "nothing to stop: it has ended"


def _with(office: Office, name: str, model: Any) -> Any:
    """Return what makes backends, with this model under one name."""
    make_backend = office.program.make_backend

    def make(program: Any, wanted: str, preset: Any) -> Any:
        backend = make_backend(program, wanted, preset)
        if wanted == name:
            backend.model = model
        return backend

    return make


async def test_stopping_the_answer_stops_its_sub_agents(world: World) -> None:
    """As Ctrl-C does: nothing goes on in the background, and what was asked is in the journal."""
    office = Office(world, [f"{delegate('clerk', 'a')}\n{delegate('clerk', 'b')}"])
    office.define("clerk")
    hanging = HangingModel()
    office.program.make_backend = _with(office, WORKER, hanging)
    async with aclosing(take_turn(office.session, "go", office.person)) as events:
        async for _ in events:
            runs = office.program.agents.team(office.session).runs
            if len(runs) == 2 and hanging.asked.is_set():
                break

    assert [run.state for run in runs] == ["stopped", "stopped"]
    assert all(run.working and run.working.done() for run in runs)
    assert len(world.journals()) == 3


# What comes back, and what stays


@pytest.mark.proves("N1")
async def test_the_conversation_of_a_sub_agent_is_found_resumed_and_linked_but_not_listed(world: World) -> None:
    """The list has the user's own conversations; what a sub-agent did can be looked up."""
    office = Office(world, [delegate("clerk", "weigh the walrus"), "Done.", "A2"], ["It weighs a ton.", "Sure."])
    office.define("clerk")
    await office.ask("how heavy is it?")
    child = office.results[0]["conversation"]

    assert (await office.type(":sessions")).text.endswith("4 turns  how heavy is it?"), "one line"
    assert "\n" not in (await office.type(":sessions")).text
    found = office.program.finder.search("walrus", 10)
    assert child in {hit.conversation for hit in found.hits if hit.text == f"{TASK_MARK}\n\nweigh the walrus"}
    assert any(hit.conversation == child and hit.text == "It weighs a ton." for hit in found.hits)
    (task,) = (hit for hit in found.hits if hit.conversation == child and hit.role == "user")
    assert trust_of(task) == "a model, as a task for a sub-agent"
    meta = office.program.conversations.open(child).meta()
    assert (meta["parent"], meta["agent"]) == (office.session.journal.id, "clerk")
    assert office.program.conversations.find("") == office.session.journal.id, "not the newest file"
    assert f"resumed {child}" in (await office.type(f":resume {child}")).text

    office.open([], [])
    await office.type(f":resume {meta['parent']}")
    table = (await office.type(":agents")).table
    assert table and [(row[1], row[2], *row[6:]) for row in table.rows] == [
        ("clerk", "ended", child, "weigh the walrus")
    ]


async def test_a_long_answer_is_cut_and_says_where_the_rest_is(world: World) -> None:
    """It must not push the conversation out of the prompt."""
    office = Office(world, [delegate("clerk", "tell"), "Done."], ["word " * 5_000])
    office.define("clerk")

    await office.ask()

    (result,) = office.results
    assert len(result["answer"]) < 6_200 and "characters left out" in result["answer"]
    assert result["cut"]["characters_left_out"] == 19_000
    assert result["conversation"] in result["cut"]["note"]


async def test_each_step_is_shown_under_the_name_of_the_agent(world: World) -> None:
    """The user sees what runs; what a model put into a call is neutralised and bounded."""
    evil = "a\x1b[2J\u202e" + "x" * 500
    office = Office(world, [delegate("clerk", "read"), "Done."], [call("read_file", path=evil), "No."])
    office.define("clerk")

    await office.ask()

    assert [line[:40] for line in office.progress] == [
        "agent clerk: works on: read",
        'agent clerk: step 1: read_file {"path": ',
        f"agent clerk: done, 1 step, {office.results[0]['tokens']:,} tokens",
    ]
    assert all(len(line) < 160 and "\x1b" not in line and "\u202e" not in line for line in office.progress)


async def test_the_answer_to_a_task_of_the_user_goes_along_with_the_next_question(world: World) -> None:
    """As the output of a command does, so that the conversation can go on from there."""
    office = Office(world, ["I see."], ["There are three."])
    office.define("clerk")

    reply = await office.type(":agent clerk count the ducks")
    await office.ask("and?")

    assert reply.text == "There are three."
    message = str(office.boss.requests[0].messages[-1]["content"])
    assert message.startswith("[exec output]\nagent clerk was asked: count the ducks\n")
    assert "There are three." in message


@pytest.mark.proves("S49")
async def test_a_skill_is_told_when_a_sub_agent_has_ended(world: World) -> None:
    """Its hook gets the agent, the task and the answer."""
    office = Office(world, [delegate("clerk", "count"), "Done."], ["Three."])
    office.define("clerk")
    skill = world.places.workspace / "skills" / "hooked"
    skill.mkdir(parents=True)
    hooks = '{"after_subagent": "cat"}'
    (skill / "SKILL.md").write_text(f"---\ndescription: has a hook\nhooks: {hooks}\n---\nbody", encoding="utf-8")

    await office.ask()

    texts = [event.text for event in office.events if isinstance(event, Notice)]
    (told,) = [text for text in texts if text.startswith("hooked: ")]
    assert all(text in told for text in ('"agent": "clerk"', '"task": "count"', '"answer": "Three."'))


@pytest.mark.proves("S23")
async def test_the_notes_of_a_conversation_go_on_beside_its_sub_agents(world: World) -> None:
    """Only the user's conversation is noted: work → SESSION.md → MEMORY.md → recall in the next one."""
    facts = "decision: move billing to Envoy\nhistory: billing is moved"
    child = "TOOL: update_notes " + json.dumps({"text": "auth is not needed", "kind": "decision"})
    desk = NotesDesk(
        world,
        "A1",
        delegate("helper", "look at billing"),
        child,
        "please remember: auth is not needed",
        "A2",
        "A3",
        notes=[STATE, facts],
        agents={"tool": True},
        notes_settings={"tools": True},
    )
    await desk.work("please move billing to Envoy", "use a helper to check it")
    own = desk.session.journal.id
    assert len(world.journals()) == 2
    assert "billing is moved" in desk.note("SESSION.md")
    await desk.type(":new")
    assert {waiting[0] for waiting in desk.session.notes.queue.waiting()} <= {own}
    await desk.rest()
    assert desk.entries() == ["move billing to Envoy"]

    await desk.ask("what did we decide about billing and Envoy?")

    assert "move billing to Envoy" in desk.message()
    assert "auth is not needed" not in desk.note("MEMORY.md")
    assert not any("user: look at billing" in asked for asked in desk.asked_helper())


@pytest.mark.proves("S23")
async def test_no_notes_are_kept_of_the_conversation_of_a_sub_agent(world: World) -> None:
    """A model wrote its task, so nothing in it is work or words of the user."""
    desk = NotesDesk(world, "A1", "A2", notes=[STATE])
    child = desk.program.session(about={"parent": desk.session.journal.id, "agent": "clerk"})
    await world.ask(child, "move billing to Envoy")
    await world.ask(child, "and auth")

    assert not state_is_due(child)
    assert await finish_conversation(child) == []
    assert desk.program.present_notes(child.channel) == frozenset()


# When it is loaded


async def test_the_description_of_the_tool_stays_the_same_in_a_conversation(world: World) -> None:
    """A change of it would invalidate the prompt cache of the server. A new conversation has the new one."""
    office = Office(world, ["A1", "A2", "A3"])
    office.define("first")
    await office.ask("q1")
    office.define("second")
    await office.ask("q2")
    await office.type(":new")
    await office.ask("q3")

    tools = [
        [tool for tool in request.tools if tool["function"]["name"] == "delegate"] for request in office.boss.requests
    ]
    assert tools[0] == tools[1] != tools[2]
    text = tools[2][0]["function"]["description"]
    assert "\n- first: what first does\n- second: what second does\n- helper: reads" in text


async def test_a_hundred_agents_do_not_fill_the_prompt(world: World) -> None:
    """Each is one line, and the list is bounded."""
    office = Office(world, ["A1"])
    for number in range(49):
        office.define(f"a{number}", f"when_to_use: {'very ' * 200}often")

    await office.ask("q1")

    (tool,) = (tool for tool in office.boss.requests[0].tools if tool["function"]["name"] == "delegate")
    assert len(tool["function"]["description"]) < 5_500
    assert "(30 more; the user can name them)" in tool["function"]["description"]


async def test_the_tool_can_be_switched_off_and_agents_can_still_be_used_by_name(world: World) -> None:
    """`agents.tool` is for the model only."""
    office = Office(world, ["A1"], ["Three."], agents={"tool": False})
    office.define("clerk")

    await office.ask("q1")

    assert "delegate" not in [tool["function"]["name"] for tool in office.boss.requests[0].tools]
    assert (await office.type(":agent clerk count")).text == "Three."


# Bad tasks


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"agent": "clerk", "task": "  "}, "the task is empty"),
        ({"agent": "clerk", "task": "x" * 500_000}, "at most 50,000 are possible"),
        ({"agent": "clerk"}, "agent and task must be strings"),
        ({"agent": ["clerk"], "task": {}}, "agent and task must be strings"),
        ({"agent": "../../etc/passwd", "task": "a"}, "there is no agent '../../etc/passwd'; there are: clerk, helper"),
        ({"agent": "x" * 5_000, "task": "a"}, "there is no agent"),
    ],
)
async def test_a_call_that_cannot_work_says_why(world: World, arguments: dict[str, object], reason: str) -> None:
    """The model can try again; nobody is asked and no conversation is started."""
    office = Office(world, [call("delegate", **arguments), "Done."])
    office.define("clerk")

    await office.ask()

    (result,) = office.results
    assert result["status"] == "refused" and reason in result["reason"] and len(result["reason"]) < 300
    assert len(world.journals()) == 1


@pytest.mark.parametrize(
    ("line", "error", "says"),
    [
        (":agent nobody count", NotFound, "there is no agent 'nobody'; there are: helper"),
        (":agent helper", BadUsage, "the task is empty"),
        (":agent helper    ", BadUsage, "the task is empty"),
        (":agents stop 7", NotFound, "there is no agent number 7"),
        (":agents stop now", BadUsage, "expected a number"),
        (":agents walk", NotFound, "there is no :agents walk"),
    ],
)
async def test_a_command_that_cannot_work_says_why(world: World, line: str, error: type[Exception], says: str) -> None:
    """Also without any agent at work."""
    office = Office(world)

    with pytest.raises(error, match=says):
        await office.type(line)


@pytest.mark.parametrize("defined", [True, False])
def test_a_question_from_a_script_can_be_passed_on_where_agents_are_defined(world: World, *, defined: bool) -> None:
    """Only the answer goes to standard output. A script does not pay for loading what nobody defined."""
    if defined:
        world.places.agents.mkdir(parents=True)
    world.script(delegate("helper", "say hello"), "hello from the helper", "It says hello.")

    ran = world.aish("what does the helper say?", AISH_SET_AGENTS__TOOL="true")

    assert ran.code == 0, ran.err
    assert (ran.out == "It says hello.\n") == defined
    assert ("agent helper: works on: say hello" in ran.err) == defined
    assert len(world.journals()) == (2 if defined else 1)


def test_agents_are_used_from_a_pipe(world: World) -> None:
    """The real program: a task, the list of what ran, and the costs."""
    world.script("The helper says hello.")

    ran = world.aish("--lines", given=":agent helper say hello\n:agents\n:agent\n:cost detail\n")

    assert ran.code == 0, ran.err
    assert "The helper says hello." in ran.out
    assert "say hello" in ran.out and "done" in ran.out
    assert "script, sub-agent: 1 call" in ran.out
    assert "Traceback" not in ran.err


# Questions, and the terminal


class Slow(Reader):
    """A user who thinks while others could ask."""

    def __init__(self) -> None:
        super().__init__(*"ssss")
        self.open, self.most = 0, 0

    async def show(self, difference: str) -> None:
        self.asked.append("shown")

    async def key(self, question: str, keys: str) -> str:
        self.open += 1
        self.most = max(self.most, self.open)
        for _ in range(20):
            await asyncio.sleep(0)
        self.open -= 1
        return await super().key(question, keys)


async def test_two_sub_agents_never_ask_at_once(world: World) -> None:
    """What is shown belongs to the question that follows it, whoever asks."""
    worker = [call("write_file", path="a.txt", content="a"), call("write_file", path="b.txt", content="b")]
    office = Office(world, [f"{delegate('scribe', 'a')}\n{delegate('scribe', 'b')}", "Done."], [*worker, "No.", "No."])
    office.define("scribe", "tools: [write_file]")
    person = Slow()

    await office.ask(person=person)

    assert person.most == 1
    assert [text.partition(":")[0] for text in person.asked] == ["shown", "agent scribe", "shown", "agent scribe(2)"]


class Halting(HangingModel):
    """A model that stops in the middle of its answer."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        yield TextPiece("One, two")
        async for event in super().stream(request):
            yield event


class SameIds:
    """A model whose server gives calls no ids. For each task it writes one file."""

    def __init__(self) -> None:
        self.started = set[str]()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        name = "one" if "task one" in str(request.messages[1]["content"]) else "two"
        if name in self.started:
            yield TextPiece(str(request.messages[-1]["content"]))
        else:
            self.started.add(name)
            yield ToolPiece(0, "", "write_file", json.dumps({"path": name, "content": name}))

    async def close(self) -> None:
        pass


async def test_calls_with_the_same_id_are_not_mixed_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user was shown is compared with what is done, for each agent by itself."""
    office = Office(world, [f"{delegate('clerk', 'task one')}\n{delegate('clerk', 'task two')}", "Done."])
    office.define("clerk", "tools: [write_file]")
    office.program.backend(WORKER).model = SameIds()
    office.person.answers = ["r", "r"]
    shown, apply, both = ProjectFiles.was_shown, ProjectFiles.apply, threading.Barrier(2, timeout=10)

    def show(files: ProjectFiles, call: str, change: Prepared) -> None:
        shown(files, call, change)
        if change.path == "two":
            both.wait()

    def change(files: ProjectFiles, site: Site, what: Prepared, **how: Any) -> None:
        if what.path == "one":
            both.wait()  # until the user is asked about the other one
        apply(files, site, what, **how)

    monkeypatch.setattr(ProjectFiles, "was_shown", show)
    monkeypatch.setattr(ProjectFiles, "apply", change)
    await office.ask()

    assert all("created" in str(result["answer"]) for result in office.results)
    assert {path.name for path in office.project.iterdir()} == {".git", "one", "two"}


async def test_what_a_stopped_agent_had_said_is_not_lost(world: World) -> None:
    """Its last words are in the result and in its journal."""
    office = Office(world, [delegate("clerk", "count"), "Done."])
    office.define("clerk")
    halting = Halting()
    office.program.make_backend = _with(office, WORKER, halting)
    asking = asyncio.create_task(office.ask())
    async with asyncio.timeout(10):
        await halting.asked.wait()

    await office.type(":agents stop")
    await asking

    (result,) = office.results
    assert (result["status"], result["answer"]) == ("stopped", "One, two")
    *_, last = office.program.conversations.open(result["conversation"]).entries()
    assert (last.turn.content, last.turn.state) == ("One, two", "interrupted")


async def test_without_memory_a_task_of_the_user_leaves_no_trace(world: World) -> None:
    """`--no-memory` holds for sub-agents too; their costs still count for the cap of this run."""
    office = Office(world, [], ["Three."])
    office.define("clerk", "context: contextual\nmemory: channel\ntools: [read_file]")
    session = office.program.session(remembers=False)
    shell = world.shell(office.program, session)

    reply = await world.type(shell, ":agent clerk count")

    assert reply.text == "Three."
    assert world.journals() == [] and not world.places.costs.exists()
    assert len(session.services.costs.of(session.journal.id)) == 1


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_the_user_sees_what_runs_and_answers_in_the_terminal(workshop: Workshop) -> None:
    """Each line has the name of the agent, and so has its question."""
    workshop.places.agents.mkdir(parents=True)
    definition = "---\nname: scribe\ndescription: writes\ntools: [read_file, write_file]\n---\nWrite."
    (workshop.places.agents / "scribe.md").write_text(definition, encoding="utf-8")
    workshop.script(
        delegate("scribe", "write it down"),
        call("write_file", path="a.txt", content="hello"),
        "Written.",
        "The scribe wrote it.",
    )
    with AtGate(workshop, AISH_SET_AGENTS__TOOL="true", AISH_SET_COMMANDS__FILE_TOOLS="true") as terminal:
        terminal.ask("please write it down")
        terminal.wait_question()
        for shown in ("works on: write it down", "step 1: write_file", "the model wants to create a.txt"):
            terminal.wait_for(f"[aish] agent scribe: {shown}")
        terminal.type("r")
        terminal.wait_for("[aish] agent scribe: created a.txt")
        terminal.wait_for("[aish] agent scribe: done, 1 step")
        terminal.wait_prompt()
        assert "The scribe wrote it." in terminal.lines
        terminal.enter(":agents")
        terminal.wait_for("conversation")
        terminal.wait_prompt()
        assert any("scribe" in line and "done" in line and "write it down" in line for line in terminal.lines)
    assert (workshop.directory / "a.txt").read_text(encoding="utf-8") == "hello"


def test_ctrl_c_stops_a_sub_agent_in_the_terminal(workshop: Workshop) -> None:
    """The shell is back at once, and the list says what became of it."""
    model = f'kind = "scripted"\npause = 0.1\nanswers = ["{"word " * 1000}"]'
    workshop.configure(f'model = "slow"\n[models.slow]\n{model}\n')
    with AtGate(workshop) as terminal:
        terminal.enter(":agent helper talk")
        terminal.wait_for("[aish] agent helper: works on: talk")
        terminal.type(CTRL_C)
        terminal.wait_prompt()
        terminal.enter(":agents")
        terminal.wait_for("conversation")
        terminal.wait_prompt()
        assert any("helper" in line and "stopped" in line and "talk" in line for line in terminal.lines)
