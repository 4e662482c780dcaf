"""The library: all conversations of this user, and what finds in them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aish.memory.conversations import Conversations
from aish.memory.redaction import Redaction
from aish.places import Places
from aish.settings.layers import Loaded
from aish.settings.options import Settings
from aish.values.errors import BadUsage
from aish.values.hits import Finder
from aish.values.text import one_line

ShowProgress = Callable[[str], Callable[[int, int], None]]  # of what, then how much is done of how much


@dataclass(slots=True, kw_only=True)
class Library:
    """What is needed to find and read what was said: no model, and nothing that talks to one."""

    loaded: Loaded
    places: Places
    redaction: Redaction
    cwd: Path
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    progress: ShowProgress | None = None  # a view that shows how far long work is
    open_finder: Callable[[], Finder] | None = None
    _finder: Finder | None = None

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def conversations(self) -> Conversations:
        return Conversations(self.places.sessions, self.redaction)

    @property
    def finder(self) -> Finder:
        """What finds in all conversations, opened on first use."""
        if self._finder is None:
            assert self.open_finder
            self._finder = self.open_finder()
        return self._finder

    def moment(self, text: str, *, end: bool = False) -> datetime:
        """The moment that words mean, or with `end` the one after what they mean. Raises `BadUsage`."""
        found = self.finder.moment(text, end=end)
        if found is None:
            raise BadUsage(f"{one_line(text, 40)!r} is no time; try 2026-11-15, yesterday, “last week” or “3 days ago”")
        return found
