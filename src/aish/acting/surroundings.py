"""Where commands of the model run: with which environment, in which directory, and in whose sight."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

T = TypeVar("T")


class Surroundings(Protocol):
    """The place of a door where commands run. A terminal has one, and so has a door that nobody sees."""

    @property
    def directory(self) -> str:
        """Where a command starts."""

    @property
    def keys(self) -> int | None:
        """The descriptor whose keys go to the command; None where nobody can type."""

    def environment(self) -> Mapping[str, str]:
        """The variables that a command starts with."""

    def show(self, data: bytes) -> None:
        """Pass on what a command prints."""

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do slow work off the event loop. Ctrl-C belongs to the command meanwhile."""

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Make a directory and an environment the user's own."""


class PlainSurroundings:
    """Commands run with the environment of this process, and what they print is only collected."""

    keys: int | None = None

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)

    def environment(self) -> Mapping[str, str]:
        return dict(os.environ)

    def show(self, data: bytes) -> None:
        """Nobody looks."""

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """There is no shell that could take it over."""
