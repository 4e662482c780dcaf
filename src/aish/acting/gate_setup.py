"""Set up the tools of the gate when the first command is proposed: policy, sandbox, trash, allowed commands."""

import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aish.acting.gate import GateTools
from aish.acting.surroundings import Surroundings
from aish.action.allowed import Allowed
from aish.action.command_runner import CommandResult, run_command
from aish.action.command_table import CommandTable, load_table
from aish.action.policy import judge
from aish.action.sandbox import Wanted, default_limits, kind, narrowed, prepared, why, wrap
from aish.action.targets import survey
from aish.action.trash import as_trash
from aish.places import Places, home_directory
from aish.settings.options import Settings
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.verdicts import Verdict

# Without -P, a file `aish.py` in the current directory would run instead of this program.
_SELF = f"{shlex.quote(sys.executable)} -P -m"


def load(settings: Settings, places: Places, surroundings: Surroundings, project: Callable[[], Path]) -> GateTools:
    """Return the tools of one gate. `project` returns the folder that commands may write to."""
    options = settings.commands
    table, trouble = open_table(places.policy_file)
    allowed = Allowed(places.allowed, options.allow)
    available = kind(options.sandbox)

    def judge_here(command: str) -> Verdict:
        return judge(command, table, allowed.within(project()))

    def run(command: str, *, sandboxed: bool) -> CommandResult:
        environment = surroundings.environment()  # first, because the user's shell may still be starting
        started = _sandboxed(options.sandbox, places, project()) if sandboxed else run_command
        return started(
            command, surroundings.show, env=environment, directory=surroundings.directory, keys=surroundings.keys
        )

    return GateTools(
        judge=judge_here,
        survey=lambda words, directory: survey(words, directory).words(),
        as_trash=_as_trash,
        as_own=_as_own,
        allow=allowed.add,
        run=run,
        sandbox="" if available == "none" else available,
        trouble="; ".join(text for text in (trouble, why(options.sandbox)) if text),
    )


def _as_trash(command: str) -> str | None:
    """Return the deletion as a move to the trash by this installation of aish, which may not be on PATH."""
    text = as_trash(command)
    return text and f"{_SELF} {text}"


def _as_own(command: str) -> str | None:
    """Return the command for this very program if it only searches past conversations."""
    found = re.fullmatch(r"aish (?:search|recent|thread)(?!\S)[^|&;<>$`\\()\n]*", command.strip())
    return f"{_SELF} {found[0]}" if found else None


def _sandboxed(sandbox: Wanted, places: Places, project: Path) -> Callable[..., CommandResult]:
    """Return a function that runs a command which can write only to the project and cannot read the memory."""
    limits = default_limits(project, [places.data, places.state, places.config], home=home_directory())
    wanted = kind(sandbox)
    if wanted == "landlock" and narrowed(limits) and kind("bubblewrap") == "bubblewrap":
        wanted = "bubblewrap"  # Landlock cannot allow new files beside a hidden path
    match wanted:
        case "landlock":

            def locked(command: str, *rest: Any, **more: Any) -> CommandResult:
                with prepared(limits) as step:
                    return run_command(command, *rest, prepare=step, **more)

            return locked
        case "bubblewrap":

            def wrapped(command: str, *rest: Any, **more: Any) -> CommandResult:
                return run_command(command, *rest, wrap=lambda words: wrap(words, limits), **more)

            return wrapped
    return run_command


def open_table(path: Path) -> tuple[CommandTable, str]:
    """Return the command table with the user's entries, and an error message if these were ignored."""
    try:
        return load_table(tomllib.loads(path.read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return load_table(), ""
    except (OSError, ValueError, BadUsage, StoreTrouble) as error:
        return load_table(), f"{path} is ignored: {error}"
