"""Hits: turns that were found, where they stand, and why.

Pure: plain values.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from aish.values.items import stamp
from aish.values.times import local
from aish.values.turns import Role

NO_DATE = "no date"


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
    title: str = ""  # of the conversation, where its source has given one
    ref: str = ""
    score: float = 0.0
    why: str = ""
    state: str = ""  # "interrupted" or "failed", where it did not come to its end

    @property
    def speaker(self) -> str:
        """Who said it, in a word, and whether it broke off."""
        model = "assistant" if self.source else "aish"  # what another program answered, we did not
        who = self.name or {"user": "you", "assistant": model, "tool": "tool"}[self.role]
        return f"{who} [{self.state}]" if self.state else who

    @property
    def when(self) -> str:
        """When it was said, on the user's clock; what was imported without a time lies where all clocks began."""
        return local(self.time) if self.time.year > 1970 else NO_DATE

    def record(self) -> dict[str, Any]:
        """The hit as programs get it."""
        fields = self._asdict() | {"time": stamp(self.time), "ref": self.ref or f"{self.conversation}/{self.turn}"}
        if_any = ("channel", "source", "title", "state")
        return {name: value for name, value in fields.items() if name not in if_any or value}


class SearchResult(NamedTuple):
    """What a search came to."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()  # what was not understood, or not looked at, in words
    asked: tuple[tuple[str, str], ...] = ()  # how the question was understood: names and values in words
    considered: int = 0  # turns that were weighed
    milliseconds: float = 0.0
    sought: tuple[str, ...] = ()  # the words that were looked for, as an index has them


class Scope(NamedTuple):
    """What may be found; empty and None mean anything."""

    channel: str = ""
    role: str = ""
    since: datetime | None = None
    until: datetime | None = None


EVERYWHERE = Scope()
Unit = Literal["turn", "exchange", "thread", "day"]
UNITS: tuple[Unit, ...] = ("turn", "exchange", "thread", "day")
THREAD_TURNS = 10  # that are shown of each conversation, where conversations are counted


class Finder(Protocol):
    """Finds what was said in all conversations."""

    def search(self, query: str, limit: int = 20, scope: Scope = EVERYWHERE) -> SearchResult:
        """The turns that fit a question best. Never an error, whatever is asked."""

    def recent(self, limit: int = 20, scope: Scope = EVERYWHERE, by: Unit = "turn") -> list[Hit]:
        """The newest turns, newest first: so many turns, or those of so many exchanges, conversations or days.

        Of a conversation these are its newest `THREAD_TURNS`.
        """

    def thread(self, conversation: str, around: int | None = None, count: int = 5) -> list[Hit]:
        """The turns of a conversation, or those around one of them. Raises `StoreTrouble` if it cannot be read."""

    def days(self, since: datetime) -> list[tuple[str, int, str]]:
        """Each day that has turns since then: how many, and the words that it was about."""

    def marks(self, text: str, sought: Collection[str]) -> list[tuple[int, int]]:
        """Which characters of a text are words that a search sought."""

    def missing(self) -> tuple[str, ...]:
        """What was not looked at, or could not be read, when something was looked for last; in words."""

    def drop(self) -> None:
        """Delete what was derived to find things; it is made again. Raises `StoreTrouble`."""

    def moment(self, text: str, *, end: bool = False) -> datetime | None:
        """The moment that words mean, or with `end` the one after what they mean."""

    def times(self, text: str) -> list[tuple[datetime | None, datetime | None]]:
        """The parts of the past that a text speaks of."""

    def catch_up(self, *, wait: bool = False, stop: Callable[[], bool] = lambda: False) -> str:
        """Bring the index up to date unless told to `stop`, and say what stands in the way.

        `wait` shows how far it is, and waits for another process that is at it.
        """
