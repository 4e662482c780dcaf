"""Hits: turns that a search found, where they are, and why they match.

Pure: plain values.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, Literal, Protocol

from aish.values.items import stamp
from aish.values.named_tuple import NamedTuple
from aish.values.times import local
from aish.values.turns import Role, speaker

NO_DATE = "no date"


def local_or_no_date(time: datetime) -> str:
    """Return a moment in local time; undated imports have the epoch, shown as no date."""
    return local(time) if time.year > 1970 else NO_DATE


class Hit(NamedTuple):
    """A turn that was found. `source` is the program it was imported from, empty for our own."""

    conversation: str
    turn: int
    time: datetime
    role: Role
    text: str
    name: str = ""
    channel: str = ""
    source: str = ""
    title: str = ""  # of the conversation, if its source has one
    ref: str = ""
    score: float = 0.0
    why: str = ""
    state: str = ""  # "interrupted" or "failed" if the turn is incomplete
    model: str = ""  # that gave the answer
    said_from: int = 0  # where in the text the speaker's own words begin, after output of commands or piped input
    beside: bool = False  # nothing in it matches; it is near turns that do

    @property
    def says_nothing(self) -> bool:
        """Are there no words of the speaker, but only output of commands, or calls of tools?"""
        return bool(self.text) and self.said_from >= len(self.text)

    @property
    def speaker(self) -> str:
        """The speaker, in one word, and the state of an incomplete turn."""
        own = "output" if self.role == "user" and self.says_nothing else ""
        who = self.name or own or speaker(self.role, "assistant" if self.source else self.model)
        return f"{who} [{self.state}]" if self.state else who

    @property
    def when(self) -> str:
        """The local time of the turn."""
        return local_or_no_date(self.time)

    def record(self) -> dict[str, Any]:
        """Return the hit as a record for JSON output."""
        fields = self._asdict() | {"time": stamp(self.time), "ref": self.ref or f"{self.conversation}/{self.turn}"}
        optional = ("channel", "source", "title", "state", "beside", "model")
        del fields["said_from"]
        return {name: value for name, value in fields.items() if name not in optional or value}


class SearchResult(NamedTuple):
    """The result of a search."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()  # messages about what was not understood or not searched
    asked: tuple[tuple[str, str], ...] = ()  # how the query was understood: names and values as text
    considered: int = 0  # turns that were scored
    milliseconds: float = 0.0
    sought: tuple[str, ...] = ()  # the search terms, as in the index


class Scope(NamedTuple):
    """Filters of a search; empty and None mean anything."""

    channel: str = ""
    role: str = ""
    since: datetime | None = None
    until: datetime | None = None


EVERYWHERE = Scope()
Unit = Literal["turn", "exchange", "thread", "day"]
UNITS: tuple[Unit, ...] = ("turn", "exchange", "thread", "day")
THREAD_TURNS = 10  # shown per conversation when the unit is `thread`


class Finder(Protocol):
    """Searches all conversations."""

    def search(self, query: str, limit: int = 20, scope: Scope = EVERYWHERE) -> SearchResult:
        """Return the turns that match a query best. Never raises."""

    def recent(self, limit: int = 20, scope: Scope = EVERYWHERE, by: Unit = "turn") -> list[Hit]:
        """Return the newest turns, newest first: `limit` turns, or those of `limit` exchanges, conversations or days.

        Each conversation gives at most its newest `THREAD_TURNS`.
        """

    def thread(self, conversation: str, around: int | None = None, count: int = 5) -> list[Hit]:
        """Return the turns of a conversation, or those around one turn. Raises `StoreTrouble`."""

    def days(self, since: datetime) -> list[tuple[str, int, str]]:
        """Return each day with turns since then: the day, the number of turns, and its main words."""

    def marks(self, text: str, sought: Collection[str]) -> list[tuple[int, int]]:
        """Return the ranges of characters in a text that match the search terms."""

    def missing(self) -> tuple[str, ...]:
        """Return messages about what the last search skipped or could not read."""

    def drop(self) -> None:
        """Delete the index; it is rebuilt on demand. Raises `StoreTrouble`."""

    def moment(self, text: str, *, end: bool = False) -> datetime | None:
        """Return the moment that a text means; with `end`, the end of that period."""

    def times(self, text: str) -> list[tuple[datetime | None, datetime | None]]:
        """Return the time ranges that a text mentions."""

    def catch_up(self, *, wait: bool = False, stop: Callable[[], bool] = lambda: False) -> str:
        """Update the index until `stop` returns true, and return a message if something prevents it.

        `wait` shows progress, and waits for another process that is updating.
        """
