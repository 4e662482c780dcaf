"""Startup files and directories that make trouble: it is said, and there is a way out."""

import os
import subprocess
import sys

import pytest
from terminal import CTRL_C, Terminal
from tmux import need
from world import World

pytestmark = pytest.mark.proves("P2")


def started(world: World, text: str) -> Terminal:
    world.script()
    (world.directory / ".bashrc").write_text(text, encoding="utf-8")
    return Terminal(world)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo hello from it", "hello from it"),
        ("if then", "syntax error"),
        ("exit 3", "runs without your startup files, because they exit or hang"),
        ("exec sleep 1000", "runs without your startup files, because they start sleep"),
        ("set -e; false; cd /nowhere 2>/dev/null", ""),
        ("false; unset PATH; PATH=/usr/bin:/bin", ""),
    ],
)
def test_startup_files_that_print_fail_exit_or_exec_leave_a_shell(world: World, text: str, said: str) -> None:
    with started(world, f"{text}\n") as terminal:
        terminal.wait_ready()
        terminal.enter("echo it runs | cat")
        terminal.wait("it runs", "aish>")
        assert said in " ".join(terminal.lines)
        assert said or not any("[aish]" in line for line in terminal.lines[1:])


def test_startup_files_that_hang_are_said_and_can_be_skipped(world: World) -> None:
    with started(world, "sleep 1000\n") as terminal:
        terminal.wait_ready()
        terminal.enter("echo it runs | cat")
        terminal.wait_for("waiting for your startup files; Ctrl-C goes on without them")
        terminal.type(CTRL_C)
        terminal.wait("it runs", "aish>")
        assert any("because they exit or hang" in line for line in terminal.lines)


def test_startup_files_that_start_zsh_give_zsh(world: World) -> None:
    """A well-known way to change the shell without chsh."""
    need("zsh")
    with started(world, "exec zsh\n") as terminal:
        terminal.wait_ready()
        terminal.enter("echo it is $ZSH_NAME")
        terminal.wait("it is zsh", "aish>")


def test_a_directory_that_was_deleted_before_the_start_is_said(world: World) -> None:
    """The shell starts at home."""
    world.script()
    gone = world.directory / "gone"
    gone.mkdir()
    code = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); os.execv(sys.executable, sys.argv[1:])"
    started = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "aish", "--lines"],
        input="!pwd\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=world.environment(HOME=str(world.directory), SHELL="/bin/bash"),
    )
    assert started.stdout == f"{world.directory}\n"
    assert f"the current directory no longer exists; this shell starts in {world.directory}" in started.stderr


def test_a_directory_that_is_deleted_later_is_said_once_with_a_way_out(world: World) -> None:
    world.script()
    (world.directory / "gone").mkdir()
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("cd gone && rmdir ../gone")
        terminal.wait("[aish] this directory no longer exists; cd .. or cd leaves it", "aish>")
        terminal.enter("echo here")
        terminal.wait("here", "aish>")
        terminal.enter("cd .. && pwd")
        terminal.wait(str(world.directory), "aish>")
        assert sum("no longer exists" in line for line in terminal.lines) == 1


@pytest.mark.skipif(os.getuid() == 0, reason="root can enter any directory")
def test_a_directory_that_cannot_be_entered_is_said(world: World) -> None:
    world.script()
    closed = world.directory / "closed"
    closed.mkdir()
    enter = f"os.chdir({str(closed)!r}); os.chmod({str(closed)!r}, 0)"
    code = f"import os, sys; {enter}; os.execv(sys.executable, sys.argv[1:])"
    try:
        started = subprocess.run(
            [sys.executable, "-c", code, sys.executable, "-m", "aish", "--lines"],
            input="!pwd\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=world.environment(HOME=str(world.directory), SHELL="/bin/bash"),
        )
    finally:
        closed.chmod(0o700)
    assert "the current directory cannot be entered" in started.stderr
