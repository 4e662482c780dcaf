"""The shell as colon commands see it, and the table of all commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aish.conversation.session import Session
from aish.intake.commands import Commands
from aish.memory.curation import Memory
from aish.program import Program
from aish.values.errors import BadUsage
from aish.values.person import Person

if TYPE_CHECKING:  # few commands need it, and the verbs of the command line never do
    from aish.acting.worker import Worker
    from aish.intake.route_choices import LineRouter
    from aish.memory.command_history.past_commands import PastCommands


@dataclass(slots=True)
class Shell:
    """The running shell as commands see it."""

    program: Program
    session: Session
    person: Person
    worker: Worker | None = None  # works on questions and goals; None where nobody can watch
    router: LineRouter | None = None  # None where no lines are typed
    width: int = 80
    height: int = 0  # rows of the screen; 0: there is none
    leaving: bool = False
    model_was_switched: bool = False  # the user has chosen in this shell which model answers
    on_setting: Callable[[str], None] = lambda key: None  # shows the effect of a setting that was changed
    past: PastCommands | None = None  # the commands that the user ran; None where nobody types

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
