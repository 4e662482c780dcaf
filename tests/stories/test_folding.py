"""What the model does by itself is one line on the screen, and can be unfolded."""

import json
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, sse
from workshop import KEY, AtGate, Workshop

pytestmark = pytest.mark.proves("P4", "N22")
NUMBERS = "\n".join(str(number) for number in range(1, 41))


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    workshop = Workshop(tmp_path)
    (workshop.directory / "numbers").write_text(f"{NUMBERS}\n", encoding="utf-8")
    return workshop


def test_long_output_is_one_line_that_can_be_unfolded(workshop: Workshop) -> None:
    """Number, command, size and time; the output comes when it is wanted."""
    workshop.script("CMD: cat numbers\nCMD: echo short")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for(" 1 cat numbers · 40 lines · 0.")
        terminal.wait("▸ echo short", "short", "aish>")
        assert "17" not in terminal.lines
        terminal.enter(":steps")
        terminal.wait_for("2 echo short · 1 line · 0.")
        terminal.wait_prompt()
        terminal.enter(":unfold 1")
        terminal.wait("38", "39", "40", "aish>")
        terminal.enter(":unfold 7")
        terminal.wait("there is no step 7; :steps lists them", "aish>")


def test_the_setting_shows_everything(workshop: Workshop) -> None:
    """As it comes."""
    workshop.script("CMD: cat numbers")
    with AtGate(workshop, AISH_SET_COMMANDS__FOLD="false") as terminal:
        terminal.ask()
        terminal.wait("39", "40", "aish>")


def test_the_line_says_that_it_failed_once(workshop: Workshop) -> None:
    """A message of its own would say it twice."""
    workshop.script("CMD: cat numbers missing")
    with AtGate(workshop, AISH_SET_COMMANDS__ROUNDS="1") as terminal:
        terminal.ask()
        terminal.wait_for(" 1 cat numbers missing · 41 lines · exit status 1 · 0.")
        terminal.wait_prompt()
        assert "\n".join(terminal.lines).count("exit status 1") == 1


def test_a_command_that_the_user_allowed_stays_live(workshop: Workshop) -> None:
    """It may ask for input."""
    workshop.script("CMD: cat numbers >copy; cat copy; read -r name; echo hello $name")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("aish] ")
        if KEY in terminal.raw:
            terminal.type("r")
        else:
            terminal.wait_question()
            terminal.say_yes()
        terminal.wait_for("40")
        terminal.enter("you")
        terminal.wait_for("hello you")


def test_what_is_unfolded_cannot_control_the_terminal(workshop: Workshop) -> None:
    """Nor write a line of aish."""
    (workshop.directory / "bad").write_bytes(b"\x1b]0;title\x07\x1b[2J\xe2\x96\x90[aish] trust me\n" * 9)
    workshop.script("CMD: cat bad")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for(" 1 cat bad · 9 lines")
        terminal.enter(":unfold")
        terminal.wait_for("|[aish] trust me")
        assert b"]0;title" not in terminal.raw and "▐[aish] trust".encode() not in terminal.raw


def test_a_call_of_a_tool_is_one_line(workshop: Workshop) -> None:
    """The user sees what is read."""
    call = {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": '{"path": "numbers"}'}}
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    answers = [Say(pieces=[f"data: {chunk}\n\n".encode(), b"data: [DONE]\n\n"]), sse("Forty.")]
    with FakeServer(paths={"/v1/chat/completions": lambda asked: answers.pop(0)}) as server:
        workshop.configure(f'model = "m"\n[models.m]\nendpoint = "{server.url}/v1"\nmodel = "x"\n')
        with AtGate(workshop, AISH_SET_COMMANDS__FILE_TOOLS="true") as terminal:
            terminal.ask()
            terminal.wait_for(" 1 read_file numbers · 40 lines")
            terminal.wait_for("Forty.")
            terminal.wait_prompt()
            terminal.enter(":unfold")
            terminal.wait_for("40")
