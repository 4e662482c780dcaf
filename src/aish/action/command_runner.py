"""Run a command of the model in a separate child process, with the user's environment and directory.

Changes to the directory and environment do not outlive the command. They are reported, so that the user can keep them.
"""

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import NamedTuple

from aish.action.capture import MOST, Capture
from aish.action.terminal import Terminal, raw
from aish.action.terminal_output import TerminalOutput
from aish.values.outcomes import Outcome

# Variables that every shell changes, and variables that can make a shell or a program run something: the command may be
# hostile, so these are never kept.
_NOT_KEPT = (
    "_|SHLVL|PWD|OLDPWD|AISH_REPORT|PROMPT_COMMAND|PS[0-4]|BASH.*|SHELLOPTS|ENV|ZDOTDIR|IFS|HIST.*|(DY)?LD_.*|__aish_.*"
)
_MOST_REPORTED = 1 << 22  # bytes; twice the largest environment that the system allows
_SCRIPT = (
    """trap '{ builtin printf "%s\\0" "$PWD"; command -p env -0; } >&"$AISH_REPORT" 2>/dev/null' EXIT; eval -- "$1" """
)


class CommandResult(NamedTuple):
    """The outcome of a command of the model, and the changes to the environment that the user may keep."""

    outcome: Outcome
    changed: dict[str, str]
    gone: tuple[str, ...]

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
    prepare: Callable[[], None] | None = None,
    wrap: Callable[[list[str]], list[str]] = list,
) -> CommandResult:
    """Run a command of the model. Either `prepare` or `wrap` puts it in the sandbox. Raises `StoreTrouble`."""
    capture, terminal = Capture(), Terminal()
    showing = TerminalOutput(show, capture)
    with tempfile.TemporaryFile() as report:  # not a pipe: an environment can be larger than a pipe's buffer
        try:
            terminal.start(
                wrap(["bash", "--norc", "--noprofile", "-c", _SCRIPT, "aish", command]),
                env={**env, "AISH_REPORT": str(report.fileno())},
                cwd=directory,
                pass_fds=(report.fileno(),),
                prepare=prepare,
            )
            with raw(keys) if keys is not None else nullcontext():
                terminal.relay(_take(showing), keys)
                showing.tidy()
            status = terminal.wait()
        finally:
            terminal.close()
        report.seek(0)
        there, *after = os.fsdecode(report.read(_MOST_REPORTED)).split("\0")
    changed, gone = _difference(env, after)
    there = there or directory
    return CommandResult(Outcome(status, capture.text(MOST), there, moved=there != directory), changed, gone)


def _take(showing: TerminalOutput) -> Callable[[bytes], bool]:
    def take(data: bytes) -> bool:
        showing.take(data)
        return False

    return take


def _difference(before: Mapping[str, str], entries: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    after = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    if not after:  # no report: the shell was killed, or it did not find its programs
        return {}, ()
    changed = {name: value for name, value in after.items() if _may_be_kept(name) and before.get(name) != value}
    return changed, tuple(name for name in before if _may_be_kept(name) and name not in after)


def _may_be_kept(name: str) -> bool:
    return name.isidentifier() and re.fullmatch(_NOT_KEPT, name) is None
