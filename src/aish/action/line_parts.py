"""The parts of a parsed command line.

Pure: plain values.
"""

from typing import Literal

from aish.action.command_words import CommandWord
from aish.values.named_tuple import NamedTuple

Dialect = Literal["bash", "posix", "other"]  # which shell reads a line; "other" ones have a grammar of their own


class Redirect(NamedTuple):
    """A redirection: its operator and its target; a here-document has no target."""

    operator: str
    target: CommandWord | None = None


class Simple(NamedTuple):
    """One simple command; `feed` holds the commands before it in its pipeline."""

    words: tuple[CommandWord, ...] = ()
    assigns: tuple[tuple[str, CommandWord], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    feed: tuple["Simple", ...] = ()


class CommandLine(NamedTuple):
    """All simple commands of a line, and the words that belong to none of them.

    `bound`: variables that it sets by other means than an assignment. `commented`: a comment follows a command.
    """

    parts: tuple[Simple, ...]
    mentioned: tuple[CommandWord, ...]
    bound: tuple[tuple[str, CommandWord], ...] = ()
    commented: bool = False
