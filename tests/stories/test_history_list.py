"""Ctrl-R on a terminal: the list of commands."""

import json
import time
from pathlib import Path

import pytest
from terminal import ENTER, Terminal
from world import World

CTRL_R, CTRL_D, CTRL_S, CTRL_T, ESCAPE, TAB, DOWN = "\x12", "\x04", "\x13", "\x14", "\x1b", "\t", "\x1b[B"


def ran(world: World, *commands: tuple[str, Path, int, float]) -> None:
    """Write a history: text, directory, status and age in days, oldest first."""
    world.places.data.mkdir(parents=True, exist_ok=True)
    with world.places.commands.open("w", encoding="utf-8") as file:
        for text, directory, status, days in commands:
            ts = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - days * 86_400))
            record = {"ts": ts, "command": text, "directory": str(directory), "status": status, "seconds": 2.5}
            file.write(json.dumps(record) + "\n")


@pytest.fixture
def shell(world: World) -> World:
    world.script("An answer.")
    here = world.directory
    ran(
        world,
        ("echo old one", Path("/"), 0, 30),
        ("echo failing", here, 3, 2),
        ("git checkout main", Path("/srv"), 0, 1.5),
        ("echo newest here", here, 0, 0),
    )
    return world


def chosen(terminal: Terminal) -> str:
    return next((line[2:] for line in terminal.lines if line.startswith("> ")), "")


def test_the_newest_command_is_on_top_with_what_is_known_of_it(shell: World) -> None:
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("4 of 4")
        assert chosen(terminal) == "echo newest here"
        terminal.wait_for("now · ~ · succeeded · 2.5 s")
        terminal.type(DOWN + DOWN)
        terminal.wait_for("2 days ago · ~ · exit status 3 · 2.5 s")
        assert chosen(terminal) == "echo failing"


def test_enter_runs_the_command_that_letters_find(shell: World) -> None:
    """`ehold` is an abbreviation of two words."""
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("4 of 4")
        terminal.type("ecold")
        terminal.wait_for("1 of 4")
        terminal.type(ENTER)
        terminal.wait("aish> echo old one", "old one", "aish>")


def test_tab_puts_the_command_on_the_line_and_escape_leaves_the_line_as_it_was(shell: World) -> None:
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type("echo fail" + CTRL_R)
        terminal.wait_for("1 of 4")
        terminal.type(TAB)
        terminal.wait("aish> echo failing")
        terminal.type("!" + CTRL_R + "zzz")
        terminal.wait_for("nothing found")
        terminal.type(ESCAPE)
        terminal.wait("aish> echo failing!")
        terminal.type("\x15" + CTRL_R)
        terminal.wait_for("4 of 4")
        terminal.type("\x03")  # Ctrl-C closes the list, too
        terminal.wait("aish>")


def test_keys_choose_directory_status_and_time(shell: World) -> None:
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("4 of 4")
        terminal.type(CTRL_D)
        terminal.wait_for("2 of 4")
        terminal.wait_for("this directory")
        terminal.type(CTRL_S)
        terminal.wait_for("1 of 4")
        assert chosen(terminal) == "echo failing"
        terminal.type(CTRL_D + CTRL_S)
        terminal.wait_for("3 of 4")
        terminal.type(CTRL_S + CTRL_T)
        terminal.wait_for("today")
        terminal.wait_for("1 of 4")
        terminal.type(CTRL_T)
        terminal.wait_for("3 of 4")
        terminal.type("echo")
        terminal.wait_for("2 of 4")
        terminal.type(CTRL_T)  # with words, too
        terminal.wait_for("3 of 4")


def test_a_command_of_the_past_runs_although_it_looks_like_a_question(shell: World) -> None:
    ran(shell, ("what is this", Path("/"), 0, 1))
    (shell.directory / ".bashrc").write_text("what() { echo ran $*; }\n", "utf-8")
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("1 of 1")
        terminal.type(ENTER)
        terminal.wait_for("ran is this")


def test_text_of_the_history_cannot_control_the_terminal(shell: World) -> None:
    ran(shell, ("echo \x1b[2J\x07 hidden", Path("/\x1b[31m"), 0, 1))
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("> echo ␛[2J␇ hidden")
        terminal.wait_for("/␛[31m")


def test_a_small_terminal_still_shows_the_list(shell: World) -> None:
    with Terminal(shell, columns=20) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("> echo newest here")


def test_a_command_of_this_shell_is_found_at_once_and_one_that_is_hidden_never(shell: World) -> None:
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.enter("sh -c 'echo fresh; exit 4'")
        terminal.wait_for("asks why it failed")
        terminal.enter(" echo un''seen")
        terminal.wait_for("unseen")
        terminal.type(CTRL_R)
        terminal.wait_for("exit status 4")
        assert chosen(terminal) == "sh -c 'echo fresh; exit 4'"
        terminal.type("seen")
        terminal.wait_for("nothing found")


def test_a_word_of_the_past_runs_and_no_longer_command_that_starts_with_it(shell: World) -> None:
    ran(shell, ("split", Path("/"), 0, 1), ("splitter --remove", Path("/"), 0, 0.5))
    (shell.directory / ".bashrc").write_text(
        "split() { echo the short one; }\nsplitter() { echo the long one; }\n", "utf-8"
    )
    with Terminal(shell) as terminal:
        terminal.wait_ready()
        terminal.type(CTRL_R)
        terminal.wait_for("2 of 2")
        terminal.type(DOWN + ENTER)
        terminal.wait_for("the short one")
        assert "the long one" not in "\n".join(terminal.lines)
