"""The history of the line editor: what Up goes through, and the suggestion after the cursor."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from itertools import islice

from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from aish.views.command_history import CommandHistory

_AT_ONCE = 250  # lines between two looks at the keys
_LOOK_AGAIN = 0.05  # seconds


class TypedHistory(History):
    """The newest lines of the history, loaded in a thread."""

    def __init__(self, history: CommandHistory) -> None:
        super().__init__()
        self._history = history
        self._begun, self._loads = False, 0
        self.there = asyncio.Event()  # the newest lines are loaded

    async def load(self) -> AsyncGenerator[str, None]:
        if self._loads != self._history.loads:
            self._loads = self._history.loads
            if self._begun:  # something was deleted
                self._loaded_strings, self._loaded, self._begun = [], False, False
        yielded = 0
        while True:
            for line in list(islice(self._loaded_strings, yielded, None)):
                yield line
                yielded += 1
                if yielded % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            if self._begun:
                self.there.set()
            if self._loaded:
                return
            if self._begun and not self._history.loaded:
                await asyncio.sleep(_LOOK_AGAIN)
            self._begun, whole = True, self._history.loaded
            await self._refresh()
            self._loaded = whole

    async def _refresh(self) -> None:
        """Add lines that are loaded by now behind those that are here: they are older."""
        lines = await asyncio.to_thread(self._history.lines)
        here = set(self._loaded_strings)
        self._loaded_strings += [line for line in lines if line not in here]

    def append_string(self, string: str) -> None:
        if not self._history.hides(string):
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        return []  # `load` does it

    def store_string(self, string: str) -> None:
        self._history.typed(string)


class FromHistory(AutoSuggest):
    """Suggests the rest of the newest line with the same beginning."""

    def __init__(self, history: CommandHistory) -> None:
        self._past = history.past

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        text = document.text
        if not text.strip() or "\n" in text:
            return None
        line = self._past.suggest(text)
        return Suggestion(line[len(text) :].partition("\n")[0]) if line else None
