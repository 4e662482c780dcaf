"""What a colon command may use, and the table they are in."""

from dataclasses import dataclass

from aish.conversation.program import Program
from aish.conversation.session import Session
from aish.conversation.turn import Confirm
from aish.intake.commands import Commands


@dataclass(slots=True)
class Shell:
    """The running shell as commands see it."""

    program: Program
    session: Session
    confirm: Confirm
    width: int = 80
    leaving: bool = False


COMMANDS: Commands[Shell] = Commands()
