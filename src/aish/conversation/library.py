"""The library: all conversations of this user, and the search in them."""

from collections.abc import Callable
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

    def moment(self, text: str, *, end: bool = False) -> datetime:
        """Return the start of the time that the words name, or with `end` its end. Raises `BadUsage`."""
        found = self.finder.moment(text, end=end)
        if found is None:
            raise BadUsage(
                f"{one_line(text, 40)!r} is not a time; try 2026-11-15, yesterday, “last week” or “3 days ago”"
            )
        return found
