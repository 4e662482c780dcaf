"""A command that was run, with what is known of the run."""

from aish.values.named_tuple import NamedTuple

LONGEST_COMMAND = 65_536  # characters; a longer one is pasted data, and a shortened one must never be run again
_LAST_TIME = 32_503_680_000.0  # the year 3000; a damaged history may have any number


class PastCommand(NamedTuple):
    """One run of a command. Histories of other shells know the text, and perhaps the time."""

    text: str
    time: float = 0.0  # the start in seconds since the epoch; 0 if unknown
    directory: str = ""
    status: int | None = None
    seconds: float | None = None
    host: str = ""
    conversation: str = ""
    source: str = "aish"  # or bash, zsh, fish, atuin; "typed": a line of the prompt that is no command

    @property
    def is_command(self) -> bool:
        return self.source != "typed"


def known_time(seconds: float) -> float:
    """Return the time of a command in seconds since the epoch; 0, unknown, if it makes no sense."""
    return float(seconds) if 0 < seconds < _LAST_TIME else 0.0
