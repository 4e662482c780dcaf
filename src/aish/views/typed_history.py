"""The history of the line editor: typed lines in a file with secrets masked, searched newest first."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from aish.storage.files import make_directory
from aish.values.errors import AishError

Mask = Callable[[str], str]
MOST_HISTORY = 10_000  # lines to search


class _TypedLines(FileHistory):
    """The typed lines with secrets masked, followed by the questions of past conversations."""

    def __init__(
        self, path: Path, mask: Mask, older: Callable[[], Iterable[str]], hides: Callable[[str], bool]
    ) -> None:
        self._mask, self._hides = mask, hides
        self._older = older
        self._before: list[str] | None = None
        super().__init__(str(path))

    async def load(self) -> AsyncGenerator[str, None]:
        async for line in super().load():
            yield line
        if self._before is None:
            self._before = await asyncio.to_thread(self._lines_before)
        typed = set(self._loaded_strings)
        for line in self._before:
            if line not in typed:
                yield line

    def _lines_before(self) -> list[str]:
        try:
            return list(self._older())
        except (OSError, AishError):
            return []  # unreadable conversations are reported by the commands that read them

    def append_string(self, string: str) -> None:
        if not self._hides(string):
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())[:MOST_HISTORY]
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(self._mask(string))
        except OSError:
            pass  # a full disk must not end the shell; the line stays in memory


def typed_history(
    path: Path | None, mask: Mask, older: Callable[[], Iterable[str]], hides: Callable[[str], bool]
) -> History:
    """Return the history from the file, or one in memory if the file cannot be written."""
    if path is not None:
        try:
            make_directory(path.parent)
            path.touch(mode=0o600)
            return _TypedLines(path, mask, older, hides)
        except OSError:
            pass
    return InMemoryHistory()
