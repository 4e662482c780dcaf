"""Run commands without a person, in a fence. What would ask is not run."""

import os
from pathlib import Path

from aish.acting.command_fences import LOOKING, CommandFences, Permit
from aish.acting.local_judge import LocalJudge
from aish.action.command_runner import run_captured
from aish.action.fence.wants import shown_from
from aish.places import find_project, home_directory
from aish.values.named_tuple import NamedTuple


class Ran(NamedTuple):
    """What happened to one command. `status` is None if it did not run."""

    command: str
    verdict: str
    reason: str
    status: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: tuple[str, ...] = ()

    def record(self) -> dict[str, object]:
        return {
            "command": self.command,
            "ran": self.status is not None,
            "verdict": self.verdict,
            "reason": self.reason,
            "status": self.status,
            "stdout": self.stdout.decode("utf-8", "replace"),
            "stderr": self.stderr.decode("utf-8", "replace"),
            "stopped": list(self.stopped),
        }


class Unattended:
    """Judges commands and runs those that need no person. With the permit to change, so do changes of the project."""

    def __init__(self, judge: LocalJudge, fences: CommandFences, permit: Permit) -> None:
        self._judge, self._fences, self._permit = judge, fences, permit

    def run(self, command: str, directory: Path) -> Ran:
        """Run a command if it may run. Raises `StoreTrouble` if the fence cannot be made."""
        project = find_project(directory)
        verdict = self._judge(command, directory, project)
        consented = self._permit.fence == "changing" and verdict.verdict == "ask" and verdict.effect == "change"
        if verdict.verdict != "run" and not (consented and self._fences.kind):
            return Ran(command, verdict.verdict, verdict.reason)
        looks = verdict.verdict == "run" and verdict.effect == "read"  # needs no more, whatever else is allowed
        with self._fences.around(LOOKING if looks else self._permit, os.environ, str(directory), project) as (
            fence,
            env,
        ):
            done = run_captured(command, env=env, directory=str(directory), fence=fence)
        wants = shown_from(done.wants, os.path.realpath(directory), str(home_directory()))
        told = tuple(want.text for want in wants)
        return Ran(command, verdict.verdict, verdict.reason, done.status, done.stdout, done.stderr, told)
