"""The outcome of a command."""

from aish.values.named_tuple import NamedTuple


class Outcome(NamedTuple):
    """The exit status of a command, and the part of its output that is kept."""

    status: int
    output: str
    directory: str = ""  # the current directory of the shell afterwards
    moved: bool = False
    died: bool = False  # the shell exited with the command
    unread: bytes = b""  # typed during the command, but not read by it
    left: bool = False  # the shell ended because the user wanted it: `exit`, `exec`
