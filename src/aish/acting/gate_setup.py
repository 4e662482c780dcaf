"""Set up the tools of the gate when the first command is proposed: policy, fences, trash, allowed commands."""

import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from aish.acting.command_fences import CommandFences, Permit
from aish.acting.gate import GateTools
from aish.acting.surroundings import Surroundings
from aish.action.allowed import Allowed
from aish.action.command_runner import CommandResult, run_command
from aish.action.command_table import CommandTable, load_table
from aish.action.fence.wants import Want, shown_from
from aish.action.policy import judge
from aish.action.targets import survey
from aish.action.terminal import Terminal
from aish.action.trash import as_trash
from aish.action.unfenced import is_harmless, reads_keys
from aish.memory.redaction import Redaction
from aish.places import Places, home_directory
from aish.settings.options import Settings
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.verdicts import Verdict

# Without -P, a file `aish.py` in the current directory would run instead of this program.
_SELF = f"{shlex.quote(sys.executable)} -P -m"
_NO_FENCE = "there is no fence here that would keep it from doing more"


def load(
    settings: Settings, places: Places, redaction: Redaction, surroundings: Surroundings, project: Callable[[], Path]
) -> GateTools:
    """Return the tools of one gate. `project` returns the folder that commands may write to."""
    table, trouble = open_table(places.policy_file)
    allowed = Allowed(places.allowed, settings.commands.allow)
    fences = open_fences(settings, places, redaction)
    running: list[Terminal] = []

    def run(command: str, permit: Permit) -> CommandResult:
        environment = surroundings.environment()  # first, because the user's shell may still be starting
        directory = surroundings.directory
        types = permit.fence != "looking" or reads_keys(command)
        with fences.around(permit, environment, directory, project()) as (fence, env):
            done = run_command(
                command,
                surroundings.show,
                env=env,
                directory=directory,
                keys=surroundings.keys if types else None,
                fence=fence,
                reads_input=types,
                started=lambda terminal: running.__setitem__(slice(None), [terminal]),
            )
        return done._replace(wants=shown_from(done.wants, os.path.realpath(directory), str(home_directory() or "")))

    def interrupt() -> None:
        for terminal in running:
            terminal.interrupt()

    return GateTools(
        judge=lambda command: judge_here(command, table, allowed, fences, project()),
        survey=lambda words, directory: survey(words, directory).words(),
        as_trash=_as_trash,
        as_own=_as_own,
        allow=allowed.add,
        run=run,
        interrupt=interrupt,
        needs=lambda want, permit: next_permit(want, permit, fences, surroundings.directory, project()),
        who_asks=lambda command: "",
        fence=fences.kind or "",
        trouble="; ".join(text for text in (trouble, fences.trouble) if text),
    )


def open_fences(settings: Settings, places: Places, redaction: Redaction) -> CommandFences:
    """Return the fences of this user."""
    options = settings.commands
    own = [places.data, places.state, places.config, places.cache]
    return CommandFences(
        options.sandbox,
        own,
        home=home_directory(),
        has_secret=lambda text: redaction.text(text) != text,
        passed_on=options.pass_variables,
        seconds=options.unasked_seconds,
    )


def judge_here(command: str, table: CommandTable, allowed: Allowed, fences: CommandFences, project: Path) -> Verdict:
    """Judge a command. Without a fence only a few programs run unasked."""
    verdict = judge(command, table, allowed.within(project))
    if verdict.verdict == "run" and verdict.effect == "read" and not fences.kind and not is_harmless(command):
        return verdict._replace(verdict="ask", reason=_NO_FENCE)
    return verdict


def next_permit(
    want: Want, permit: Permit, fences: CommandFences, directory: str, project: Path
) -> Permit | None:
    """Return the permit that allows a command what a fence stopped; None if no fence allows it."""
    if want.kind in ("reach", "listen", "socket"):
        return permit._replace(fence="changing", network=True)
    if want.kind == "limit":
        return permit._replace(fence="changing") if permit.fence == "looking" else None
    if want.kind != "write":
        return None
    top, home = os.path.realpath(project), home_directory()
    path = os.path.join(os.path.realpath(directory), os.path.expanduser(want.path))  # noqa: PTH111, PTH118  # as text
    if not path.startswith(f"{top}/") or (home and os.path.realpath(home).startswith(top)):
        return None
    if found := fences.needs_word(path, project):
        return permit._replace(fence="changing", may_change=tuple(dict.fromkeys((*permit.may_change, found))))
    return permit._replace(fence="changing")


def _as_trash(command: str) -> str | None:
    """Return the deletion as a move to the trash by this installation of aish, which may not be on PATH."""
    text = as_trash(command)
    return text and f"{_SELF} {text}"


def _as_own(command: str) -> str | None:
    """Return the command for this very program if it only searches past conversations."""
    found = re.fullmatch(r"aish (?:search|recent|thread)(?!\S)[^|&;<>$`\\()\n]*", command.strip())
    return f"{_SELF} {found[0]}" if found else None


def open_table(path: Path) -> tuple[CommandTable, str]:
    """Return the command table with the user's entries, and an error message if these were ignored."""
    try:
        return load_table(tomllib.loads(path.read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return load_table(), ""
    except (OSError, ValueError, BadUsage, StoreTrouble) as error:
        return load_table(), f"{path} is ignored: {error}"
