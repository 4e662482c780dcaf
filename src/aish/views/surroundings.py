"""Run commands of the model in the terminal."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

from aish.views.answers import AnswerScreen
from aish.views.user_shell import PromptShell, ctrl_c, show

T = TypeVar("T")


class TerminalSurroundings:
    """Commands start in the directory of the user's shell, with its environment. Their output is shown as it comes."""

    def __init__(self, user_shell: PromptShell, screen: AnswerScreen, enter: Callable[[str], None]) -> None:
        self._user_shell, self._screen, self._enter = user_shell, screen, enter
        self.keys = sys.stdin.fileno() if sys.stdin.isatty() else None

    @property
    def directory(self) -> str:
        return self._user_shell.shell.directory

    def environment(self) -> Mapping[str, str]:
        self._user_shell.ready()  # the start-up thread must be done with the shell
        return self._user_shell.shell.environment()

    def show(self, data: bytes) -> None:
        show(data)

    async def in_thread(self, work: Callable[[], T], interrupt: Callable[[], None]) -> T:
        self._screen.pause()
        with ctrl_c(interrupt):
            return await asyncio.to_thread(work)

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        shell = self._user_shell.shell
        with ctrl_c(lambda: shell.terminal.interrupt() if shell.terminal else None):
            await asyncio.to_thread(shell.adopt, directory, changed, gone)
        self._enter(shell.directory)
