"""What the commands of memory may use. The shell offers it, and so does `aish memory`, which has no conversation."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from aish.intake.commands import Commands
from aish.places import Places
from aish.values.person import Person

if TYPE_CHECKING:  # a verb that needs none of them does not load them
    from aish.memory.conversations import Conversations
    from aish.memory.curation import Memory
    from aish.values.events import Notice
    from aish.values.hits import Finder


class Background(NamedTuple):
    """The block of memory in the prompt."""

    text: str
    ids: tuple[int, ...]
    notices: "Sequence[Notice]"


class MemoryScope(Protocol):
    """Memory, and as much of the rest as its commands need. Parts are opened when they are first used."""

    person: Person

    @property
    def memory(self) -> "Memory":
        """Curated memory. Raises `BadUsage` where it is switched off."""

    @property
    def places(self) -> Places: ...

    @property
    def conversations(self) -> "Conversations": ...

    @property
    def finder(self) -> "Finder": ...

    def now(self) -> datetime: ...

    def said_where(self) -> dict[str, Any]:
        """The conversation and turn that an item is said in; empty outside of a conversation."""

    def memory_changed(self) -> "Sequence[Notice]":
        """Bring a change into the prompt, if there is one. Returns warnings."""

    def read_background(self) -> Background:
        """Bring memory into the prompt again. A verb opens the whole program for it."""

    def erase_from_prompt(self, phrases: list[str]) -> None:
        """Remove purged words from the conversation in progress, if there is one."""


MEMORY_COMMANDS: Commands[MemoryScope] = Commands()
