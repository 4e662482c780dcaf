"""The surroundings of a model's command: its environment, its directory, and where its output goes."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from aish.values.outcomes import Outcome


class HasOutcome(Protocol):
    """What is known of a command that has run."""

    @property
    def outcome(self) -> Outcome: ...


T = TypeVar("T")
R = TypeVar("R", bound=HasOutcome)


class Surroundings(Protocol):
    """The surroundings that an entry point gives to commands, with a terminal or without one."""

    @property
    def directory(self) -> str:
        """The directory in which a command starts."""

    @property
    def keys(self) -> int | None:
        """The descriptor whose keys go to the command; None if nobody can type."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables for a command."""

    def show(self, data: bytes) -> None:
        """Pass on the output of a command."""

    async def in_thread(self, work: Callable[[], T], interrupt: Callable[[], None]) -> T:
        """Do slow work outside the event loop. Meanwhile Ctrl-C calls `interrupt`."""

    async def folded(self, command: str, work: Callable[[], R], interrupt: Callable[[], None]) -> R:
        """Run a command that nobody was asked about, like `in_thread`. Meanwhile `show` keeps its output.

        Afterwards the command is shown, with its output or, if that is long, with its size.
        """

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Apply a directory and environment changes to the user's shell."""


class PlainSurroundings:
    """Surroundings without a terminal: the environment of this process, and output that is only captured."""

    keys: int | None = None

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)

    def environment(self) -> Mapping[str, str]:
        return dict(os.environ)

    def show(self, data: bytes) -> None:
        """Do nothing: there is no terminal."""

    async def in_thread(self, work: Callable[[], T], interrupt: Callable[[], None]) -> T:
        return await asyncio.to_thread(work)

    async def folded(self, command: str, work: Callable[[], R], interrupt: Callable[[], None]) -> R:
        return await self.in_thread(work, interrupt)

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Do nothing: there is no user shell."""
