"""What the user types while the model works: it is queued, given to the model, or kept for the prompt."""

import json
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, sse
from terminal import CTRL_C, CTRL_D, ENTER
from workshop import KEY, AtGate, Workshop
from world import World

pytestmark = pytest.mark.proves("P3", "N22")
SLOW = "one two three four five six seven eight nine ten"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def slow(world: World, *answers: str, pause: float = 0.25) -> None:
    """A model that takes its time between two words."""
    model = f'[models.script]\nkind = "scripted"\npause = {pause}\nanswers = {json.dumps(answers)}\n'
    world.configure(f'model = "script"\n{model}')


def questions(world: World) -> list[str]:
    lines = [line for journal in world.journals() for line in journal.read_bytes().splitlines()]
    return [record["content"] for record in map(json.loads, lines) if record.get("role") == "user"]


def test_finished_lines_are_queued_shown_and_sent_in_order(workshop: Workshop) -> None:
    """A question and a shell command, each routed as if it were typed at the prompt."""
    slow(workshop, SLOW, "Second.")
    with AtGate(workshop) as terminal:
        terminal.ask("what is the first?")
        terminal.wait_for("two")
        terminal.enter("what is the second?")
        terminal.wait_for("[aish] queued: what is the second?")
        terminal.enter("echo from-$((40 + 2))")
        terminal.wait_for("[aish] queued: echo from")
        terminal.wait_for("ten")
        terminal.wait_for("Second.")
        terminal.wait("aish> echo from-$((40 + 2))", "from-42", "aish>")
    assert [text.splitlines()[-1] for text in questions(workshop)] == ["what is the first?", "what is the second?"]


def test_an_unfinished_line_is_in_the_next_prompt(workshop: Workshop) -> None:
    """Corrected with the usual keys."""
    slow(workshop, SLOW)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.type("echo wrong\x17righx\x7ft")
        terminal.wait_for("ten")
        terminal.wait("aish> echo right")
        terminal.type(ENTER)
        terminal.wait("right", "aish>")


def test_what_is_typed_shows_in_the_status_line_while_nothing_streams(workshop: Workshop) -> None:
    """Blind typing is no typing."""
    slow(workshop, "late", pause=2.5)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("… 1 s")
        terminal.type("my next thought")
        terminal.wait_for("› my next thought")
        terminal.wait("late", "aish> my next thought")


def test_ctrl_c_sends_nothing_and_gives_the_lines_back(workshop: Workshop) -> None:
    """Who presses Ctrl-C does not want more to happen: each line needs its own Enter."""
    slow(workshop, SLOW)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.enter("echo >first")
        terminal.enter("echo >second")
        terminal.wait_for("queued: echo >second")
        terminal.type(CTRL_C)
        terminal.wait_for("[aish] 2 lines were not sent")
        terminal.wait("aish> echo >first")
        assert workshop.files() == set()
        terminal.type(ENTER)
        terminal.wait("aish> echo >second")
        terminal.enter("\x15:queue")
        terminal.wait("nothing is queued", "aish>")
    assert workshop.files() == {"first"}


def test_the_queue_can_be_listed_and_cleared_while_it_works(workshop: Workshop) -> None:
    """`:queue` acts at once, also shortened."""
    slow(workshop, SLOW)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.enter("echo >made")
        terminal.enter(":que clear")
        terminal.wait_for("[aish] the queue is empty")
        terminal.wait_for("ten")
        terminal.wait_prompt()
    assert workshop.files() == set()


def test_ctrl_d_leaves_after_the_answer_and_not_in_the_middle(workshop: Workshop) -> None:
    """The answer is complete in the journal."""
    slow(workshop, SLOW)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.type(CTRL_D)
        assert terminal.code() == 0
    assert '"interrupted"' not in workshop.journals()[0].read_text()
    assert "nine ten" in workshop.journals()[0].read_text()


def test_a_paste_is_one_line_of_the_queue(workshop: Workshop) -> None:
    """Not several lines that run one after the other, and nothing before Enter."""
    slow(workshop, SLOW)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.type("\x1b[200~echo a >>made\recho b >>made\r\x1b[201~")
        terminal.watch(0.3)
        assert b"queued" not in terminal.raw
        terminal.type(ENTER)
        terminal.wait_for("[aish] queued: echo a >>made echo b >>made (2 lines)")
        terminal.wait_for("ten")
        terminal.wait_prompt()
    assert (workshop.directory / "made").read_text() == "a\nb\n"


def test_what_the_terminal_sends_is_neither_a_line_nor_steering(workshop: Workshop) -> None:
    """Answers to queries, mouse and focus events, titles with line ends in them: all come in sequences."""
    sent = "\x1b[?62;22c\x1b[24;80R\x1b[I\x1b[O\x1b[<0;3;4M\x1b]l:steer x\rtouch made\r\x1b\\\x1bP1$rtouch made\r\x1b\\"
    slow(workshop, SLOW)
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.type(sent)
        terminal.wait_for("ten")
        terminal.wait_prompt()
        assert b"queued" not in terminal.raw and b"for the model" not in terminal.raw
    assert workshop.files() == set() and questions(workshop) == ["what now?"]


def test_a_line_typed_before_a_question_does_not_answer_it(workshop: Workshop) -> None:
    """It is queued, and the question waits for a key that is pressed after it."""
    slow(workshop, "one two three four\n\nCMD: touch made")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.enter("r")
        terminal.type("r")
        terminal.wait_times(KEY, 1)
        terminal.watch(0.3)
        assert workshop.files() == set()
        terminal.type("s")
        terminal.wait_for("skipped")
    assert workshop.files() == set()


def test_steering_goes_with_the_output_of_the_commands(workshop: Workshop) -> None:
    """As the user's words, in the message after the output."""
    slow(workshop, "one two three four\n\nCMD: echo seen", "Understood.")
    with AtGate(workshop, AISH_SET_COMMANDS__ROUNDS="3") as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.enter(":steer only in English, please")
        terminal.wait_for("[aish] for the model, with its next request: only in English, please")
        terminal.wait_for("[aish] given to the model: only in English, please")
        terminal.wait_for("Understood.")
        terminal.wait_prompt()
    second = questions(workshop)[1]
    assert "$ echo seen\nseen" in second and second.endswith("\n\nonly in English, please")
    records = [json.loads(line) for line in workshop.journals()[0].read_bytes().splitlines()]
    assert [record["typed"] for record in records if "typed" in record] == [1], "its last line is the user's"


def test_steering_that_comes_too_late_is_the_next_message_and_that_is_said(workshop: Workshop) -> None:
    """It is asked, even if it looks like a command."""
    slow(workshop, SLOW, "Yes.")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("two")
        terminal.enter(":steer ls")
        terminal.wait_for("this is the next message: ls")
        terminal.wait("aish> ? ls", "Yes.", "aish>")
    assert questions(workshop)[-1] == "ls"


def test_steer_at_the_prompt_says_what_it_is_for(workshop: Workshop) -> None:
    """Nothing is running there."""
    slow(workshop)
    with AtGate(workshop) as terminal:
        terminal.enter(":steer left")
        terminal.wait_for("nothing is running: :steer is for while the model works")


CALL = {"index": 0, "id": "c1", "function": {"name": "run_command", "arguments": '{"command": "sleep 2; echo done"}'}}
CHUNK = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]})
CALLS = Say(pieces=[f"data: {CHUNK}\n\n".encode(), b"data: [DONE]\n\n"])


@pytest.mark.parametrize("tool_role", [True, False])
def test_steering_in_a_tool_loop_is_a_user_turn_after_the_results(workshop: Workshop, tool_role: bool) -> None:
    """Well-formed for strict servers: no result without its call, and no two messages of one plain role."""
    answers = [CALLS, sse("Understood.")]
    with FakeServer(paths={"/v1/chat/completions": lambda asked: answers.pop(0)}) as server:
        role = "true" if tool_role else "false"
        workshop.configure(
            f'model = "m"\n[commands]\ntool = true\n[models.m]\nendpoint = "{server.url}/v1"\nmodel = "x"\n'
            f"use_tool_role = {role}\n"
        )
        with AtGate(workshop) as terminal:
            terminal.ask()
            terminal.wait_for("… sleep 2")
            terminal.enter(":steer say it briefly")
            terminal.wait_for("[aish] given to the model: say it briefly")
            terminal.wait_for("Understood.")
            terminal.wait_prompt()
        messages = server.chats()[-1].json["messages"]
    roles = [message["role"] for message in messages]
    assert roles == ["system", "user", "assistant", *(["tool", "assistant"] if tool_role else []), "user"]
    assert messages[-1]["content"] == "say it briefly"


@pytest.mark.proves("S47")
def test_a_sub_agent_is_listed_and_stopped_while_it_works(workshop: Workshop) -> None:
    """A line in the queue would come too late for that."""
    task = json.dumps({"agent": "helper", "task": "count slowly"})
    slow(workshop, f"TOOL: delegate {task}", SLOW, "It was stopped, I see.", pause=0.5)
    with AtGate(workshop, AISH_SET_AGENTS__TOOL="true") as terminal:
        terminal.ask()
        terminal.wait_for("agent helper: works on: count slowly")
        terminal.enter(":agents")
        terminal.wait_for("running")
        terminal.enter(":agents stop 1")
        terminal.wait_for("stopped: helper")
        terminal.wait_for("It was stopped, I see.")
        terminal.wait_prompt()
