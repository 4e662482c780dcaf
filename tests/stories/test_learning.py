"""Learning from a conversation: a model reads the journal, and the user decides about each line."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from fake_server import Asked, FakeServer, Say, sse
from terminal import CTRL_C, CTRL_D, Terminal
from world import World, script_of

from aish.commands.shell import Shell
from aish.conversation.session import Session
from aish.memory.candidates import INSTRUCTION
from aish.model.cost import by_model
from aish.model.scripted import ScriptedModel
from aish.prompt.summary import SummaryLayer
from aish.values.turns import Turn

pytestmark = pytest.mark.anyio

FOUND = "fact: the cat is called Miso\npref: tabs over spaces\ncontext: the parser is half done"


async def after_exchange(world: World, *answers: str, settings: dict[str, Any] | None = None) -> Shell:
    """Return a shell after one exchange; `answers` are the next answers of the model."""
    values = {"model": "script", **(settings or {})}
    values["models"] = {"script": {"kind": "scripted", "answers": ["A1", *answers]}, **values.get("models", {})}
    program = world.program(values)
    session = program.session()
    await world.ask(session, "q1")
    return world.shell(program, session)


async def summarize(world: World, shell: Shell, *answers: str) -> list[str]:
    """Type the command, answer its questions, and return its last lines."""
    world.answers = list(answers)
    return (await world.type(shell, ":memory summarize")).text.splitlines()


def asked(session: Session, place: int = -1) -> str:
    """Return the only message of a request to the summariser."""
    (message,) = script_of(session).requests[place].messages
    assert message["role"] == "user"
    return str(message["content"])


def records(world: World, name: str = "memory.jsonl") -> list[dict[str, Any]]:
    path = world.places.memory.with_name(name)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [record for line in lines if "meta" not in (record := json.loads(line))]


def contents(world: World, name: str = "memory.jsonl") -> list[str]:
    return [record["content"] for record in records(world, name)]


@pytest.mark.proves("M37", "M44", "M48", "M49", "M50", "M63")
async def test_each_line_is_shown_and_only_a_yes_writes_it(world: World) -> None:
    """The default is no: an extra Enter must not add items."""
    shell = await after_exchange(world, FOUND)

    lines = await summarize(world, shell, "y", "", "no")

    assert world.asked == [
        "fact: the cat is called Miso\nkeep? [y/N/edit] ",
        "pref: tabs over spaces\nkeep? [y/N/edit] ",
        "context: the parser is half done\nkeep? [y/N/edit] ",
    ]
    assert lines == ["[aish] memory: added 1 candidates"]
    (record,) = records(world)
    assert record["content"] == "the cat is called Miso"
    assert record["source"] == shell.session.journal.id
    assert (record["origin"], record["confirmed"]) == ("model", True)
    assert records(world, "memory.pending.jsonl") == []


@pytest.mark.proves("M48")
@pytest.mark.parametrize("word", ["edit", "e", "EDIT"])
async def test_edit_lets_the_user_change_the_line_first(world: World, word: str) -> None:
    """The edited text is kept; the kind stays."""
    shell = await after_exchange(world, FOUND)

    lines = await summarize(world, shell, "", word, "spaces over tabs")

    assert world.asked[2] == "tabs over spaces", "the editor starts with the candidate"
    assert lines == ["[aish] memory: added 1 candidates"]
    assert [(record["kind"], record["content"]) for record in records(world)] == [("pref", "spaces over tabs")]


@pytest.mark.proves("M48")
async def test_an_edit_that_leaves_nothing_writes_nothing(world: World) -> None:
    """The user empties the line or cancels."""
    shell = await after_exchange(world, FOUND)

    assert await summarize(world, shell, "edit", "   ") == ["[aish] memory: added 0 candidates"]
    assert records(world) == []


@pytest.mark.proves("M48", "M49")
@pytest.mark.parametrize("answers", [(), ("", "", ""), ("n", "N", "what?"), ("yeah", "j", "yy")])
async def test_only_a_clear_yes_is_a_yes(world: World, answers: tuple[str, ...]) -> None:
    """Also when the input has ended."""
    shell = await after_exchange(world, FOUND)

    assert await summarize(world, shell, *answers) == ["[aish] memory: added 0 candidates"]
    assert records(world) == []


@pytest.mark.proves("M32", "M48")
async def test_a_kept_item_is_in_the_next_prompt(world: World) -> None:
    """Without a restart, as after every change by the user."""
    shell = await after_exchange(world, FOUND, "A2")

    await summarize(world, shell, "y")
    await world.ask(shell.session, "q2")

    system = str(script_of(shell.session).requests[-1].messages[0]["content"])
    assert system.endswith("- (fact) the cat is called Miso")


@pytest.mark.proves("M41")
async def test_it_reads_the_journal_and_not_the_prompt(world: World) -> None:
    """Turns that left the prompt count; text that is only in the prompt does not."""
    shell = await after_exchange(
        world, "A2", "A3", "", settings={"context": {"max_turns": 2, "summarize_evicted": False}}
    )
    await world.ask(shell.session, "q2")
    await world.ask(shell.session, "q3")
    shell.session.layer(SummaryLayer).summary = "a summary that nobody said"
    shell.session.history.hold("output that nobody asked about")

    await summarize(world, shell)

    text = asked(shell.session)
    assert text.endswith("---\nuser: q1\nassistant: A1\nuser: q2\nassistant: A2\nuser: q3\nassistant: A3\n---")
    assert "nobody" not in text.removeprefix(INSTRUCTION)


@pytest.mark.proves("M41")
async def test_a_line_written_by_hand_into_the_journal_is_read(world: World) -> None:
    """The file is authoritative, whoever wrote it."""
    shell = await after_exchange(world, "")
    with (world.places.sessions / f"{shell.session.journal.id}.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"n":3,"ts":"2026-03-01T10:00:00.000Z","role":"user","content":"by hand"}\n')

    await summarize(world, shell)

    assert asked(shell.session).endswith("assistant: A1\nuser: by hand\n---")


@pytest.mark.proves("M43")
async def test_memory_is_not_in_the_input_of_the_summariser(world: World) -> None:
    """Otherwise every run would find the same facts again and make them look confirmed."""
    shell = await after_exchange(world, "A2", "")
    await world.type(shell, ":remember the bridge is called Ponte")
    await world.ask(shell.session, "q2")
    assert "Ponte" in str(script_of(shell.session).requests[-1].messages[0]["content"])

    await summarize(world, shell)

    assert "Ponte" not in asked(shell.session)
    assert "[background]" not in asked(shell.session)
    assert len(script_of(shell.session).requests[-1].messages) == 1


@pytest.mark.proves("M42")
async def test_a_second_run_does_not_read_the_first(world: World) -> None:
    """Neither in the same shell nor after the conversation is resumed in another."""
    shell = await after_exchange(world, FOUND, "", "", settings={"memory": {"propose": False}})

    await summarize(world, shell)
    await summarize(world, shell)
    assert asked(shell.session, 2) == asked(shell.session, 1)
    marked = [entry.meta.get("meta") for entry in shell.session.journal.entries()]
    assert marked == [None, None, *["summarize"] * 4]

    other = world.shell(shell.program)
    await world.type(other, f":resume {shell.session.journal.id}")
    await summarize(world, other)
    assert asked(shell.session, 3) == asked(shell.session, 1)


@pytest.mark.proves("M42")
async def test_turns_of_the_summariser_never_reach_a_prompt(world: World) -> None:
    """Neither the next one nor one after :resume: they were not part of the conversation."""
    shell = await after_exchange(world, FOUND, "A2", "A3")
    await summarize(world, shell)
    await world.ask(shell.session, "q2")

    again = world.shell(shell.program)
    await world.type(again, f":resume {shell.session.journal.id}")
    await world.ask(again.session, "q3")

    for request in script_of(shell.session).requests[2:]:
        said = [str(message["content"]) for message in request.messages[1:]]
        assert said[:3] == ["q1", "A1", "q2"]
        assert not any("Miso" in text or INSTRUCTION[:40] in text for text in said)


@pytest.mark.proves("M52")
async def test_a_long_conversation_is_read_from_its_end(world: World) -> None:
    """At most 64 KB of it."""
    shell = await after_exchange(world, "", settings={"context": {"token_budget": 1_000_000}})
    for number in range(60):
        shell.session.journal.add(Turn("user", f"{number:03} " + "é" * 1000), shell.session.services.now())

    await summarize(world, shell)

    text = asked(shell.session)
    assert 60_000 < len(text.encode()) <= 65_536
    assert "user: 059 " in text
    assert "user: 000 " not in text
    assert "q1" not in text


@pytest.mark.proves("M52", "T3")
async def test_the_question_fits_a_small_window(world: World) -> None:
    """The server would truncate the prompt at its start, where the instruction is."""
    shell = await after_exchange(world, "", settings={"context": {"token_budget": 1000}})
    for number in range(60):
        shell.session.journal.add(Turn("user", f"{number:03} " + "e" * 1000), shell.session.services.now())

    await summarize(world, shell)

    assert len(asked(shell.session).encode()) <= 3000
    assert asked(shell.session).startswith(INSTRUCTION)


@pytest.mark.proves("M46")
async def test_another_model_can_be_the_summariser(world: World) -> None:
    """A small model is enough; the answering one is not used."""
    shell = await after_exchange(
        world,
        settings={
            "memory": {"summarizer_model": "small", "propose": False},
            "models": {"small": {"kind": "scripted", "answers": ["fact: the cat is called Miso"]}},
        },
    )

    await summarize(world, shell, "y")

    small = shell.program.backend("small").model
    assert isinstance(small, ScriptedModel)
    assert len(small.requests) == 1
    assert len(script_of(shell.session).requests) == 1, "only the question itself"
    assert contents(world) == ["the cat is called Miso"]
    assert [(model, category) for model, category in by_model(shell.session.services.costs.all())] == [
        ("small", "memory"),
        ("script", "main"),
    ]


@pytest.mark.proves("M46")
def test_an_unknown_summariser_is_reported_and_the_answering_model_is_used(world: World) -> None:
    """The user must know which setting to change."""
    world.script("A1", FOUND, extra='[memory]\nsummarizer_model = "nobody"\nsummarize_on_quit = true')

    ran = world.aish("--lines", given="q1\n")

    assert "there is no model 'nobody'" in ran.err
    assert len(contents(world, "memory.pending.jsonl")) == 3


@pytest.mark.proves("P7")
async def test_its_cost_is_shown_in_its_own_category(world: World) -> None:
    """The user can see the cost of learning."""
    prices = {"script": {"input": 1.0, "output": 1.0}}
    shell = await after_exchange(world, FOUND, settings={"prices": prices})

    await summarize(world, shell)

    lines = (await world.type(shell, ":cost detail")).text.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["total", "script, main", "script, memory"]
    assert lines[2].startswith("script, memory: 1 call, ")
    assert "unknown" not in lines[2]


@pytest.mark.proves("P7")
@pytest.mark.parametrize("caps", [{"cap_at_dollars": 0.1}, {"cap_at_dollars_per_day": 0.1}])
async def test_a_spending_cap_is_obeyed_without_a_question(world: World, caps: dict[str, float]) -> None:
    """Nothing is sent, and the user is told; a question would not be worth it."""
    prices = {"script": {"input": 1000.0, "output": 1000.0}}
    world.consent = True
    shell = await after_exchange(world, FOUND, settings={"prices": prices, "cost": caps})
    assert len(world.confirms) == 1, "the question itself is asked about"

    lines = await summarize(world, shell, "y")

    assert lines == ["not sent: the call could exceed the cost cap", "[aish] memory: added 0 candidates"]
    assert len(script_of(shell.session).requests) == 1
    assert len(world.confirms) == 1


@pytest.mark.proves("P7")
async def test_the_answer_may_be_no_longer_than_the_preset_allows(world: World) -> None:
    """The cap is computed with that length, so a longer answer could exceed it."""
    models = {"script": {"kind": "scripted", "answers": ["A1", FOUND, FOUND], "max_tokens": 50}}
    shell = world.shell(world.program({"model": "script", "models": models}))
    await world.ask(shell.session, "q1")

    await summarize(world, shell)

    assert script_of(shell.session).requests[-1].max_tokens == 50


@pytest.mark.proves("M47", "M49")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "the model found nothing worth keeping"),
        ("  \n \n", "the model found nothing worth keeping"),
        ("There is nothing to keep here, sorry.", "the model's answer has no usable line"),
        ('[{"kind": "fact", "content": "the cat is called Miso"}]', "the model's answer has no usable line"),
        ("word " * 200_000, "the model's answer has no usable line"),
        ("\x00\x1b[2J\x07\ufffd\u202e" * 20, "the model's answer has no usable line"),
        ("!the server burns", "the server burns"),
        ("no line at all…", "the answer is incomplete"),
    ],
    ids=["empty", "blanks", "prose", "JSON", "1 MB", "binary", "fails", "breaks off"],
)
async def test_a_useless_answer_gives_one_line(world: World, answer: str, said: str) -> None:
    """Small models may answer anything. Nothing of it is kept, and the shell continues."""
    shell = await after_exchange(world, answer, "A2")

    lines = await summarize(world, shell, "y", "y", "y")

    assert lines[0].startswith(said)
    assert len(lines[0]) < 200
    assert lines[1:] == ["[aish] memory: added 0 candidates"]
    assert world.asked == []
    assert records(world) == []
    assert (await world.ask(shell.session, "q2")).text == "A2"


@pytest.mark.proves("M47")
async def test_lines_around_the_candidates_are_ignored(world: World) -> None:
    """Of fifty lines, ten are shown."""
    many = "\n".join(["Here is what I found:", *(f"* fact: thing number {n}" for n in range(50)), "Anything else?"])
    shell = await after_exchange(world, many)

    lines = await summarize(world, shell, *["y"] * 50)

    assert len(world.asked) == 10
    assert lines == ["[aish] memory: added 10 candidates"]
    assert contents(world) == [f"thing number {n}" for n in range(10)]


@pytest.mark.proves("M57")
async def test_a_known_item_is_reported_and_not_counted(world: World) -> None:
    """A second run over the same conversation finds the same items."""
    shell = await after_exchange(world, FOUND, FOUND)

    await summarize(world, shell, "y")

    assert await summarize(world, shell, "y", "y") == ["already known (id 1)", "[aish] memory: added 1 candidates"]
    assert contents(world) == ["the cat is called Miso", "tabs over spaces"]


@pytest.mark.proves("M62")
async def test_a_secret_in_a_candidate_is_masked(world: World) -> None:
    """Accepting a line is not a request to keep a key unmasked."""
    secret = "ghp" + "_" + "a1B2" * 9
    shell = await after_exchange(world, f"fact: the token is {secret}")

    lines = await summarize(world, shell, "y")

    assert lines[0].startswith("masked before saving: 1 × ")
    assert lines[-1] == "[aish] memory: added 1 candidates"
    for path in world.home.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


@pytest.mark.proves("M61")
async def test_purged_text_is_not_learned_again(world: World) -> None:
    """The conversation may be older than a purge in another one."""
    shell = await after_exchange(world, FOUND)
    await world.type(shell, ":remember the cat is called Miso")
    await world.type(shell, ":memory purge --yes 1")

    lines = await summarize(world, shell, "y", "y")

    assert "purged" in lines[0]
    assert lines[-1] == "[aish] memory: added 1 candidates"
    assert "Miso" not in world.places.memory.read_text(encoding="utf-8")


async def test_an_empty_conversation_is_not_sent(world: World) -> None:
    """An empty conversation costs no call."""
    program = world.program({"model": "script", "models": {"script": {"kind": "scripted", "answers": [FOUND]}}})
    shell = world.shell(program)

    assert await summarize(world, shell, "y") == [
        "this conversation has no turns yet",
        "[aish] memory: added 0 candidates",
    ]
    assert script_of(shell.session).requests == []


@pytest.mark.proves("M51")
def test_at_quit_nothing_is_learned_unless_the_settings_say_so(world: World) -> None:
    """It costs a call, so it is manual by default."""
    world.script("A1", FOUND)

    ran = world.aish("--lines", given="q1\n:quit\n")

    assert (ran.code, ran.out) == (0, "A1\n")
    assert "candidates" not in ran.err
    assert records(world, "memory.pending.jsonl") == []


@pytest.mark.proves("M51", "M50", "M63", "X4")
def test_items_learned_at_quit_are_pending(world: World) -> None:
    """The user is not there to confirm, so the items are not in memory; the next shell lists them with their origin."""
    world.script("A1", FOUND, extra="[memory]\nsummarize_on_quit = true")

    ran = world.aish("--lines", given="q1\n:quit\n")

    assert ran.code == 0
    assert "3 candidates are pending (:memory pending)" in ran.err
    assert records(world) == []
    (journal,) = world.journals()
    pending = records(world, "memory.pending.jsonl")
    assert [(r["content"], r["source"], r["origin"]) for r in pending] == [
        ("the cat is called Miso", journal.stem, "model"),
        ("tabs over spaces", journal.stem, "model"),
        ("the parser is half done", journal.stem, "model"),
    ]
    listed = world.aish("memory", "pending")
    assert "the cat is called Miso" in listed.out
    assert journal.stem in listed.out


@pytest.mark.proves("M51")
@pytest.mark.parametrize("answer", ["", "Nothing.", "!gone", "word " * 1000])
def test_a_failing_summariser_does_not_stop_the_shell_from_ending(world: World, answer: str) -> None:
    """The exit code is that of the last question."""
    world.script("A1", answer, extra="[memory]\nsummarize_on_quit = true")

    ran = world.aish("--lines", given="q1\n")

    assert (ran.code, ran.out) == (0, "A1\n")
    assert records(world, "memory.pending.jsonl") == []
    assert "Traceback" not in ran.err


@pytest.mark.proves("M51")
def test_a_script_can_learn_from_the_newest_conversation(world: World) -> None:
    """Without a user to ask, the items are pending; a second run finds nothing new."""
    world.script("A1")
    world.aish("q1")
    world.script(FOUND)

    first = world.aish("memory", "summarize", "--json")
    again = world.aish("memory", "summarize", "--json")

    assert (first.code, json.loads(first.out)) == (0, {"pending": 3})
    assert json.loads(again.out) == {"pending": 0}
    assert records(world) == []
    assert len(records(world, "memory.pending.jsonl")) == 3


def stuck(arrived: threading.Event) -> Callable[[Asked], Say]:
    """An answer that starts and never ends; it signals when it was requested."""
    start = json.dumps({"choices": [{"delta": {"content": "fact: the cat"}}]})

    def answer(_: Asked) -> Say:
        arrived.set()
        return Say(pieces=[f"data: {start}\n\n".encode(), b": never sent\n\n"], hold=threading.Event())

    return answer


@pytest.mark.proves("M51", "N24")
def test_ctrl_c_stops_the_summariser_and_leaves(world: World) -> None:
    """In the shell it returns to the prompt; at quit it exits at once. Nothing is written."""
    typed, quitting = threading.Event(), threading.Event()
    with FakeServer(sse("A1"), stuck(typed), stuck(quitting)) as server:
        world.configure(
            f'model = "srv"\n[memory]\nsummarize_on_quit = true\n[tokenize]\nuse_endpoint = "false"\n'
            f'[models.srv]\nendpoint = "{server.url}"\n'
        )
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter("q1")
            terminal.wait("A1", "aish>")
            terminal.enter(":memory summarize")
            assert typed.wait(10)
            terminal.type(CTRL_C)
            terminal.wait_for("[aish] stopped; the part that was shown is kept")
            terminal.wait_times(b"\x1b[?2004h", 3)
            terminal.type(CTRL_D)
            assert quitting.wait(10)
            terminal.wait_for("looking for facts worth keeping")
            terminal.type(CTRL_C)
            assert terminal.code() == 0
    assert records(world) == []
    assert records(world, "memory.pending.jsonl") == []


@pytest.mark.proves("M48", "N24")
def test_ctrl_c_at_a_question_keeps_the_accepted_items(world: World) -> None:
    """Each accepted item is written at once."""
    world.script("A1", FOUND)
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("q1")
        terminal.wait("A1", "aish>")
        terminal.enter(":memory summarize")
        terminal.wait_for("fact: the cat is called Miso")
        terminal.enter("y")
        terminal.wait_for("pref: tabs over spaces")
        terminal.type(CTRL_C)
        terminal.wait_for("[aish] stopped; the part that was shown is kept")
        terminal.wait_times(b"\x1b[?2004h", 3)
        terminal.type(CTRL_D)
        assert terminal.code() == 0
    assert contents(world) == ["the cat is called Miso"]
