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

Mask = Callable[[str], str]
Suggest = Callable[[str], Iterable[tuple[str, int, str]]]  # text before the cursor → (word, replaced length, hint)


class LineEditor:
    """prompt_toolkit in the program's own event loop, so that background work goes on while one types."""

    def __init__(self, history: Path | None, suggest: Suggest, mask: Mask, *, vi: bool = False) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=_history(history, mask),
            completer=_Suggestions(suggest),
            complete_while_typing=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            enable_history_search=True,
            enable_open_in_editor=True,
        )

    def read(self, runner: asyncio.Runner, prompt: str) -> str:
        return runner.run(self._session.prompt_async(ANSI(prompt)))

    async def edit(self, text: str) -> str:
        once: PromptSession[str] = PromptSession(editing_mode=self._session.editing_mode)
        try:
            return await once.prompt_async("edit: ", default=" ".join(text.split()))
        except (EOFError, KeyboardInterrupt):
            return ""


class _Suggestions(Completer):
    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for word, length, hint in self._suggest(document.text_before_cursor):
            yield Completion(word, start_position=-length, display_meta=hint)


class _MaskedHistory(FileHistory):
    """What was typed, without the secrets in it."""

    def __init__(self, path: Path, mask: Mask) -> None:
        self._mask = mask
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        try:
            super().store_string(self._mask(string))
        except OSError:
            pass  # a full disk must not end the shell; the line is in this shell's own history


def _history(path: Path | None, mask: Mask) -> History:
    """What was typed before; in memory only where the file cannot be written."""
    if path is not None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            return _MaskedHistory(path, mask)
        except OSError:
            pass
    return InMemoryHistory()
