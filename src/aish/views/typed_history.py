"""What was typed before, for the line editor: kept in a file without the secrets, and searched from the newest line."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from aish.values.errors import AishError

Mask = Callable[[str], str]
MOST_HISTORY = 10_000  # lines that are searched


class _TypedLines(FileHistory):
    """What was typed, without the secrets in it, and behind it what was asked in past conversations."""

    def __init__(self, path: Path, mask: Mask, older: Callable[[], Iterable[str]]) -> None:
        self._mask = mask
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
            return []  # past conversations that cannot be read are told of where they are asked for

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())[:MOST_HISTORY]
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(self._mask(string))
        except OSError:
            pass  # a full disk must not end the shell; the line is in this shell's own history


def typed_history(path: Path | None, mask: Mask, older: Callable[[], Iterable[str]]) -> History:
    """What was typed before; in memory only where the file cannot be written."""
    if path is not None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            return _TypedLines(path, mask, older)
        except OSError:
            pass
    return InMemoryHistory()
