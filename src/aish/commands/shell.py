"""What a colon command may use, and the table they are in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aish.conversation.program import Program
from aish.conversation.session import Session
from aish.intake.commands import Commands
from aish.intake.past_questions import shows_past
from aish.memory.curation import Memory
from aish.values.errors import BadUsage
from aish.values.outcomes import Outcome
from aish.values.person import Person


class UserShellPort(Protocol):
    """The user's own shell, as far as commands know it."""

    directory: str

    def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Make a directory and an environment the user's own."""


@dataclass(slots=True)
class Shell:
    """The running shell as commands see it."""

    program: Program
    session: Session
    person: Person
    user_shell: UserShellPort | None = None  # the user's own shell, where there is a prompt
    width: int = 80
    leaving: bool = False

    def enter(self, directory: str) -> None:
        """The user has gone to another directory."""
        self.session.cwd = self.program.cwd = Path(directory)

    def hold(self, command: str, outcome: Outcome) -> None:
        """Keep what a command printed for the next question, without its secrets."""
        ended = f"\n[exit status {outcome.status}]" if outcome.status else ""
        output = self.program.redaction.text(f"$ {command}\n{outcome.output}{ended}")
        self.session.history.hold(output, recalled=shows_past(command))

    @property
    def memory(self) -> Memory:
        """What is remembered. Raises `BadUsage` where it is switched off."""
        if not self.session.remembers:
            raise BadUsage("memory is switched off for this run (--no-memory)")
        return self.program.memory


COMMANDS: Commands[Shell] = Commands()
