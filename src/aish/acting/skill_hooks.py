"""Run the hooks of skills: judged by the policy, in a fence, with limits, and on a copy of the folder of the skill.

A hook that is known to only read runs where it can do nothing else. Any other one runs only after the user has seen it
and agreed to the skill as it is: where it can only read, too, or, if it says that it changes something, where it can
change the project. What would destroy, send or be refused never runs.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from aish.acting.command_fences import CHANGING, LOOKING, CommandFences, Permit, open_fences
from aish.acting.local_judge import LocalJudge
from aish.action.allowed import Allowed
from aish.action.command_runner import run_captured
from aish.action.fence.wants import shown_from
from aish.conversation.skills import HookRun
from aish.memory.redaction import Redaction
from aish.places import Places, find_project, home_directory
from aish.settings.options import Settings
from aish.settings.trust import folder_digest, folder_files
from aish.values.errors import StoreTrouble
from aish.values.skills import SKILL_DIR, Hook, Skill
from aish.values.text import one_line

_MOST_PRINTED = 1 << 20  # bytes; far more than is used


class HookRunner:
    """Runs hooks for one program."""

    def __init__(self, settings: Settings, places: Places, redaction: Redaction) -> None:
        self._settings, self._places, self._redaction = settings, places, redaction

    @cached_property
    def _fences(self) -> CommandFences:
        return open_fences(self._settings.commands, self._places, self._redaction)

    @cached_property
    def _judge(self) -> LocalJudge:
        allowed = Allowed(self._places.allowed, self._settings.commands.allow)
        return LocalJudge(self._places.policy_file, allowed, self._fences)

    def fence_for(self, hook: Hook, directory: Path, *, agreed: bool) -> tuple[Permit | None, str]:
        """Return what a hook may do, and the reason; no permit means that it does not run."""
        verdict = self._judge(hook.command, directory, find_project(directory))
        reads = verdict.verdict == "run" and verdict.effect == "read"
        if reads and not hook.changes and (agreed or self._settings.commands.ask != "always"):
            return LOOKING, "it only reads"
        if verdict.verdict == "refuse" or verdict.effect in ("destroy", "send"):
            return None, f"it never runs by itself: {verdict.reason}"
        if not self._fences.kind:
            return None, f"there is no fence here for it: {verdict.reason}"
        if not agreed:
            return None, "it waits for your consent (:skills trust NAME)"
        if hook.changes or verdict.effect == "change":
            return CHANGING, f"it may change files of the project: {verdict.reason}"
        return LOOKING, f"it runs where it can only read: {verdict.reason}"

    def run(self, skill: Skill, hook: Hook, given: bytes, directory: Path, is_over: Callable[[], bool]) -> HookRun:
        """Run a hook until it ends, has run too long or printed too much, or `is_over`. Nothing here raises."""
        permit, reason = self.fence_for(hook, directory, agreed=skill.agreed)
        if permit is None:
            return HookRun("", reason.replace("NAME", skill.name))
        try:
            return self._run(skill, hook, given, directory, is_over, permit)
        except (OSError, StoreTrouble) as error:
            return HookRun("", str(error.strerror or error) if isinstance(error, OSError) else str(error))

    def _run(
        self, skill: Skill, hook: Hook, given: bytes, directory: Path, is_over: Callable[[], bool], permit: Permit
    ) -> HookRun:
        seconds = self._settings.skills.hook_seconds
        end = time.monotonic() + seconds
        with ExitStack() as stack:
            around = self._fences.around(permit, os.environ, str(directory), find_project(directory))
            fence, env = stack.enter_context(around)
            private = fence.private if fence else Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if trouble := _copy(skill, private / "skill"):
                return HookRun("", trouble)
            done = run_captured(
                hook.command,
                env={**env, SKILL_DIR: str(private / "skill")},
                directory=str(directory),
                fence=fence,
                given=given,
                most=_MOST_PRINTED,
                is_over=lambda: time.monotonic() > end or is_over(),
            )
        text = done.stdout.decode("utf-8", "replace")
        if done.ended:
            return HookRun("", f"it was ended after {seconds:g} seconds (skills.hook_seconds)")
        if wants := shown_from(done.wants, os.path.realpath(directory), str(home_directory())):
            return HookRun(text, f"the fence stopped it: it {one_line(wants[0].text, 120)}")
        if done.status:
            said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            return HookRun(text, f"exit status {done.status}" + (f": {one_line(said, 120)}" if said else ""))
        return HookRun(text)


def _copy(skill: Skill, to: Path) -> str:
    """Copy the folder of a skill; return why it may not be used, if its files are not those that the user agreed to.

    The folder itself may be hidden by the fence, and could change while the hook runs.
    """
    files = list(folder_files(Path(skill.folder)))
    if skill.agreed and folder_digest(files) != skill.digest:
        return f"its files have changed: look at them and trust them again (:skills trust {skill.name})"
    to.mkdir(mode=0o700)
    for name, content in files:
        if not name.endswith("\0"):  # links are not copied: they may lead anywhere
            path = to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o700)
    return ""
