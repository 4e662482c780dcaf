"""Set up the tools of the gate when the first command is proposed: policy, fences, trash, allowed commands."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from aish.acting.command_fences import Permit, next_permit, open_fences
from aish.acting.gate import GateTools
from aish.acting.local_judge import LocalJudge
from aish.acting.surroundings import Surroundings
from aish.action.allowed import Allowed
from aish.action.asking_commands import who_asks
from aish.action.command_runner import CommandResult, run_command
from aish.action.fence.wants import shown_from
from aish.action.targets import survey
from aish.action.terminal import Terminal
from aish.action.trash import as_trash
from aish.action.unfenced import reads_keys
from aish.memory.redaction import Redaction
from aish.places import Places, home_directory
from aish.settings.options import Settings

# Without -P, a file `aish.py` in the current directory would run instead of this program.
_SELF = f"{shlex.quote(sys.executable)} -P -m"


def load(
    settings: Settings, places: Places, redaction: Redaction, surroundings: Surroundings, project: Callable[[], Path]
) -> GateTools:
    """Return the tools of one gate. `project` returns the folder that commands may write to."""
    allowed = Allowed(places.allowed, settings.commands.allow)
    fences = open_fences(settings.commands, places, redaction)
    judge = LocalJudge(places.policy_file, allowed, fences)
    running: list[Terminal] = []

    def run(
        command: str,
        permit: Permit,
        before_write: Callable[[str], None] | None,
        show: Callable[[bytes], object] = surroundings.show,
    ) -> CommandResult:
        environment = surroundings.environment()  # first, because the user's shell may still be starting
        directory = surroundings.directory
        types = permit.attended and (permit.fence != "looking" or reads_keys(command))
        with fences.around(permit, environment, directory, project()) as (fence, env):
            if fence:
                fence.before_write = before_write
            done = run_command(
                command,
                show,
                env=env,
                directory=directory,
                keys=surroundings.keys if types else None,
                fence=fence,
                reads_input=types,
                started=lambda terminal: running.__setitem__(slice(None), [terminal]),
            )
        wants = shown_from(done.wants, os.path.realpath(directory), str(home_directory()))
        return done._replace(wants=wants)

    def interrupt() -> None:
        for terminal in running:
            terminal.interrupt()

    return GateTools(
        judge=lambda command: judge(command, Path(surroundings.directory), project()),
        survey=lambda words, directory: survey(words, directory).words(),
        as_trash=_as_trash,
        as_own=_as_own,
        allow=allowed.add,
        allow_exactly=allowed.add_command,
        run=run,
        run_unseen=lambda command, permit, before_write: run(command, permit, before_write, lambda data: None),
        interrupt=interrupt,
        needs=lambda want, permit: next_permit(want, permit, fences, surroundings.directory, project()),
        who_asks=who_asks,
        fence=fences.kind or "",
        unattended_fence=fences.unattended_kind or "",
        trouble="; ".join(text for text in (judge.trouble, fences.trouble) if text),
        reads_keys=reads_keys,
    )


def _as_trash(command: str) -> str | None:
    """Return the deletion as a move to the trash by this installation of aish, which may not be on PATH."""
    text = as_trash(command)
    return text and f"{_SELF} {text}"


def _as_own(command: str) -> str | None:
    """Return the command for this very program if it only searches past conversations."""
    found = re.fullmatch(r"aish (?:search|recent|thread)(?!\S)[^|&;<>$`\\()\n]*", command.strip())
    return f"{_SELF} {found[0]}" if found else None
