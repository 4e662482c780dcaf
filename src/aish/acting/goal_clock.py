"""The time that a goal has used. It stands still while the user is asked something."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from aish.values.person import Person


class GoalClock:
    """Counts seconds from its start, without those of questions."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._started, self._paused = now(), 0.0
        self._asked: float | None = None  # when the open question began

    @property
    def seconds(self) -> float:
        return (self._now() if self._asked is None else self._asked) - self._started - self._paused

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Do not count what is in this context."""
        outer, self._asked = self._asked, self._now() if self._asked is None else self._asked
        try:
            yield
        finally:
            if outer is None:
                self._paused += self._now() - self._asked
            self._asked = outer


class TimedPerson:
    """The user, with a clock that stands still while a question waits for an answer."""

    def __init__(self, person: Person, clock: GoalClock) -> None:
        self._person, self._clock = person, clock

    async def confirm(self, question: str) -> bool:
        with self._clock.standing_still():
            return await self._person.confirm(question)

    async def key(self, question: str, keys: str) -> str:
        with self._clock.standing_still():
            return await self._person.key(question, keys)

    async def line(self, question: str) -> str:
        with self._clock.standing_still():
            return await self._person.line(question)

    async def word(self, question: str, words: Collection[str]) -> str:
        with self._clock.standing_still():
            return await self._person.word(question, words)

    async def edit(self, text: str) -> str:
        with self._clock.standing_still():
            return await self._person.edit(text)

    async def show(self, difference: str) -> None:
        await self._person.show(difference)
