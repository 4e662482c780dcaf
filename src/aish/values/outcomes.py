"""What became of a command that was run."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """How a command ended and what it printed, as far as that is kept."""

    status: int
    output: str
    directory: str = ""  # where the shell is afterwards
    moved: bool = False
    died: bool = False  # the shell ended with it
    unread: bytes = b""  # typed meanwhile, and read by nobody
