"""Ask the user at the terminal or behind a pipe."""

import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager, nullcontext

from aish.values.person import agrees, chosen_word
from aish.values.text import for_terminal
from aish.views.editor import LONGEST_LINE
from aish.views.keys import Keyboard
from aish.views.screen import Screen


class TerminalPerson:
    """Asks on standard error and reads standard input. On a pipe only `line` reads the answer; all else is a no."""

    def __init__(
        self,
        screen: Screen,
        edit: Callable[[str], Awaitable[str]],
        pause: Callable[[], None],
        alone: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._screen, self._edit, self._pause = screen, edit, pause
        self._alone = alone  # nobody else uses the terminal meanwhile
        self._interactive = sys.stdin.isatty()
        self._keyboard = Keyboard()

    async def confirm(self, question: str) -> bool:
        if not self._interactive:
            self._screen.note(f"{question} No user to ask, assuming no.", warning=True)
            return False
        self._pause()
        with self._alone():
            return agrees(await self._keyboard.ask_line(self._screen.own_question(f"{question} [y/N] "), pasted=False))

    async def key(self, question: str, keys: str) -> str:
        if not self._interactive:
            return keys[-1]
        self._pause()
        with self._alone():
            return await self._keyboard.ask_key(self._screen.own_question(question), keys)

    async def line(self, question: str) -> str:
        self._pause()
        if self._interactive:
            with self._alone():
                return await self._keyboard.ask_line(for_terminal(question))
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        answer = sys.stdin.buffer.readline(LONGEST_LINE).decode("utf-8", "replace")
        sys.stderr.write(f"{for_terminal(answer.rstrip())}\n")
        return answer

    async def word(self, question: str, words: Collection[str]) -> str:
        if not self._interactive:
            return ""
        self._pause()
        with self._alone():
            return chosen_word(await self._keyboard.ask_line(self._screen.own_question(question), pasted=False), words)

    async def edit(self, text: str) -> str:
        self._pause()
        with self._alone():
            return await self._edit(text)

    async def show(self, difference: str) -> None:
        self._pause()
        self._screen.difference(difference)
