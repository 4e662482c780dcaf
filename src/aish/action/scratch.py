"""Commands of the model: each runs in a child of its own, with the user's environment and directory.

What it does to its directory and environment ends with it; what changed is told, so that the user can keep it.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import NamedTuple

from aish.action.capture import Capture
from aish.action.showing import Showing
from aish.action.terminal import Terminal, raw
from aish.values.outcomes import Outcome

MOST = 8000  # characters of output that are kept
_OWN = {"_", "SHLVL", "PWD", "OLDPWD"}  # what every shell changes
_SCRIPT = r"""trap '{ printf "%s\0" "$PWD"; command env -0; } >&"$AISH_REPORT" 2>/dev/null' EXIT; eval -- "$1" """


class Scratched(NamedTuple):
    """What became of a command of the model, and what it would have changed for the user."""

    outcome: Outcome
    changed: dict[str, str]
    gone: tuple[str, ...]

    @property
    def keeps_something(self) -> bool:
        return self.outcome.moved or bool(self.changed or self.gone)


def run_scratch(
    command: str,
    show: Callable[[bytes], object],
    *,
    env: Mapping[str, str],
    directory: str,
    keys: int | None = None,
    prepare: Callable[[], None] | None = None,
    wrap: Callable[[list[str]], list[str]] = list,
) -> Scratched:
    """Run a command of the model. `prepare` fences the child in, or `wrap` does. Raises `StoreTrouble`."""
    capture, terminal = Capture(), Terminal()
    showing = Showing(show, capture)
    reading, report = os.pipe()
    try:
        terminal.start(
            wrap(["bash", "--norc", "--noprofile", "-c", _SCRIPT, "aish", command]),
            env={**env, "AISH_REPORT": str(report)},
            cwd=directory,
            pass_fds=(report,),
            prepare=prepare,
        )
        with raw(keys) if keys is not None else nullcontext():
            terminal.relay(_take(showing), keys)
            showing.tidy()
        os.close(report)
        report = -1
        there, *after = os.fsdecode(_read_now(reading)).split("\0")
        status = terminal.wait()
    finally:
        terminal.close()
        for fd in (reading, report):
            if fd >= 0:
                os.close(fd)
    changed, gone = _difference(env, after) if after else ({}, ())
    there = there or directory
    return Scratched(Outcome(status, capture.text(MOST), there, moved=there != directory), changed, gone)


def _take(showing: Showing) -> Callable[[bytes], bool]:
    def take(data: bytes) -> bool:
        showing.take(data)
        return False

    return take


def _read_now(fd: int) -> bytes:
    """What is in the pipe; a program that was left behind may keep it open for ever."""
    os.set_blocking(fd, False)
    data = b""
    try:
        while part := os.read(fd, 1 << 16):
            data += part
    except BlockingIOError:
        pass
    return data


def _difference(before: Mapping[str, str], entries: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    after = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    ours = {*_OWN, "AISH_REPORT"}
    changed = {name: value for name, value in after.items() if name not in ours and before.get(name) != value}
    return changed, tuple(name for name in before if name not in ours and name not in after)
