"""The interface that the notes commands use. The shell implements it, and so does `aish notes`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from aish.intake.commands import Commands

if TYPE_CHECKING:  # loaded when the first note is read
    from aish.memory.notes.channel_notes import ChannelNotes


class NotesScope(Protocol):
    """The notes of a channel, and the other parts that their commands need."""

    @property
    def channel(self) -> str: ...

    @property
    def notes(self) -> "ChannelNotes":
        """The notes. Raises `BadUsage` if they are switched off."""

    @property
    def width(self) -> int: ...

    @property
    def edit_text(self) -> Callable[[str, str], str]:
        """Opens the user's editor with a file name and a text, and returns the edited text."""


NOTES_COMMANDS: Commands[NotesScope] = Commands()
