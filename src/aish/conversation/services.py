"""What all conversations of a program share: settings, stores and models, opened on first use."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from aish.conversation.channels import Channels
from aish.memory.conversations import Conversations
from aish.memory.curation import Memory
from aish.memory.redaction import Redaction
from aish.model.backend import Backend
from aish.model.cost import CostBook
from aish.model.estimate import Estimates
from aish.places import SkillFolder
from aish.settings.options import Settings
from aish.settings.trust import Trust
from aish.values.hits import Finder
from aish.values.named_tuple import NamedTuple

if TYPE_CHECKING:  # loaded when the first note or file is read
    from aish.action.project_files import ProjectFiles
    from aish.agent.tool import Tool
    from aish.conversation.layer import Layer
    from aish.conversation.recall import TurnRecall
    from aish.conversation.session import Session
    from aish.conversation.skills import Skills
    from aish.conversation.upkeep import Refreshed
    from aish.memory.notes.channel_notes import ChannelNotes
    from aish.memory.notes.document import Entry
    from aish.memory.notes.queue import QueuedRange


class Upkeep(Protocol):
    """What layers of the prompt need of `upkeep.py`, which is loaded on first use."""

    async def enter_channel(self, session: "Session") -> None: ...
    async def refresh_state(self, session: "Session", *, ask: bool = True, before: int = 0) -> "Refreshed": ...
    def state_text(self, session: "Session") -> str: ...
    def close_chapter(self, session: "Session", last: int = 0) -> "QueuedRange | None": ...
    def check_change(
        self, session: "Session", entry: "Entry", text: str, origin: str, *, said: bool
    ) -> tuple[str, str]: ...


class NewSession(Protocol):
    """Starts a conversation beside the current one, such as that of a sub-agent."""

    def __call__(
        self,
        *,
        remembers: bool = True,
        model: str = "",
        tools: "Sequence[Tool[Any]] | None" = None,
        about: Mapping[str, object] | None = None,
        layers: "Sequence[Layer] | None" = None,
    ) -> "Session":
        """`tools` are all that its model can be offered; `about` is added to the first line of its journal.

        `layers` are all of its prompt; by default those of every conversation.
        """


class Services(NamedTuple):
    """The parts that a conversation uses; program.py creates them."""

    settings: Settings
    conversations: Conversations
    costs: CostBook
    estimates: Estimates
    redaction: Redaction
    trust: Trust
    open_backend: Callable[[str], Backend]
    stand_ins: Callable[[str], Sequence[str]]  # smaller models, if this one cannot be loaded
    open_memory: Callable[[], tuple[Memory, str]]  # the text says why memory is read-only, if it is
    open_finder: Callable[[], Finder]
    channels: Channels
    present_notes: Callable[[str], frozenset[str]]  # by channel: the short names of notes that exist
    open_notes: Callable[[str], "ChannelNotes"]  # by channel
    open_upkeep: Callable[[], "Upkeep"]
    open_recall: Callable[[], "TurnRecall"]
    forget_recall: Callable[[], None]
    open_files: Callable[[], "ProjectFiles"]  # the files of projects, for the tools of the model
    skill_folders: Callable[[str, Path], Sequence[SkillFolder]]  # by channel and directory: those that exist
    open_skills: Callable[[], "Skills"]
    new_session: NewSession
    now: Callable[[], datetime]
