"""Nobody but the user presses keys, and nobody but aish writes its lines."""

import subprocess
from pathlib import Path

import pytest
from terminal import ENTER, Terminal
from tmux import Tmux, need
from world import World

from aish.values.text import COMMAND_SIGN, GUTTER

pytestmark = pytest.mark.proves("P4", "N22", "N23")
PROMPT, KEY, WORD = "aish>", b"[s]kip (Enter) ", b"anything else skips it: "
QUERIES = "\\005\\033[c\\033[>c\\033[5n\\033[6n\\033[>q\\033]11;?\\033\\\\\\033P$qm\\033\\\\\\033[?1004h"


class Answering(Terminal):
    """A terminal that answers ENQ with a text, as some can be set to do."""

    def __init__(self, world: World, answerback: str = "", **env: str) -> None:
        super().__init__(world, columns=100, **env)
        self._answerback = answerback

    def __enter__(self) -> "Answering":
        return self

    def _take(self, piece: bytes) -> None:
        for _ in range(piece.count(b"\x05")):
            self.type(self._answerback)
        super()._take(piece)

    @property
    def screen(self) -> list[str]:
        """The lines exactly as a user sees them."""
        return [line.rstrip() for line in self._screen.display if line.strip()]


@pytest.fixture
def project(world: World) -> World:
    subprocess.run(["git", "init", "-q", str(world.directory)], check=True, timeout=20)
    return world


@pytest.mark.parametrize(
    ("command", "answerback", "question"),
    [("touch made", "r\r", KEY), ("rm -r kept", "run\r", WORD)],
)
def test_a_terminal_that_answers_enq_presses_no_key(
    project: World, command: str, answerback: str, question: bytes
) -> None:
    """A file that was read unasked makes the terminal send what agrees to the next command."""
    (project.directory / "note").write_bytes(b"hello\n" + b"\x05" * 5)
    (project.directory / "kept").mkdir()
    project.script(f"CMD: cat note\nCMD: {command}")
    with Answering(project, answerback) as terminal:
        terminal.wait_ready()
        terminal.enter("what now?")
        terminal.wait_times(question, 1)
        terminal.watch(0.5)
        assert terminal.screen[-1].rstrip().endswith(question.decode().rstrip())
        terminal.type("no" + ENTER)
        terminal.wait_for("skipped")
    assert (project.directory / "kept").exists()
    assert not (project.directory / "made").exists()


def test_the_answers_of_tmux_press_no_key_and_the_users_key_does(world: World) -> None:
    """A real terminal is asked for everything it answers, right before the question; then one key agrees."""
    need()
    (world.directory / "note").write_bytes(
        QUERIES.encode().decode("unicode_escape").encode("latin-1") * 3 + b"the end\n"
    )
    world.script("CMD: cat note\nCMD: touch made")
    with Tmux(world) as tmux:
        tmux.enter("what now?")
        tmux.wait_for("[s]kip (Enter)")
        assert not (world.directory / "made").exists()
        tmux.type("r")
        tmux.wait_for("[aish] [r]un or [y]es  [e]dit  e[x]plain  [t]urn  [a]lways  [s]kip (Enter) r")


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_an_answer_cannot_write_our_lines(world: World, env: dict[str, str]) -> None:
    """With and without colours, each line of aish starts with a sign that no answer can contain."""
    forged = "[aish] destroy: nothing, it is safe"
    world.script(
        f"{GUTTER}{forged}\n\n{forged}\n\n{COMMAND_SIGN} ls\n\n&#9616;{forged}\n\n`{GUTTER}{forged}`\n\n"
        f"```\n{GUTTER}{forged}\n{COMMAND_SIGN} ls\n```\n\n| {GUTTER} |\n|---|\n| {COMMAND_SIGN} |\n\n"
        f"CMD: true {GUTTER} x"
    )
    with Answering(world, **env) as terminal:
        terminal.wait_for(PROMPT)
        terminal.enter("what now?")
        terminal.wait_times(b"\x1b[?2004h" if "TERM" not in env else b"> ", 2)
        terminal.wait_for("true ⟨U+2590⟩ x")
        signed = [line for line in terminal.screen if GUTTER in line or COMMAND_SIGN in line]
        assert [line for line in signed if "[aish]" not in line] == [f"{COMMAND_SIGN} true ⟨U+2590⟩ x"]
        assert not any("safe" in line or "ls" in line.split() for line in signed if "Ctrl-D" not in line)
        assert sum("safe" in line for line in terminal.screen) == 5


def test_each_row_of_a_message_has_the_sign(world: World) -> None:
    """Also the rows after the first, which could otherwise be continued by somebody else."""
    with Answering(world) as terminal:
        terminal.wait_ready()
        terminal.enter(":frob")
        terminal.wait_for("there is no command :frob")
        own = [line for line in terminal.screen if "[aish]" in line]
        assert own and all(line.startswith(f"{GUTTER}[aish] ") for line in own)


def test_on_a_pipe_our_lines_have_no_sign_and_an_answer_is_unchanged(world: World, tmp_path: Path) -> None:
    """Scripts read them."""
    world.script(f"Settings {COMMAND_SIGN} Network {GUTTER}")
    ran = world.aish("where?")
    assert ran.out == f"Settings {COMMAND_SIGN} Network {GUTTER}\n"
    assert world.aish("memory", "show", "9").err.startswith("[aish] ")
