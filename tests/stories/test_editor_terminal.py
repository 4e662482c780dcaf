"""The line editor on a terminal: what the user sees while typing, and what the shell gets."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest
from terminal import CTRL_C, CTRL_D, ENTER, SECONDS, Display, Terminal, hasty

ALT_ENTER, UP, LEFT, RIGHT, CTRL_R, CTRL_L, ESCAPE = "\x1b\r", "\x1b[A", "\x1b[D", "\x1b[C", "\x12", "\x0c", "\x1b"
CTRL_G, CTRL_U, TO_EDITOR = "\x07", "\x15", "\x18\x05"

# A shell that prints each line it gets, with its own rule for the kind of a line.
PROGRAM = """
import asyncio, os, sys, time
from pathlib import Path
from aish.memory.command_history.loading import Sources
from aish.memory.command_history.typed_lines import TypedLines
from aish.views.command_history import CommandHistory
from aish.views.editor import ShellSuggestions
from aish.views.line_editor import LineEditor, Look
from aish.views.prompt import PromptFacts, fill
from aish.views.themes import theme

NAMES = ["list", "lift", "echo", "cat"]

def route(line):
    first = line.split()[0].lstrip("!")
    if first == "crash":
        raise ValueError
    kinds = {"make": "ask", "frobnicate": "command", **dict.fromkeys(NAMES, "command")}
    return ("colon" if line.startswith(":") else kinds.get(first, "question")), "both make sense"

def options(words, directory):
    return ["--all", "--almost"] if words[0] == "list" and words[-1].startswith("-") else []

colors = "NO_COLOR" not in os.environ
shell = ShellSuggestions(lambda: NAMES, os.getcwd, options)
typed = TypedLines(Path("typed"), lambda line: line.replace("hunter2", "***"))
def before():
    while Path("slow").exists():
        time.sleep(0.01)
    return ["what is a monad", "echo from before"]

editor = LineEditor(
    CommandHistory(None, typed, lambda: Sources(None, typed, tuple, before)),
    lambda text: [("help", len(text) - 1, "explain")] if text.startswith(":") else shell(text),
    vi="vi" in sys.argv,
    route=route,
    look=Look(theme(colors=colors), colors=colors, unicode="ascii" not in sys.argv, known=NAMES.__contains__),
)
with asyncio.Runner() as runner:
    while True:
        try:
            print(f"got {editor.read(runner, fill('aish{sign} ', PromptFacts()))!r}")
        except KeyboardInterrupt:
            print("cleared")
        except EOFError:
            break
print("left")
"""


class Stage(Terminal):
    """A terminal that runs this shell in a directory."""

    def __init__(self, place: Path, *arguments: str, columns: int = 80, **env: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "VISUAL")}
        child: Any = pexpect.spawn(
            sys.executable,
            ["-c", PROGRAM, *arguments],
            env=environment | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"} | env,
            cwd=str(place),
            dimensions=(24, columns),
            timeout=SECONDS,
        )
        self._child = hasty(child)
        self._screen = Display(columns, 24, self._child.send)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.wait_ready()

    def __enter__(self) -> "Stage":
        return self

    def color_of(self, text: str) -> str:
        """Return the colour of the first letter of `text` on the screen."""
        row, line = next((row, line) for row, line in enumerate(self._screen.display) if text in line)
        return str(self._screen.buffer[row][line.index(text)].fg)

    def resize(self, columns: int) -> None:
        self._screen.resize(24, columns)
        self._child.setwinsize(24, columns)


@pytest.mark.proves("P1", "P12")
def test_a_sign_and_colours_show_what_a_line_is_while_it_is_typed(tmp_path: Path) -> None:
    """The user sees before Enter whether it will be run or asked; the reason is shown only in case of doubt."""
    with Stage(tmp_path) as stage:
        stage.wait("aish>")
        stage.type("list -l | frobnicate")
        stage.wait("aish$ list -l | frobnicate")
        assert (stage.color_of("list"), stage.color_of("-l"), stage.color_of("frob")) == ("green", "default", "red")
        stage.type(CTRL_U + "what is it")
        stage.wait("aish? what is it")
        stage.type(CTRL_U + "make x")
        stage.wait("aish⁇ make x", "both make sense")
        stage.type(CTRL_U + ":he")
        stage.wait("aish: :he")
        stage.type(CTRL_U)
        stage.wait("aish>")


@pytest.mark.proves("P12")
def test_no_color_means_none_and_ascii_is_enough(tmp_path: Path) -> None:
    """The signs are enough; bold and underlined text are allowed."""
    with Stage(tmp_path, "ascii", NO_COLOR="1") as stage:
        stage.type("list | frobnicate")
        stage.wait("aish$ list | frobnicate")
        stage.type(CTRL_U + "make x")
        stage.wait("aish?? make x", "both make sense")
        stage.type(CTRL_U + "list --\t")
        stage.wait_for("--almost")
        codes = b";".join(re.findall(rb"\x1b\[([\d;]*)m", stage.raw)).split(b";")
        assert set(codes) <= {b"", b"0", b"1", b"2", b"4", b"7"}, codes


@pytest.mark.proves("P12")
def test_tab_completes_commands_options_and_files_also_inside_a_line(tmp_path: Path) -> None:
    """One candidate is inserted, several are listed, and Enter right after Tab sends the completed line."""
    (tmp_path / "my notes.txt").touch()
    with Stage(tmp_path) as stage:
        stage.type("ec\t")
        stage.wait("aish$ echo from before")  # the rest is suggested
        stage.enter("my\t")
        stage.wait("aish$ echo my\\ notes.txt", "got 'echo my\\\\ notes.txt '", "aish>")
        stage.type("list --\t")
        stage.wait_for("--almost")
        stage.type("\t\t" + ENTER)
        stage.wait("aish$ list --almost")
        stage.type(CTRL_U + "cat  end" + LEFT * 4 + "my\t")
        stage.wait("aish$ cat my\\ notes.txt end")
        stage.enter("")
        stage.enter(":h\t")
        stage.wait("aish: :help", "got ':help'", "aish>")
        assert not any(line.startswith("got 'list") for line in stage.lines), "to choose is not yet to run"


@pytest.mark.proves("P12")
def test_history_is_searched_suggested_and_walked_by_prefix(tmp_path: Path) -> None:
    """Lines typed here come first, then questions of past conversations."""
    (tmp_path / "typed").write_text("\n# x\n+list one\n\n# x\n+echo two\n", encoding="utf-8")
    with Stage(tmp_path) as stage:
        stage.type(CTRL_R + "mon")
        stage.wait_for("history: mon")
        stage.wait_for("> what is a monad")  # earlier questions load in the background
        stage.type("\t")
        stage.wait("aish? what is a monad")
        stage.enter("")
        stage.wait("got 'what is a monad'", "aish>")
        stage.type("li")
        stage.wait("aish? list one")
        stage.type(RIGHT + ENTER)
        stage.wait("got 'list one'", "aish>")
        stage.type("echo" + UP + UP)
        stage.wait("aish$ echo from before")


@pytest.mark.proves("P12")
def test_a_search_that_begins_while_history_loads_finds_what_is_loaded_later(tmp_path: Path) -> None:
    """The words are searched again in everything, not only in what they had found."""
    slow = tmp_path / "slow"
    slow.touch()
    with Stage(tmp_path) as stage:
        stage.type(CTRL_R + "mo")
        stage.wait_for("nothing found")
        stage.wait_for(", loading")
        slow.unlink()
        stage.wait_for("> what is a monad")
        stage.type("n")
        stage.wait_for("history: mon")
        stage.wait_for("> what is a monad")


@pytest.mark.proves("P12")
def test_enter_adds_a_line_where_a_command_is_not_whole(tmp_path: Path) -> None:
    """That is in quotes, here-documents and blocks and after a backslash; a question may have an apostrophe."""
    with Stage(tmp_path) as stage:
        for first, rest in (("echo 'a", "b'"), ("cat <<X", "X"), ("echo a \\", "b"), ("echo a |", "cat")):
            stage.enter(first)
            stage.wait(f"aish$ {first}", ">")
            stage.enter(rest)
            whole = f"{first}\n{rest}"
            stage.wait(f"got {whole!r}", "aish>")
        stage.enter("what's that")
        stage.wait("aish? what's that", 'got "what\'s that"', "aish>")
        stage.type("why" + ALT_ENTER + "not")
        stage.wait("aish? why", "> not")
        stage.enter("")
        stage.wait("got 'why\\nnot'", "aish>")


@pytest.mark.proves("P12")
def test_a_paste_of_many_lines_is_text_and_runs_nothing(tmp_path: Path) -> None:
    """The user sees all of it before it runs."""
    with Stage(tmp_path) as stage:
        stage.type("\x1b[200~echo 1\r\necho 2\recho 3\n\x1b[201~")
        stage.wait("aish$ echo 1", "> echo 2", "> echo 3")
        stage.enter("")
        stage.wait("got 'echo 1\\necho 2\\necho 3'", "aish>")


@pytest.mark.proves("P12")
def test_the_line_can_be_written_in_the_users_editor(tmp_path: Path) -> None:
    """The edited text is shown before it runs, with emacs keys and with vi keys."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s and more" "$(cat "$1")" > "$1.new"; mv "$1.new" "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    for mode in ("emacs", "vi"):
        with Stage(tmp_path, mode, EDITOR=str(editor)) as stage:
            stage.type("echo this" + TO_EDITOR)
            stage.wait("aish$ echo this and more")
            stage.enter("")
            stage.wait("got 'echo this and more'", "aish>")


@pytest.mark.proves("P12")
def test_vi_keys_move_and_change(tmp_path: Path) -> None:
    """Escape ends insert mode, and letters become commands."""
    with Stage(tmp_path, "vi") as stage:
        stage.type("what is this" + ESCAPE + "0dwi" + "who ")
        stage.wait("aish? who is this")
        stage.type(ESCAPE + "$x" + ENTER)
        stage.wait("got 'who is thi'", "aish>")


@pytest.mark.proves("P12")
def test_ctrl_c_clears_ctrl_l_wipes_and_ctrl_d_leaves_only_an_empty_line(tmp_path: Path) -> None:
    """As in any shell."""
    with Stage(tmp_path) as stage:
        stage.type("list")
        stage.wait("aish$ list")
        stage.type(CTRL_C)
        stage.wait("aish$ list", "cleared", "aish>")
        stage.type("list" + CTRL_L)
        stage._until(lambda: stage.lines == ["aish$ list"], "a clean screen")
        stage.type(LEFT + CTRL_D)
        stage.wait("aish? lis")
        stage.type(CTRL_U + CTRL_D)
        stage.wait_for("left")
        assert stage.code() == 0


def test_a_narrow_window_wide_letters_and_right_to_left_all_fit(tmp_path: Path) -> None:
    """Twenty columns wrap, a resize redraws, and the shell gets every letter."""
    line = "הסבר לי 日本語 تشرح é 😀 in words"
    with Stage(tmp_path, columns=20) as stage:
        stage.type("x" * 30)
        stage.wait("aish? " + "x" * 14, "x" * 16)
        stage.resize(60)
        os.kill(stage.pid, signal.SIGWINCH)
        stage.wait("aish? " + "x" * 30)
        stage.type(CTRL_U)
        stage.enter(line)
        stage.wait(f"aish? {line}", f"got {line!r}", "aish>")


@pytest.mark.proves("P12")
def test_a_secret_that_was_typed_is_not_in_the_history_file(tmp_path: Path) -> None:
    """This shell can recall it until it ends; in the file it is masked."""
    with Stage(tmp_path) as stage:
        stage.enter("echo hunter2")
        stage.wait("got 'echo hunter2'", "aish>")
        stage.type(UP)
        stage.wait("aish$ echo hunter2")

    assert "+echo ***\n" in (tmp_path / "typed").read_text(encoding="utf-8")
    assert "hunter2" not in (tmp_path / "typed").read_text(encoding="utf-8")


def test_a_rule_that_fails_does_not_take_the_line_with_it(tmp_path: Path) -> None:
    """The prompt has no sign then, but the shell gets the typed line."""
    with Stage(tmp_path) as stage:
        stage.enter("crash 'it")
        stage.wait("aish> crash 'it", 'got "crash \'it"', "aish>")
