"""Commands of the model: they run in a child process, and changes to the environment are reported, not applied."""

import os
import pty
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from aish.action.command_runner import CommandResult, run_command
from aish.values.errors import StoreTrouble
from aish.values.outcomes import Outcome

pytestmark = [pytest.mark.proves("P4"), pytest.mark.usefixtures("in_time")]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "LC_ALL": "C.UTF-8", "PLAIN": "a"}


def run(command: str, env: Mapping[str, str], *, seconds: float = 10) -> CommandResult:
    """Run it in the home directory of this environment, without a keyboard."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return run_command(command, lambda data: None, env=env, directory=env["HOME"])


def test_a_command_runs_where_the_user_is_with_what_the_user_has(env: dict[str, str], tmp_path: Path) -> None:
    """Its output is shown as it arrives, and captured as text."""
    shown: list[bytes] = []

    done = run_command(
        "pwd; echo $PLAIN; test -t 1 && printf '\\e[1mbold'", shown.append, env=env, directory=str(tmp_path)
    )

    assert done.outcome == Outcome(0, f"{tmp_path}\na\nbold", str(tmp_path))
    assert b"".join(shown) == f"{tmp_path}\r\na\r\n\x1b[1mbold\x1b[m\r\n".encode()
    assert (done.changed, done.gone, done.keeps_something) == ({}, (), False)


def test_what_it_would_change_is_told(env: dict[str, str], tmp_path: Path) -> None:
    """Directory, new and changed variables, and removed ones."""
    (tmp_path / "a\nb").mkdir()

    done = run("cd $'a\\nb'; export NEW=$'two\\nlines' PLAIN=b; unset TERM; inner=1; echo done", env)

    assert (done.outcome.directory, done.outcome.moved) == (f"{tmp_path}/a\nb", True)
    assert done.changed == {"NEW": "two\nlines", "PLAIN": "b"}
    assert done.gone == ("TERM",)
    assert done.keeps_something
    assert os.environ.get("NEW") is None and Path.cwd() != tmp_path / "a\nb"


@pytest.mark.parametrize(
    ("command", "status", "directory"),
    [
        ("cd /; exit 4", 4, "/"),
        ("cd /; false", 1, "/"),
        ("set -e; cd /; false; echo never", 1, "/"),
        ("cd /; exec bash -c 'exit 5'", 5, ""),
        ("cd /; kill -9 $$", 137, ""),
        ("cd /; kill $$", 143, "/"),
        ("echo 'open", 2, ""),
        ("if true", 2, ""),
        ("no-such-program-here", 127, ""),
    ],
)
def test_however_it_ends_its_status_is_told(env: dict[str, str], command: str, status: int, directory: str) -> None:
    """And its directory, if it could still report it."""
    done = run(command, env)

    assert (done.outcome.status, done.outcome.directory) == (status, directory or env["HOME"])
    assert "never" not in done.outcome.output
    assert (done.changed, done.gone) == ({}, ())


def test_an_environment_may_be_large(env: dict[str, str]) -> None:
    """The user's own environment, and what a command adds to it."""
    large = {**env, **{f"PART{number}": "x" * 60_000 for number in range(5)}}

    assert run("export NEW=$PART1", large, seconds=1.5).changed == {"NEW": "x" * 60_000}


@pytest.mark.parametrize("command", ["PATH=/nowhere; cd /", "env() { echo no; }; printf() { echo no; }; cd /"])
def test_a_command_that_hides_the_programs_changes_what_it_changes(env: dict[str, str], command: str) -> None:
    """A variable that was only not reported does not count as removed."""
    done = run(command, env)

    assert (done.outcome.directory, done.gone) == ("/", ())
    assert set(done.changed) <= {"PATH"}


def test_functions_are_no_variables(env: dict[str, str]) -> None:
    """They could not be kept."""
    assert run("f() { :; }; export -f f", env).changed == {}


def test_what_a_command_says_of_itself_is_at_most_told(env: dict[str, str]) -> None:
    """It can write to its own report; the user is asked about that as about any change."""
    done = run("printf '/elsewhere\\0FORGED=1\\0' >&$AISH_REPORT", env)

    assert done.keeps_something
    assert "AISH_REPORT" not in done.changed
    assert run("unset AISH_REPORT; cd /", env).changed == {}


def test_a_program_that_stays_behind_keeps_nobody_waiting(env: dict[str, str], tmp_path: Path) -> None:
    """Files that it holds open are not waited for; a background program ends with its terminal."""
    done = run("sleep 60 & echo $!; cd /", env)

    pid = int(done.outcome.output)
    assert done.outcome.directory == "/"
    with pytest.raises(ProcessLookupError):
        for _ in range(100_000):  # it is getting SIGHUP; nothing else waits for it
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "Z":
                raise ProcessLookupError
            os.sched_yield()


def test_keys_reach_it_and_ctrl_c_ends_it(env: dict[str, str]) -> None:
    """A program may ask for a password, or take too long."""
    typing, keys = pty.openpty()
    shown = b""

    def show(data: bytes) -> None:
        nonlocal shown
        shown += data
        if data.rstrip().endswith(b"name?"):
            os.write(typing, b"Ann\r")
        if b"ready" in data:
            os.write(typing, b"\x03")

    try:
        done = run_command(
            "read -p 'name?' x; echo hello $x; bash -c 'echo ready; exec sleep 60'; echo never",
            show,
            env=env,
            directory=env["HOME"],
            keys=keys,
        )
    finally:
        os.close(typing)
        os.close(keys)

    assert done.outcome.status == 130
    assert "hello Ann" in done.outcome.output
    assert "never" not in done.outcome.output


@pytest.mark.parametrize(
    ("command", "directory", "reason"),
    [
        ("true", "/none/such", "No such file"),
        ("x" * 200_000, "/", "too long"),
        ("a\0b", "/", "null"),
    ],
)
def test_what_cannot_be_started_is_said(env: dict[str, str], command: str, directory: str, reason: str) -> None:
    """With the reason, and nothing is left open."""
    before = len(list(Path("/proc/self/fd").iterdir()))

    with pytest.raises(StoreTrouble, match=reason):
        run_command(command, lambda data: None, env=env, directory=directory)

    assert len(list(Path("/proc/self/fd").iterdir())) == before
