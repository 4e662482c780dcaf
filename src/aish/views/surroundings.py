"""Run commands of the model in the terminal."""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from aish.acting.surroundings import HasOutcome
from aish.views.answers import AnswerScreen
from aish.views.kept_output import KeptOutput
from aish.views.typing_ahead import TypingAhead
from aish.views.user_shell import PromptShell, ctrl_c, show

T = TypeVar("T")
R = TypeVar("R", bound=HasOutcome)


class TerminalSurroundings:
    """Commands start in the directory of the user's shell, with its environment. Their output is shown as it comes."""

    def __init__(
        self, user_shell: PromptShell, screen: AnswerScreen, enter: Callable[[str], None], typing: TypingAhead
    ) -> None:
        self._user_shell, self._screen, self._enter, self._typing = user_shell, screen, enter, typing
        self.keys = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._kept: KeptOutput | None = None  # of a folded command

    @property
    def directory(self) -> str:
        return self._user_shell.shell.directory

    def environment(self) -> Mapping[str, str]:
        self._user_shell.ready()  # the start-up thread must be done with the shell
        return self._user_shell.shell.environment()

    def show(self, data: bytes) -> None:
        if self._kept is None:
            show(data)
        else:
            self._kept.feed(data)

    async def in_thread(self, work: Callable[[], T], interrupt: Callable[[], None]) -> T:
        self._screen.pause()
        with self._typing.paused(), ctrl_c(interrupt):  # its keys go to the command
            return await asyncio.to_thread(work)

    async def folded(self, command: str, work: Callable[[], R], interrupt: Callable[[], None]) -> R:
        def stop() -> None:
            self._typing.hold()
            interrupt()

        kept = self._kept = KeptOutput()
        started, status = time.monotonic(), 0
        self._screen.begin_command(command)
        try:
            with ctrl_c(stop):
                done = await asyncio.to_thread(work)
            status = done.outcome.status
        finally:
            self._kept = None
            self._screen.end_command(command, kept, status, time.monotonic() - started)
        return done

    async def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        shell = self._user_shell.shell
        with ctrl_c(lambda: shell.terminal.interrupt() if shell.terminal else None):
            await asyncio.to_thread(shell.adopt, directory, changed, gone)
        self._enter(shell.directory)
