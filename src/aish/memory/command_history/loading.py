"""Load the list of commands from all histories, in a thread of its own: first the newest, then the rest."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.past_commands import Builder, PastCommands
from aish.memory.command_history.shell_files import MOST_READ, HistoryFile, Pause, Placed, read_history
from aish.memory.command_history.typed_lines import TypedLines
from aish.values.errors import AishError, StoreTrouble
from aish.values.past_command import PastCommand

T = TypeVar("T")
_FIRST_BYTES = 64 << 10  # of each file, for the first pass: it takes a few milliseconds
_FIRST_RUNS = 1_000
_MOST_RUNS = 500_000  # runs that are read; the list has each command once


class Sources:
    """Where commands come from. `files` returns the histories of other shells, `older` earlier questions."""

    def __init__(
        self,
        store: CommandStore | None,
        typed: TypedLines | None,
        files: Callable[[], Iterable[HistoryFile]],
        older: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.store, self.typed, self.files, self.older = store, typed, files, older

    def load_newest(self, past: PastCommands, pause: Pause) -> None:
        """Load what Up and the first suggestions need."""
        _fill(past, [*self._read(_FIRST_RUNS, _FIRST_BYTES, pause)], pause)

    def load_all(self, past: PastCommands, pause: Pause) -> None:
        asked = [Placed(0.0, PastCommand(text, source="typed")) for text in _questions(self.older)]
        _fill(past, [*self._read(_MOST_RUNS, MOST_READ, pause), asked], pause)

    def _read(self, runs: int, size: int, pause: Pause) -> Iterator[list[Placed]]:
        own = list(_paused(islice(_readable(self.store), runs), pause))
        known = {one.text: one.time for one in reversed(own)}
        yield _in_order(_placed(own))
        if self.typed:
            yield _in_order(_placed(self.typed.read(size)))
        for file in self.files():
            yield _in_order(read_history(file, known, pause, size))


def _readable(store: CommandStore | None) -> Iterator[PastCommand]:
    """Yield our own record as far as it can be read; `aish doctor` reports the rest."""
    try:
        if store:
            yield from store.newest_first()
    except StoreTrouble:
        return


def _questions(older: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return list(older())
    except (OSError, AishError):
        return []  # unreadable conversations are reported by the commands that read them


def _placed(commands: Iterable[PastCommand]) -> list[Placed]:
    return [Placed(one.time, one) for one in commands]


def _in_order(commands: list[Placed]) -> list[Placed]:
    """Sort by time, newest first: several shells may have written by turns. Most lists are sorted already."""
    commands.sort(key=lambda one: -one.at)
    return commands


def _fill(past: PastCommands, sources: Iterable[list[Placed]], pause: Pause) -> None:
    builder = Builder()
    for one in _paused(heapq.merge(*sources, key=lambda one: -one.at), pause):
        if builder.full:
            break
        builder.add(one.command)
    past.replace(builder.finish(), builder.words)


def _paused(commands: Iterable[T], pause: Pause) -> Iterator[T]:
    for number, one in enumerate(commands):
        yield one
        if number % 128 == 127:
            pause()
