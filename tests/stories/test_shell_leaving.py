"""Leaving the shell: exit statuses, finished jobs, and programs that live on."""

import os
import select
import signal
import time
from pathlib import Path

import pytest
from terminal import CTRL_D, Terminal
from world import World

pytestmark = pytest.mark.proves("P2")


@pytest.mark.parametrize(
    ("line", "code"),
    [("exit 3", 3), ("true && exit", 0), ("false || exit 4", 4), ("exec sh -c 'exit 5'", 5), ("(exit 6); exit", 6)],
)
def test_the_exit_status_of_the_shell_is_that_of_aish(world: World, line: str, code: int) -> None:
    """Whoever started aish as a shell expects it."""
    world.script()
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter(line)
        assert terminal.code() == code


def test_a_trap_for_the_exit_runs_when_the_user_leaves_by_a_key(world: World) -> None:
    world.script()
    (world.directory / ".bashrc").write_text("trap 'echo bye from the trap' EXIT\n", encoding="utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("echo on")
        terminal.wait("on", "aish>")
        terminal.type(CTRL_D)
        assert terminal.code() == 0
        assert b"bye from the trap" in terminal.raw


def test_a_finished_job_is_reported_at_an_empty_line(world: World) -> None:
    """As in bash, where Enter shows what has happened meanwhile."""
    world.script()
    os.mkfifo(world.directory / "wait")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("cat wait &")
        terminal.wait_for("[1]")
        (world.directory / "wait").write_text("", encoding="ascii")
        deadline = time.monotonic() + 20
        while not any("Done" in line for line in terminal.lines) and time.monotonic() < deadline:
            terminal.enter("")
            terminal.watch(0.2)
        terminal.wait_for("Done")


@pytest.mark.parametrize("start", ["nohup {} >/dev/null 2>&1 &", "{} & disown;", "{} &"])
@pytest.mark.parametrize("leave", ["exit", CTRL_D])
def test_programs_in_the_background_live_on(world: World, tmp_path: Path, start: str, leave: str) -> None:
    """As when bash exits."""
    world.script()
    note = tmp_path / "pid"
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter(start.format(f"sh -c 'echo $$ >{note}; exec sleep 300'") + f" until [ -s {note} ]; do :; done")
        terminal.enter("echo started")
        terminal.wait("started", "aish>")
        pid = int(note.read_text(encoding="ascii"))
        terminal.enter(leave) if leave == "exit" else terminal.type(leave)
        assert terminal.code() == 0
    try:
        assert Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "S"
    finally:
        os.kill(pid, signal.SIGKILL)


def test_disowned_programs_outlive_a_closed_window(world: World, tmp_path: Path) -> None:
    """Others end with it, as in bash."""
    world.script()
    notes = [tmp_path / name for name in ("kept", "nohup", "ended")]
    programs = [f"sh -c 'echo $$ >{note}; exec sleep 300'" for note in notes]
    with Terminal(world) as terminal:
        terminal.wait_ready()
        line = f"{programs[0]} & disown; nohup {programs[1]} >/dev/null 2>&1 & {programs[2]} &"
        terminal.enter(f"{line} until [ -s {notes[0]} -a -s {notes[1]} -a -s {notes[2]} ]; do :; done; echo started")
        terminal.wait("started", "aish>")
        pids = [int(note.read_text(encoding="ascii")) for note in notes]
        watched = [os.pidfd_open(pid) for pid in pids]
        watched.append(os.pidfd_open(terminal.pid))
        os.kill(terminal.pid, signal.SIGHUP)
        for fd in (watched[3], watched[2]):  # aish, and the program that ends with it
            assert select.select([fd], [], [], 20)[0]
    try:
        assert select.select(watched[:2], [], [], 0)[0] == []
    finally:
        for fd in watched:
            try:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.close(fd)
