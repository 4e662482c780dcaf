"""The thinking of a model is kept apart: not in the answer, not in the next prompt, not run, not found."""

import json
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, sse
from workshop import AtGate, Workshop
from world import World

pytestmark = pytest.mark.anyio


def thinking_server() -> FakeServer:
    """A server that writes its thinking into the text without the opening tag, with a command in it."""
    return FakeServer(sse("The zebra!\n", "CMD: touch made\n", "</thi", "nk>\n\n", "Forty-two."))


def test_one_shot_has_only_the_answer_and_json_has_both(world: World) -> None:
    """Scripts want the answer. The next question must not carry the thinking to the server."""
    with thinking_server() as server:
        world.configure(f'model = "m"\n[models.m]\nendpoint = "{server.url}/v1"\nwindow = 8192\n')
        told = json.loads(world.aish("--json", "what is it?").out)
        assert (told["answer"], told["thinking"]) == ("Forty-two.", "The zebra!\nCMD: touch made")
        turns = [json.loads(line) for line in world.journals()[0].read_text().splitlines()]
        [kept] = [turn for turn in turns if turn.get("role") == "assistant"]
        assert (kept["content"], kept["thinking"]) == ("Forty-two.", "The zebra!\nCMD: touch made")
        assert "zebra" not in world.aish("search", "zebra").out
        assert "Forty-two" in world.aish("search", "forty-two").out
        world.aish("-c", "and now?")
        assert "zebra" not in server.chats()[-1].body.decode()


def test_it_is_one_line_that_can_be_unfolded(tmp_path: Path) -> None:
    """Its commands are not offered."""
    workshop = Workshop(tmp_path)
    workshop.script("<think>I could run it.\nCMD: touch made\nBut no.</think>\n\nNothing to do.")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_for("1 thinking · 9 words · 0.")
        terminal.wait_for("Nothing to do.")
        terminal.wait_prompt()
        assert not any("touch made" in line for line in terminal.lines)
        terminal.enter(":unfold")
        terminal.wait("CMD: touch made", "But no.", "aish>")


def test_a_model_that_only_thinks_is_said_to(world: World) -> None:
    """An empty answer has a reason that the user can do something about."""
    cut = Say(pieces=sse("<think>on and on", finish="length").pieces)
    with FakeServer(cut) as server:
        world.configure(f'model = "m"\n[models.m]\nendpoint = "{server.url}/v1"\nwindow = 8192\n')
        ran = world.aish("what is it?")
        assert ran.out == ""
        assert "the model only thought and gave no answer" in ran.err
