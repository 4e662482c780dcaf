"""What the gate works with, put together when a command is proposed first: policy, sandbox, trash, what was allowed."""

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
from aish.action.sandbox import Wanted, fence_around, kind, narrowed, prepared, why, wrap
from aish.action.targets import survey
from aish.action.trash import as_trash
from aish.places import Places, home_directory
from aish.settings.options import Settings
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.verdicts import Verdict

# Without -P a file `aish.py` of the directory we are in would run in our place.
_SELF = f"{shlex.quote(sys.executable)} -P -m"


def load(settings: Settings, places: Places, surroundings: Surroundings, project: Callable[[], Path]) -> GateTools:
    """The tools of one gate. `project` tells the folder that commands may write to."""
    options = settings.commands
    table, trouble = open_table(places.policy_file)
    allowed = Allowed(places.allowed, options.allow)
    fenced = kind(options.sandbox)

    def judge_here(command: str) -> Verdict:
        return judge(command, table, allowed.within(project()))

    def run(command: str, *, fenced: bool) -> CommandResult:
        environment = surroundings.environment()  # first: the user's shell may still have to start
        started = _fence(options.sandbox, places, project()) if fenced else run_command
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
        sandbox="" if fenced == "none" else fenced,
        trouble="; ".join(text for text in (trouble, why(options.sandbox)) if text),
    )


def _as_trash(command: str) -> str | None:
    """The same deletion as a move to the trash, by this program: it need not be on the path."""
    text = as_trash(command)
    return text and f"{_SELF} {text}"


def _as_own(command: str) -> str | None:
    """A search in what was said, by this program, if the command is nothing but that."""
    found = re.fullmatch(r"aish (?:search|recent|thread)(?!\S)[^|&;<>$`\\()\n]*", command.strip())
    return f"{_SELF} {found[0]}" if found else None


def _fence(sandbox: Wanted, places: Places, project: Path) -> Callable[..., CommandResult]:
    """A way to run a command that can write nothing but the project, and not read what is remembered."""
    fence = fence_around(project, [places.data, places.state, places.config], home=home_directory())
    wanted = kind(sandbox)
    if wanted == "landlock" and narrowed(fence) and kind("bubblewrap") == "bubblewrap":
        wanted = "bubblewrap"  # Landlock cannot let anything be made beside what is hidden
    match wanted:
        case "landlock":

            def locked(command: str, *rest: Any, **more: Any) -> CommandResult:
                with prepared(fence) as step:
                    return run_command(command, *rest, prepare=step, **more)

            return locked
        case "bubblewrap":

            def wrapped(command: str, *rest: Any, **more: Any) -> CommandResult:
                return run_command(command, *rest, wrap=lambda words: wrap(words, fence), **more)

            return wrapped
    return run_command


def open_table(path: Path) -> tuple[CommandTable, str]:
    """The commands that are known, with the user's own, and what is wrong with those; then they do not count."""
    try:
        return load_table(tomllib.loads(path.read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return load_table(), ""
    except (OSError, ValueError, BadUsage, StoreTrouble) as error:
        return load_table(), f"{path} is ignored: {error}"
