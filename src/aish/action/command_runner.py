"""Run a command of the model in a separate child process, in a terminal of its own or with pipes.

Changes to the directory and environment do not outlive the command. They are reported, so that the user can keep them.
"""

import os
import re
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import IO

from aish.action.capture import MOST, Capture
from aish.action.fence.environment import says_nothing
from aish.action.fence.fence import Fence
from aish.action.fence.wants import Want
from aish.action.terminal import Terminal, raw
from aish.action.terminal_output import TerminalOutput
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.outcomes import Outcome

# Variables that every shell changes, and variables that can make a shell or a program run something: the command may be
# hostile, so these are never kept.
_NOT_KEPT = (
    "_|SHLVL|PWD|OLDPWD|AISH_REPORT|PROMPT_COMMAND|PS[0-4]|BASH.*|SHELLOPTS|ENV|ZDOTDIR|IFS|HIST.*|(DY)?LD_.*|__aish_.*"
)
MOST_PRINTED = 64 << 20  # bytes that a command prints which nobody was asked about
_LOOK_AGAIN = 0.1  # seconds
_FOR_ENDING = 3.0
_MOST_REPORTED = 1 << 22  # bytes; twice the largest environment that the system allows
_SCRIPT = (
    """trap '{ builtin printf "%s\\0" "$PWD"; command -p env -0; } >&"$AISH_REPORT" 2>/dev/null' EXIT; eval -- "$1" """
)


class CommandResult(NamedTuple):
    """The outcome of a command of the model, and the changes to the environment that the user may keep."""

    outcome: Outcome
    changed: dict[str, str]
    gone: tuple[str, ...]
    wants: tuple[Want, ...] = ()

    @property
    def keeps_something(self) -> bool:
        return self.outcome.moved or bool(self.changed or self.gone)


def run_command(
    command: str,
    show: Callable[[bytes], object],
    *,
    env: Mapping[str, str],
    directory: str,
    keys: int | None = None,
    fence: Fence | None = None,
    reads_input: bool = True,
    started: Callable[[Terminal], object] = lambda terminal: None,
) -> CommandResult:
    """Run a command of the model in a terminal of its own. Raises `StoreTrouble`.

    Keys typed at `keys` go to the command. Without `reads_input` its standard input is empty.
    """
    capture, terminal = Capture(), Terminal()
    showing = TerminalOutput(show, capture, foreign=True)
    most = MOST_PRINTED if fence and fence.bounds.name == "looking" else 0
    started(terminal)
    words = ["bash", "--norc", "--noprofile", "-c", _SCRIPT, "aish", command]
    with tempfile.TemporaryFile() as report, open(os.devnull, "rb") as nothing:
        # The report is not a pipe: an environment can be larger than a pipe's buffer.
        try:
            terminal.start(
                fence.wrap(words, directory) if fence else words,
                env={**env, "AISH_REPORT": str(report.fileno())},
                cwd=directory,
                stdin=None if reads_input else nothing.fileno(),
                pass_fds=(report.fileno(), *(fence.pass_fds if fence else ())),
                prepare=fence.step if fence else None,
            )
            with raw(keys) if keys is not None else nullcontext():
                terminal.relay(_take(showing, capture, most), keys)
                if over := bool(most) and capture.size > most:
                    terminal.end()
                showing.tidy()
            status = terminal.wait()
        finally:
            terminal.close()
        report.seek(0)
        there, *after = os.fsdecode(report.read(_MOST_REPORTED)).split("\0")
    output = capture.text(MOST)
    wants = (*(fence.wants(output, directory) if fence else ()), *((_printed(most),) if over else ()))
    changed, gone = _difference(env, after)
    there = there or directory
    return CommandResult(Outcome(status, output, there, moved=there != directory), changed, gone, wants)


def _take(showing: TerminalOutput, capture: Capture, most: int) -> Callable[[bytes], bool]:
    def take(data: bytes) -> bool:
        showing.take(data)
        return bool(most) and capture.size > most

    return take


def _printed(most: int) -> Want:
    return Want("limit", f"print more than {most >> 20} MB")


class Captured(NamedTuple):
    """The result of a command that ran without a terminal."""

    status: int
    stdout: bytes
    stderr: bytes
    wants: tuple[Want, ...] = ()
    ended: bool = False  # by the caller, before it was done


def run_captured(
    command: str,
    *,
    env: Mapping[str, str],
    directory: str,
    fence: Fence | None,
    given: bytes = b"",
    most: int = MOST_PRINTED,
    is_over: Callable[[], bool] | None = None,
) -> Captured:
    """Run a command of the model without a terminal. Raises `StoreTrouble`.

    Its standard input is `given`. It is ended if it prints more than `most` bytes, or when `is_over` says so, which is
    asked several times a second.
    """
    words = ["bash", "--norc", "--noprofile", "-c", command]
    if not given:
        return _captured(words, subprocess.DEVNULL, env, directory, fence, most, is_over)
    with tempfile.TemporaryFile() as stdin:  # not a pipe: a command that does not read it would block us
        stdin.write(given)
        stdin.seek(0)
        return _captured(words, stdin, env, directory, fence, most, is_over)


def _captured(
    words: list[str],
    stdin: IO[bytes] | int,
    env: Mapping[str, str],
    directory: str,
    fence: Fence | None,
    most: int,
    is_over: Callable[[], bool] | None,
) -> Captured:
    try:
        process = subprocess.Popen(
            fence.wrap(words, directory) if fence else words,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=directory,
            start_new_session=True,
            preexec_fn=fence.step if fence else None,
            pass_fds=fence.pass_fds if fence else (),
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreTrouble(f"cannot start the command: {reason}") from error
    with process:
        outputs, over, ended = _read_all(process, most, is_over)
        if over or ended:
            _end(process)
        status = process.wait()
    said = outputs[1][-MOST:].decode("utf-8", "replace")
    wants = (*(fence.wants(said, directory) if fence else ()), *((_printed(most),) if over else ()))
    return Captured(status if status >= 0 else 128 - status, *outputs, wants, ended)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command: the keeper of its fence ends all that it started. Without a fence its group is ended."""
    process.terminate()
    try:
        process.wait(_FOR_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _read_all(
    process: subprocess.Popen[bytes], most: int, is_over: Callable[[], bool] | None
) -> tuple[tuple[bytes, bytes], bool, bool]:
    """Read both outputs until they end; return them, whether they are more than `most` bytes, and `is_over`."""
    assert process.stdout and process.stderr
    wait = _LOOK_AGAIN if is_over else None
    parts: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in parts:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(wait):
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                data = os.read(key.fd, 1 << 16)
                parts[stream] += data
                if not data:
                    selector.unregister(stream)
            over, ended = sum(map(len, parts.values())) > most, bool(is_over and is_over())
            if over or ended:
                return (bytes(parts[process.stdout]), bytes(parts[process.stderr])), over, ended
    return (bytes(parts[process.stdout]), bytes(parts[process.stderr])), False, False


def _difference(before: Mapping[str, str], entries: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    after = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    if not after:  # no report: the shell was killed, or it did not find its programs
        return {}, ()
    changed = {name: value for name, value in after.items() if _may_be_kept(name) and before.get(name) != value}
    return changed, tuple(name for name in before if _may_be_kept(name) and name not in after)


def _may_be_kept(name: str) -> bool:
    return name.isidentifier() and re.fullmatch(_NOT_KEPT, name) is None and not says_nothing(name)
