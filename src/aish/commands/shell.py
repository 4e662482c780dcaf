"""The shell as colon commands see it, and the table of all commands."""

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
        """Record that the user is in another directory now."""
        self.session.cwd = self.program.cwd = Path(directory)

    @property
    def memory(self) -> Memory:
        """The curated memory. Raises `BadUsage` if memory is switched off."""
        if not self.session.remembers:
            raise BadUsage("memory is switched off for this run (--no-memory)")
        return self.program.memory


COMMANDS: Commands[Shell] = Commands()
