"""A pseudo-terminal: keys go in, output comes out, and a program that does not end is ended."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from aish.action.terminal import RepeatedInterrupts, Terminal, raw
from aish.values.errors import StoreTrouble

pytestmark = [pytest.mark.proves("P2"), pytest.mark.usefixtures("in_time")]
ENV = {"PATH": os.environ["PATH"], "TERM": "xterm"}
HANGS = "echo ready; while :; do sleep 60; done"


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.fixture
def keyboard() -> Iterator[tuple[int, int]]:
    """The end to type at, and the end to read from."""
    typing, keys = pty.openpty()
    yield typing, keys
    for fd in (typing, keys):
        try:
            os.close(fd)
        except OSError:
            pass  # a test has closed it


def start(terminal: Terminal, script: str) -> None:
    terminal.start(["bash", "--norc", "--noprofile", "-c", script], env=ENV, cwd="/")


class Watch:
    """Keeps the output, and acts when a text appears in it."""

    def __init__(self, stop_at: bytes = b"\0never", moves: Mapping[bytes, Callable[[], object]] | None = None) -> None:
        self.out = b""
        self._stop_at = stop_at
        self._moves = dict(moves or {})

    def __call__(self, data: bytes) -> bool:
        self.out += data
        for word in [word for word in self._moves if word in self.out]:
            self._moves.pop(word)()
        return self._stop_at in self.out


def test_a_program_runs_in_a_terminal_of_its_own(terminal: Terminal) -> None:
    """It leads a session, and this is its controlling terminal."""
    start(terminal, "test -t 0 && test -t 1 && test -t 2 && echo yes; tty; ps -o sid= -p $$; echo $$")
    watch = Watch()

    assert terminal.relay(watch) is False
    yes, name, session, pid = watch.out.decode().split()
    assert (yes, name, session) == ("yes", terminal.name, pid)
    assert terminal.wait() == 0
    assert not terminal.alive


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -9 $$", 137), ("kill $$", 143), ("true", 0)])
def test_the_status_is_said_in_the_way_of_shells(terminal: Terminal, script: str, status: int) -> None:
    """A signal counts from 128."""
    start(terminal, script)
    terminal.relay(Watch())

    assert terminal.wait() == status


def test_what_was_printed_last_is_not_lost(terminal: Terminal) -> None:
    """Also if the program ended before its output was read."""
    start(terminal, "seq 1000; echo the end")
    assert terminal.process
    terminal.process.wait()
    watch = Watch()
    terminal.relay(watch)

    assert watch.out.endswith(b"1000\r\nthe end\r\n")


def test_the_output_can_say_that_it_is_enough(terminal: Terminal) -> None:
    """The program goes on."""
    start(terminal, "echo one; echo stop; read x")

    assert terminal.relay(Watch(b"stop")) is True
    assert terminal.alive


def test_the_time_can_be_limited(terminal: Terminal) -> None:
    """A startup file that never ends must not block aish."""
    start(terminal, "sleep 60")

    assert terminal.relay(Watch(), seconds=0.05) is False
    assert terminal.alive


def test_keys_from_a_pipe_reach_the_program(terminal: Terminal) -> None:
    """At the end of the typed input, the program continues."""
    reading, typing = os.pipe()
    start(terminal, "read x; echo got $x; read y </dev/null; echo end")
    os.write(typing, b"hello\r")
    os.close(typing)
    watch = Watch()
    terminal.relay(watch, reading)
    os.close(reading)

    assert watch.out.endswith(b"got hello\r\nend\r\n")


def test_keys_from_a_terminal_reach_the_program_at_once(terminal: Terminal, keyboard: tuple[int, int]) -> None:
    """Without Enter, with all control keys; the user's terminal is restored afterwards."""
    typing, keys = keyboard
    before = termios.tcgetattr(keys)
    start(terminal, "stty raw -echo; printf ready; head -c 4 | od -An -tx1")
    watch = Watch(moves={b"ready": lambda: os.write(typing, b"\x03\x04\x1a\r")})
    with raw(keys):
        terminal.relay(watch, keys)

    assert watch.out.split() == [b"ready", b"03", b"04", b"1a", b"0d"]
    assert termios.tcgetattr(keys) == before


def test_a_terminal_is_put_back_whatever_happens(keyboard: tuple[int, int]) -> None:
    """Also after a bug in our code."""
    before = termios.tcgetattr(keyboard[1])

    with pytest.raises(KeyError), raw(keyboard[1]):
        assert termios.tcgetattr(keyboard[1]) != before
        raise KeyError

    assert termios.tcgetattr(keyboard[1]) == before


def test_a_user_whose_terminal_is_gone_types_no_more(terminal: Terminal, keyboard: tuple[int, int]) -> None:
    """The connection was lost; the program ends when it wants."""
    typing, keys = keyboard
    start(terminal, "echo ready; read -t 0.3; echo end")
    watch = Watch(moves={b"ready": lambda: os.close(typing)})
    terminal.relay(watch, keys)

    assert watch.out.endswith(b"end\r\n")


def test_keys_wait_until_the_program_is_ready(terminal: Terminal) -> None:
    """Keys typed before that go to the program and to nothing else."""
    reading, typing = os.pipe()
    os.write(typing, b"early\r")
    start(terminal, "stty -echo; echo go; read x; echo got $x")
    watch = Watch()
    terminal.relay(watch, reading, ready=lambda interrupted: b"go" in watch.out)
    os.close(reading)
    os.close(typing)

    assert watch.out == b"go\r\ngot early\r\n"


def test_ctrl_c_can_be_pressed_for_somebody(terminal: Terminal) -> None:
    """For a user without a terminal, or before the program has it; Ctrl-C too waits until the program is ready."""
    start(terminal, "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.01; done")
    terminal.interrupt()
    watch = Watch()
    terminal.relay(watch, ready=lambda interrupted: b"ready" in watch.out)

    assert b"caught" in watch.out
    assert terminal.wait() == 9


def test_a_megabyte_that_is_pasted_comes_out_again(terminal: Terminal, tmp_path: Path) -> None:
    """Neither side may block the other."""
    size = 1_000_000
    pasted = tmp_path / "pasted"
    pasted.write_bytes(b"x" * size)
    start(terminal, f"stty raw -echo; echo ready; head -c {size}; echo end")
    watch = Watch()
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    with pasted.open("rb") as file:
        terminal.relay(watch, file.fileno(), ready=lambda interrupted: b"ready" in watch.out)

    assert watch.out.count(b"x") == size
    assert watch.out.endswith(b"end\n")


def test_what_nobody_read_can_be_taken_back(terminal: Terminal) -> None:
    """Whole lines and partial ones; the terminal is unchanged, and nothing is left in it."""
    os.write(terminal.master, b"a line\rhalf")
    before = termios.tcgetattr(terminal.master)

    assert terminal.unread() == b"a line\nhalf"
    assert terminal.unread() == b""
    assert termios.tcgetattr(terminal.master) == before


def test_a_terminal_in_disorder_is_mended(terminal: Terminal) -> None:
    """All modes, as soon as one that a prompt needs is wrong."""
    sane = termios.tcgetattr(terminal.master)
    start(terminal, "stty raw -echo")
    terminal.relay(Watch())
    assert termios.tcgetattr(terminal.master) != sane

    terminal.restore_modes()

    assert termios.tcgetattr(terminal.master) == sane


def test_a_harmless_change_stays(terminal: Terminal) -> None:
    """The user may have wanted it."""
    start(terminal, "stty -ixon")
    terminal.relay(Watch())
    terminal.restore_modes()

    assert not termios.tcgetattr(terminal.master)[0] & termios.IXON


def test_it_is_as_big_as_the_window_that_we_are_in(terminal: Terminal, keyboard: tuple[int, int]) -> None:
    """And 80 by 24 if there is none; the program is told about a change."""
    window, ours = keyboard[1], os.dup(0)
    fcntl.ioctl(window, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    start(terminal, "trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.01; done")
    assert sys.__stdin__ and sys.__stdin__.fileno() == 0

    def grow() -> None:
        os.dup2(window, 0)
        try:
            terminal.resize()
        finally:
            os.dup2(ours, 0)

    watch = Watch(moves={b"24 80": grow})
    terminal.relay(watch)
    os.close(ours)

    assert watch.out.split(b"\r\n")[:2] == [b"24 80", b"33 111"]


@pytest.mark.parametrize(("command", "cwd"), [(["no-such-program-here"], "/"), (["true"], "/none/such")])
def test_what_cannot_be_started_is_said(terminal: Terminal, command: list[str], cwd: str) -> None:
    """With its name and the reason."""
    with pytest.raises(StoreTrouble, match=f"cannot start {command[0]}: No such file"):
        terminal.start(command, env=ENV, cwd=cwd)


def push(terminal: Terminal, script: str, times: list[float]) -> int:
    """Press Ctrl-C at these times at a program that reports when it is ready."""
    start(terminal, script)
    assert terminal.relay(Watch(b"ready"))
    clock = iter(times)
    repeated = RepeatedInterrupts(terminal, clock=lambda: next(clock))
    for _ in times:
        repeated.see(b"\x03")
    return terminal.process.pid if terminal.process else 0


def gone(pid: int, seconds: float) -> bool:
    fd = os.pidfd_open(pid)
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("script", "times", "status"),
    [
        (f"trap '' INT; {HANGS}", [0.0, 1.0], 143),
        (f"trap '' INT TERM; {HANGS}", [0.0, 1.0, 1.5], 137),
    ],
)
def test_a_program_that_ignores_ctrl_c_is_pushed_until_it_goes(
    terminal: Terminal, script: str, times: list[float], status: int
) -> None:
    """The second Ctrl-C asks it to end, the third kills it."""
    pid = push(terminal, script, times)

    assert gone(pid, 5)
    assert terminal.wait() == status


@pytest.mark.parametrize(
    ("script", "times"),
    [
        (f"trap '' INT; {HANGS}", [0.0]),
        (f"trap '' INT; {HANGS}", [0.0, 2.5, 5.0]),
        (f"trap : INT; {HANGS}", [0.0, 0.1, 0.2, 0.3]),
        (f"trap '' INT TERM; {HANGS}", [0.0, 1.0]),
    ],
)
def test_a_program_that_does_something_with_ctrl_c_or_is_given_time_is_left_alone(
    terminal: Terminal, script: str, times: list[float]
) -> None:
    """An interpreter keeps running; so does a program that got Ctrl-C only once."""
    assert not gone(push(terminal, script, times), 0.1)


def test_other_keys_are_no_push(terminal: Terminal) -> None:
    """Only Ctrl-C counts."""
    start(terminal, f"trap '' INT; {HANGS}")
    terminal.relay(Watch(b"ready"))
    repeated = RepeatedInterrupts(terminal)
    for _ in range(3):
        repeated.see(b"abc\r")
        repeated.see(b"")

    assert terminal.process and not gone(terminal.process.pid, 0.1)


def test_pushes_are_seen_among_what_is_typed(terminal: Terminal, keyboard: tuple[int, int]) -> None:
    """By the code that passes the keys on."""
    typing, keys = keyboard
    start(terminal, f"trap '' INT; {HANGS}")
    watch = Watch(moves={b"ready": lambda: os.write(typing, b"\x03"), b"^C": lambda: os.write(typing, b"x\x03")})
    with raw(keys):
        terminal.relay(watch, keys)

    assert terminal.wait() == 143


@pytest.mark.parametrize("script", [HANGS, f"trap '' HUP; {HANGS}", f"trap '' HUP INT TERM; {HANGS}"])
def test_closing_ends_what_runs(script: str) -> None:
    """SIGHUP first; a program that ignores it is killed."""
    terminal = Terminal()
    start(terminal, script)
    terminal.relay(Watch(b"ready"))
    process = terminal.process
    terminal.close()

    assert process and process.poll() is not None
    assert not Path(f"/proc/self/fd/{terminal.master}").exists()


def test_what_is_printed_meanwhile_can_be_taken_without_waiting(terminal: Terminal) -> None:
    """A background job prints something now and then."""
    assert terminal.read_some() == b""
    start(terminal, "echo late; read x")
    assert select.select([terminal.master], [], [], 5)[0]

    assert terminal.read_some() == b"late\r\n"


def test_the_terminal_knows_whom_it_belongs_to(terminal: Terminal) -> None:
    """The process group of the program that gets the keys."""
    start(terminal, "echo ready; read x")
    terminal.relay(Watch(b"ready"))

    assert terminal.process and terminal.foreground == terminal.process.pid
