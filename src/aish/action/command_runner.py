"""Commands of the model: each runs in a child of its own, with the user's environment and directory.

What it does to its directory and environment ends with it; what changed is told, so that the user can keep it.
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

# What every shell changes, and what makes a shell or a program run something: any program in there could have said it.
_NOT_KEPT = (
    "_|SHLVL|PWD|OLDPWD|AISH_REPORT|PROMPT_COMMAND|PS[0-4]|BASH.*|SHELLOPTS|ENV|ZDOTDIR|IFS|HIST.*|(DY)?LD_.*|__aish_.*"
)
_MOST_REPORTED = 1 << 22  # bytes; the system allows an environment half of that
_SCRIPT = (
    """trap '{ builtin printf "%s\\0" "$PWD"; command -p env -0; } >&"$AISH_REPORT" 2>/dev/null' EXIT; eval -- "$1" """
)


class CommandResult(NamedTuple):
    """What became of a command of the model, and what it would have changed for the user."""

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
    """Run a command of the model. `prepare` fences the child in, or `wrap` does. Raises `StoreTrouble`."""
    capture, terminal = Capture(), Terminal()
    showing = TerminalOutput(show, capture)
    with tempfile.TemporaryFile() as report:  # not a pipe: those hold less than an environment can be
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
    if not after:  # it could not tell: a killed shell, or one whose programs cannot be found
        return {}, ()
    changed = {name: value for name, value in after.items() if _may_be_kept(name) and before.get(name) != value}
    return changed, tuple(name for name in before if _may_be_kept(name) and name not in after)


def _may_be_kept(name: str) -> bool:
    return name.isidentifier() and re.fullmatch(_NOT_KEPT, name) is None
