"""What a colon command may use, and the table they are in."""

from dataclasses import dataclass
from pathlib import Path

from aish.conversation.session import Session
from aish.intake.commands import Commands
from aish.memory.curation import Memory
from aish.program import Program
from aish.values.errors import BadUsage
from aish.values.person import Person


@dataclass(slots=True)
class Shell:
    """The running shell as commands see it."""

    program: Program
    session: Session
    person: Person
    width: int = 80
    leaving: bool = False

    def enter(self, directory: str) -> None:
        """The user has gone to another directory."""
        self.session.cwd = self.program.cwd = Path(directory)

    @property
    def memory(self) -> Memory:
        """What is remembered. Raises `BadUsage` where it is switched off."""
        if not self.session.remembers:
            raise BadUsage("memory is switched off for this run (--no-memory)")
        return self.program.memory


COMMANDS: Commands[Shell] = Commands()
