"""Reading a line on a real terminal, with prompt_toolkit: history, search, completion, paste of many lines."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

Suggest = Callable[[str], Iterable[tuple[str, int, str]]]  # text before the cursor → (word, replaced length, hint)


class LineEditor:
    """prompt_toolkit in the program's own event loop, so that background work goes on while one types."""

    def __init__(self, history: Path | None, suggest: Suggest, *, vi: bool = False) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=_Suggestions(suggest),
            complete_while_typing=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            enable_history_search=True,
            enable_open_in_editor=True,
        )

    def read(self, runner: asyncio.Runner, prompt: str) -> str:
        return runner.run(self._session.prompt_async(ANSI(prompt)))


class _Suggestions(Completer):
    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for word, length, hint in self._suggest(document.text_before_cursor):
            yield Completion(word, start_position=-length, display_meta=hint)


def _history(path: Path | None) -> History:
    """What was typed before; in memory only where the file cannot be written."""
    if path is not None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            return FileHistory(str(path))
        except OSError:
            pass
    return InMemoryHistory()
