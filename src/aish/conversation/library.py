"""The library: all conversations of this user, and the search in them."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aish.conversation.channels import Channels, check_channel
from aish.memory.conversations import Conversations
from aish.memory.redaction import Redaction
from aish.places import Places
from aish.settings.layers import Loaded
from aish.settings.options import Settings
from aish.storage.lines import open_log
from aish.values.channels import is_channel
from aish.values.errors import BadUsage, NotFound
from aish.values.hits import Finder
from aish.values.text import one_line

if TYPE_CHECKING:  # loaded when the first note is read
    from aish.conversation.recall import TurnRecall
    from aish.memory.notes.channel_notes import ChannelNotes

ShowProgress = Callable[[str], Callable[[int, int], None]]  # takes a title, returns progress(done, total)


class Library:
    """What searching and reading conversations needs. It does not need a model."""

    def __init__(
        self,
        *,
        loaded: Loaded,
        places: Places,
        redaction: Redaction,
        cwd: Path,
        progress: ShowProgress | None = None,
    ) -> None:
        self.loaded, self.places, self.redaction, self.cwd = loaded, places, redaction, cwd
        self.progress = progress  # shows the progress of long work
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.open_finder: Callable[[], Finder] | None = None
        self._finder: Finder | None = None
        self.open_notes: Callable[[Library, str], ChannelNotes] | None = None
        self._notes: dict[str, ChannelNotes] = {}
        self.open_recall: Callable[[Library], TurnRecall] | None = None
        self._recall: TurnRecall | None = None

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def conversations(self) -> Conversations:
        return Conversations(self.places.sessions, self.redaction)

    @property
    def finder(self) -> Finder:
        """The search in all conversations, opened on first use."""
        if self._finder is None:
            assert self.open_finder
            self._finder = self.open_finder()
        return self._finder

    @property
    def channels(self) -> Channels:
        """The channels, and the directories that the user has linked to them."""
        return Channels(open_log(self.places.channel_links, "linked channels"))

    def channel_names(self) -> list[str]:
        """Return the channels that have notes."""
        return self.notes(self.channels.at(self.cwd)).channels()

    def find_channel(self, wanted: str) -> str:
        """Return the channel with this name, or the one of the project. Raises `NotFound` and `BadUsage`."""
        if not wanted:
            return self.channels.at(self.cwd)
        matching = [name for name in self.channel_names() if is_channel(name, wanted)]
        if len(matching) == 1:
            return matching[0]
        check_channel(wanted)
        known = f"{wanted!r} could be {' or '.join(matching)}" if matching else f"there is no channel {wanted!r}"
        raise NotFound(f"{known}; :channel lists them")

    def present_notes(self, channel: str) -> frozenset[str]:
        """Return the short names of the notes that exist, without loading what reads them."""
        workspace, own = self.places.workspace, self.places.channel(channel)
        files = {"soul": workspace / "SOUL.md", "agents": workspace / "AGENTS.md", "workspace": workspace / "MEMORY.md"}
        files |= {name: own / f"{name.upper()}.md" for name in ("session", "memory", "history")}
        return frozenset(name for name, path in files.items() if os.path.lexists(path))

    def notes(self, channel: str) -> "ChannelNotes":
        """The notes of a channel, opened on first use."""
        if channel not in self._notes:
            assert self.open_notes
            self._notes[channel] = self.open_notes(self, channel)
        return self._notes[channel]

    @property
    def recall(self) -> "TurnRecall":
        """What chooses notes and items for a question, opened on first use."""
        if self._recall is None:
            assert self.open_recall
            self._recall = self.open_recall(self)
        return self._recall

    def forget_recall(self) -> None:
        """Drop what recall has read, because something was purged."""
        self._recall = None

    def moment(self, text: str, *, end: bool = False) -> datetime:
        """Return the start of the time that the words name, or with `end` its end. Raises `BadUsage`."""
        found = self.finder.moment(text, end=end)
        if found is None:
            raise BadUsage(
                f"{one_line(text, 40)!r} is not a time; try 2026-11-15, yesterday, “last week” or “3 days ago”"
            )
        return found
