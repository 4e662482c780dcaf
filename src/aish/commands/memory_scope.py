"""The interface that the memory commands use. The shell implements it, and so does `aish memory`."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from aish.intake.commands import Commands
from aish.places import Places
from aish.values.named_tuple import NamedTuple
from aish.values.person import Person

if TYPE_CHECKING:  # loaded only by the verbs that use them
    from aish.memory.conversations import Conversations
    from aish.memory.curation import Memory
    from aish.values.events import Notice
    from aish.values.hits import Finder


class Background(NamedTuple):
    """The memory block in the prompt."""

    text: str
    ids: tuple[int, ...]
    notices: "Sequence[Notice]"


class MemoryScope(Protocol):
    """Memory, and the other parts that its commands need. Each part is opened on first use."""

    person: Person

    @property
    def memory(self) -> "Memory":
        """Curated memory. Raises `BadUsage` if it is switched off."""

    @property
    def places(self) -> Places: ...

    @property
    def conversations(self) -> "Conversations": ...

    @property
    def finder(self) -> "Finder": ...

    def now(self) -> datetime: ...

    def said_where(self) -> dict[str, Any]:
        """Return the current conversation and turn as fields of an item; empty outside of a conversation."""

    def memory_changed(self) -> "Sequence[Notice]":
        """Update the prompt after a change, if there is a prompt. Return warnings."""

    def read_background(self) -> Background:
        """Load memory into the prompt again. Outside of a conversation this opens the whole program."""

    def erase_from_prompt(self, phrases: list[str]) -> None:
        """Remove purged words from the conversation in progress, if there is one."""


MEMORY_COMMANDS: Commands[MemoryScope] = Commands()
