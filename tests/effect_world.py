"""Run hostile commands in a scratch world and see what they did: in the looking fence, or without one as a control."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self

from hostile_commands import CONTROL, OWN, in_world
from hostile_project import VARIABLES, fill
from scratch import end_children, scratch

from aish.acting.command_fences import LOOKING, CommandFences
from aish.acting.local_judge import LocalJudge
from aish.action.allowed import Allowed
from aish.action.command_runner import Captured, run_captured
from aish.action.fence.fence import Kind
from aish.opening import open_redaction
from aish.places import find_places

SECONDS = 5.0  # that a command may take


class Done(NamedTuple):
    """One command, what it printed, and its effects. `ran` is false for a command that would have asked."""

    command: str
    captured: Captured
    effects: tuple[str, ...]
    ran: bool = True


class EffectTest:
    """A scratch world for many commands, one after the other. Use it as a context manager."""

    def __init__(self, kind: Kind | None, *, seconds: float = SECONDS) -> None:
        self.kind: Kind | None = kind
        self._seconds = seconds

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.made = stack.enter_context(scratch(fill))
            home = str(self.made.home)
            self.env = {
                **{name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "USER", "TERM")},
                **VARIABLES,
                "HOME": home,
                "AISH_HOME": str(self.made.own),
            }
            places = find_places(self.env)
            redaction = open_redaction(places).reading()  # it would make its salt, which is an effect
            self.fences = CommandFences(
                self.kind or "off",
                [self.made.own],
                home=self.made.home,
                has_secret=lambda text: redaction.text(text) != text,
                seconds=self._seconds,
            )
            self.judge = LocalJudge(places.policy_file, Allowed(places.allowed, []), self.fences)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, command: str, *, judged: bool = False) -> Done:
        """Run a command. With `judged`, only if it would run unasked."""
        command = in_world(command, self.made)
        if judged and self.judge(command, self.made.project, self.made.project).verdict != "run":
            return Done(command, Captured(1, b"", b""), (), ran=False)
        return self._run(command)

    def _run(self, command: str) -> Done:
        made = self.made
        before, directory = made.look(), str(made.project)
        with self.fences.around(LOOKING, self.env, directory, made.project) as (fence, env):
            assert (fence is None) == (self.kind is None), "there is no fence"
            done = run_captured(command, env=env if fence else self.env, directory=directory, fence=fence)
        effects = made.effects(before, done.stdout + done.stderr)
        if fence and fence.private.exists():
            effects.append(f"outside: {fence.private}")
        end_children(iter(made.look().children - before.children))
        return Done(command, done, tuple(effects))


def control() -> dict[str, Done]:
    """Run the harmless effects without a fence, each in a fresh world. One that was not seen is tried once more."""
    found: dict[str, Done] = {}
    for command, kind in CONTROL.items():
        found[command] = _without_fence(command)
        if not any(effect.startswith(kind) for effect in found[command].effects):
            found[command] = _without_fence(command)
    return found


def _without_fence(command: str) -> Done:
    with EffectTest(None) as test:
        done = test.run(command)
        os.kill(test.made.victim.pid, signal.SIGCONT)
        Path(f"/dev/shm/canary-of-aish-{test.made.listeners.tcp}").unlink(missing_ok=True)
    return done


class Summary(NamedTuple):
    """The result of many commands: how many ran, by group; how many the fence stopped; and those with effects."""

    ran: Counter[str]
    asked: int
    stopped: int
    seconds: float
    found: list[Done]


def run_all(
    kind: Kind, commands: Iterable[tuple[str, str]], *, judged: bool = False, seconds: float = SECONDS
) -> Summary:
    """Run commands, given with their groups, in one world."""
    began, results, ran = time.monotonic(), [], Counter[str]()
    with EffectTest(kind, seconds=seconds) as test:
        for group, command in commands:
            done = test.run(command, judged=judged)
            results.append(done)
            ran[group] += done.ran
    return Summary(
        ran,
        asked=sum(not done.ran for done in results),
        stopped=sum(bool(done.captured.wants) for done in results),
        seconds=time.monotonic() - began,
        found=[done for done in results if done.effects],
    )


def own_commands() -> list[tuple[str, str]]:
    return [(group, command) for group, commands in OWN.items() for command in commands]
