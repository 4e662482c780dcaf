"""Judge a command of the model at its place: by the policy, by what the user always allows, and by the fence."""

import tomllib
from pathlib import Path

from aish.acting.command_fences import CommandFences
from aish.action.allowed import Allowed
from aish.action.command_table import CommandTable, load_table
from aish.action.policy import judge
from aish.action.targets import settled
from aish.action.unfenced import is_harmless
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.verdicts import Verdict

_LASTING = ("change", "send")  # effects that can be allowed permanently
_NO_FENCE = "there is no fence here that would keep it from doing more"


class LocalJudge:
    """Judges commands. `trouble` says why the user's own entries of the table were ignored."""

    def __init__(self, policy_file: Path, allowed: Allowed, fences: CommandFences) -> None:
        self._table, self.trouble = open_table(policy_file)
        self._allowed, self._fences = allowed, fences

    def __call__(self, command: str, directory: Path, project: Path) -> Verdict:
        """Judge a command in a directory of a project. Without a fence only a few programs run unasked."""
        verdict = settled(judge(command, self._table, self._allowed.within(project)), directory)
        if verdict.verdict == "ask" and verdict.effect in _LASTING and self._allowed.is_command(command, project):
            return Verdict("run", verdict.effect, "you always allow it")
        if verdict.verdict == "run" and verdict.effect == "read" and not self._fences.kind and not is_harmless(command):
            return verdict._replace(verdict="ask", reason=_NO_FENCE)
        return verdict


def open_table(path: Path) -> tuple[CommandTable, str]:
    """Return the command table with the user's entries, and an error message if these were ignored."""
    try:
        return load_table(tomllib.loads(path.read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return load_table(), ""
    except (OSError, ValueError, BadUsage, StoreTrouble) as error:
        return load_table(), f"{path} is ignored: {error}"
