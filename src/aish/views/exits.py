"""Exit codes that a script can use."""

from aish.values.errors import AishError, BadUsage, NotFound, StoreTrouble

OK = 0
NOTHING = 1  # nothing found, or declined
USAGE = 2
MODEL = 3  # the model could not be had
STORE = 4
INTERRUPTED = 130


def exit_code(error: AishError) -> int:
    match error:
        case BadUsage():
            return USAGE
        case StoreTrouble():
            return STORE
        case NotFound():
            return NOTHING
    return NOTHING
