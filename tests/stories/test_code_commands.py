"""Stories about :copy, :run and :edit, for the code blocks of the last answer."""

import base64
import re
from pathlib import Path

import pytest
from terminal import ENTER
from workshop import KEY, WORD, AtGate, Workshop
from world import World

ANSWER = "Two ways:\n\n```sh\ntouch one\n```\n\nor\n\n```python\nprint('two')\n```\n"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def copied(raw: bytes) -> list[str]:
    """What the terminal was asked to copy."""
    return [base64.b64decode(found).decode() for found in re.findall(rb"\x1b\]52;c;([^\x07]*)\x07", raw)]


def test_copy_asks_the_terminal_to_copy_exactly_the_block(workshop: Workshop) -> None:
    """The last block by default, one by its number, or everything."""
    workshop.script(ANSWER)
    with AtGate(workshop, DISPLAY="", WAYLAND_DISPLAY="") as terminal:
        terminal.ask()
        terminal.wait_prompt()
        terminal.enter(":copy")
        terminal.wait_for("copied block 2 of 2 (1 line) with the terminal")
        terminal.enter(":copy 1")
        terminal.wait_for("copied block 1 of 2 (1 line) with the terminal")
        terminal.enter(":copy all")
        terminal.wait_for("copied the answer (11 lines) with the terminal")
        terminal.wait_prompt()
    assert copied(terminal.raw) == ["print('two')", "touch one", ANSWER.rstrip("\n")]


@pytest.mark.proves("P4", "X5")
def test_run_goes_through_the_gate_and_its_output_goes_to_the_model(workshop: Workshop) -> None:
    """A block is a text of the model, whoever asks for it: no key, no change."""
    workshop.script(ANSWER, "```console\n$ rm keep\n$ ls\n```")
    (workshop.directory / "keep").write_text("x", encoding="utf-8")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_prompt()
        terminal.enter(":run")
        terminal.wait_for("block 2 is python, not shell code; :copy 2 copies it")
        terminal.wait_prompt()
        terminal.enter(":run 1")
        terminal.wait_times(KEY, 1)
        terminal.type("s")
        terminal.wait_prompt()
        assert workshop.files() == {"keep"}
        terminal.enter(":run 1")
        terminal.wait_times(KEY, 2)
        terminal.type("r")
        terminal.wait_prompt()
        assert workshop.files() == {"keep", "one"}

        terminal.ask("more?")
        terminal.wait_prompt()
        terminal.enter(":run")
        terminal.wait_times(WORD, 1)
        shown = "\n".join(terminal.lines[-6:])
        assert re.search(r"▸ rm keep\n.*\bls\n", shown), shown
        terminal.type(ENTER)
        terminal.wait_prompt()
        assert workshop.files() == {"keep", "one"}
    said = b"".join(path.read_bytes() for path in workshop.journals())
    assert b"(proposed by the model)\\n$ touch one" in said


def test_edit_runs_what_the_user_made_of_it(workshop: Workshop) -> None:
    """The edited text is judged and shown, not the one before."""
    workshop.script("```sh\ntouch one\n```")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_prompt()
        terminal.enter(":edit")
        terminal.wait_for("touch one")
        terminal.type("2" + ENTER)
        terminal.wait_times(KEY, 1)
        assert terminal.offered[-1] == "touch one2"
        terminal.type("r")
        terminal.wait_prompt()
        assert workshop.files() == {"one2"}


def test_what_cannot_be_done_is_said(world: World) -> None:
    """Without an answer, without such a block, without a terminal."""
    world.script("no code", "```sh\nls\n```")

    ran = world.aish("--lines", given=":copy\nq1\n:run\nq2\n:run 5\n:run x\n:run\n", PATH="/bin:/usr/bin")

    assert ran.err.splitlines() == [
        "[aish] there is no answer yet in this conversation",
        "[aish] the last answer has no code block",
        "[aish] expected the number of a block, got '5'; the last answer has 1 code block",
        "[aish] expected the number of a block, got 'x'; the last answer has 1 code block",
        "[aish] commands of a model run at a terminal only",
    ]
