"""Exit codes that a script can use."""

from typing import TYPE_CHECKING

from aish.values.errors import AishError, BadUsage, StoreTrouble

if TYPE_CHECKING:  # verbs use the codes without a turn
    from aish.values.events import TurnDone

OK = 0
NOTHING = 1  # nothing found, or declined
USAGE = 2
MODEL = 3  # the model failed or could not be reached
STORE = 4
BUG = 70
INTERRUPTED = 130


def exit_code(error: AishError) -> int:
    match error:
        case BadUsage():
            return USAGE
        case StoreTrouble():
            return STORE
    return NOTHING


def answer_code(done: "TurnDone | None") -> int:
    """Return the exit code for an answer."""
    if done is None:
        return MODEL
    if done.trouble:
        return NOTHING if done.trouble.trouble == "declined" else MODEL
    return OK
