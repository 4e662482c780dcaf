"""Ask the user at the terminal or behind a pipe."""

import sys
from collections.abc import Awaitable, Callable, Collection

from aish.values.person import agrees, chosen_word
from aish.values.text import for_terminal
from aish.views.editor import LONGEST_LINE
from aish.views.keys import ask_key, ask_line
from aish.views.screen import Screen


class TerminalPerson:
    """Asks on standard error and reads standard input. On a pipe only `line` reads the answer; all else is a no."""

    def __init__(self, screen: Screen, edit: Callable[[str], Awaitable[str]], pause: Callable[[], None]) -> None:
        self._screen, self._edit, self._pause = screen, edit, pause
        self._interactive = sys.stdin.isatty()

    async def confirm(self, question: str) -> bool:
        if not self._interactive:
            self._screen.note(f"{question} No user to ask, assuming no.", warning=True)
            return False
        self._pause()
        sys.stderr.write(f"[aish] {for_terminal(question)} [y/N] ")
        sys.stderr.flush()
        return agrees(await ask_line(""))

    async def key(self, question: str, keys: str) -> str:
        if not self._interactive:
            return keys[-1]
        self._pause()
        return await ask_key(f"[aish] {question}", keys)

    async def line(self, question: str) -> str:
        self._pause()
        if self._interactive:
            return await ask_line(question)
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        answer = sys.stdin.buffer.readline(LONGEST_LINE).decode("utf-8", "replace")
        sys.stderr.write(f"{for_terminal(answer.rstrip())}\n")
        return answer

    async def word(self, question: str, words: Collection[str]) -> str:
        return chosen_word(await self.line(f"[aish] {question}"), words) if self._interactive else ""

    async def edit(self, text: str) -> str:
        self._pause()
        return await self._edit(text)
