"""The user's shell at the prompt. It starts while the first line is typed, knows command names, and runs lines."""

import asyncio
import os
import shutil
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aish.action.capture import Capture
from aish.action.shell import UserShell
from aish.action.shell_words import WIDESPREAD_ALIASES, ShellWords
from aish.action.terminal import Terminal
from aish.action.terminal_output import TerminalOutput
from aish.intake.line import ColonCommand, read_line
from aish.intake.route_choices import LineRouter, RouteChoices
from aish.storage.files import write_all
from aish.values.errors import AishError
from aish.values.outcomes import Outcome
from aish.views.as_shell import choose_shell
from aish.views.screen import Screen

_KEY_READER_SECONDS = 0.1
_START_SECONDS = 3.0
_PROMPT_SECONDS = 1.0  # to wait for the shell when its own prompt is wanted
_SLOW_FILES = 2.0  # seconds after which a start is said to be slow
# Leave the alternate screen, switch off bracketed paste and mouse reports, show the cursor, reset colours.
_RESTORE_TERMINAL = b"\x1b[?47l\x1b[?2004l\x1b[?1000l\x1b[?25h\x1b[m\r\n"


class PromptShell:
    """One shell for all lines of a conversation. It starts in the background; the first command may wait for it."""

    def __init__(
        self,
        wanted: str,
        directory: Path,
        screen: Screen,
        private: Path | None = None,
        choices: RouteChoices | None = None,
        *,
        login: bool = False,
    ) -> None:
        path = os.environ.get("PATH", os.defpath)
        kind, extra = choose_shell(wanted), _ourselves(path)
        self.shell = UserShell(kind, env=os.environ, directory=directory, private=private, extra=extra, login=login)
        self.words = ShellWords(path, str(directory), aliases=WIDESPREAD_ALIASES)
        self.router = LineRouter(self.words, choices)
        self._screen = screen
        self._starting: threading.Thread | None = None
        self.when_started: Callable[[], object] = lambda: None  # called by the thread that starts the shell
        self._trouble: AishError | None = None

    def begin(self) -> None:
        """Start the shell in the background."""
        self._starting = threading.Thread(target=self._start, daemon=True)
        self._starting.start()

    def _start(self) -> None:
        try:
            self.shell.start()
            self._learn()
        except AishError as error:
            self._trouble = error
        self.when_started()

    def ready(self) -> None:
        """Wait until the shell has started, and show what its start-up files printed. Raises if the start failed."""
        if starting := self._starting:
            starting.join(_SLOW_FILES)
            if starting.is_alive():
                self._screen.note("waiting for your startup files; Ctrl-C goes on without them")
                starting.join()
            self._starting = None
        trouble, self._trouble = self._trouble, None
        if trouble:
            raise trouble
        self.greet()

    def greet(self) -> None:
        """Show once what startup files and the hooks of the first prompt have printed."""
        printed, self.shell.printed = self.shell.printed, b""
        greeting, self.shell.greeting = self.shell.greeting, ""
        if printed and sys.stdout.isatty():  # as the shell would show it
            output = TerminalOutput(show, Capture())
            output.take(printed)
            output.tidy()
        elif greeting:
            self._screen.note(greeting)

    def wait_started(self) -> None:
        """Wait until the shell has started, but not for start-up files that hang."""
        if starting := self._starting:
            starting.join(_START_SECONDS)

    @property
    def is_starting(self) -> bool:
        starting = self._starting  # read once: `ready` may reset it in another thread
        return starting is not None and starting.is_alive()

    @property
    def idle(self) -> Terminal | None:
        """The shell's terminal, or None while the shell starts: then the starting thread reads its output."""
        return None if self.is_starting else self.shell.terminal

    def kind(self, line: str) -> tuple[str, str]:
        """Return kind and reason of a line for the editor, including colon commands."""
        typed = read_line(line)
        if isinstance(typed, ColonCommand) or (typed and line.lstrip().startswith(":")):
            return "colon", ""
        found = self.router.route(line)
        return found.kind, found.reason

    async def wait_ready(self) -> None:
        """Wait until lines can run; Ctrl-C goes on without start-up files. Raises `StoreTrouble`."""
        with ctrl_c(self.shell.skip_files):
            await asyncio.to_thread(self.ready)

    async def run(self, line: str, remembered: str) -> Outcome:
        """Run a line in the user's shell. `remembered` is the line with secrets masked. Raises `StoreTrouble`."""
        await self.wait_ready()
        loop, keys = asyncio.get_running_loop(), sys.stdin.fileno() if sys.stdin.isatty() else None
        _follow_window(loop, self.shell)
        try:
            with ctrl_c(self._interrupt):
                outcome = await asyncio.to_thread(self.shell.run, line, show, keys=keys, remembered=remembered)
        finally:
            _follow_window(loop, None)
        self._learn()
        return outcome

    def _interrupt(self) -> None:
        if self.shell.terminal:
            self.shell.terminal.interrupt()

    def _learn(self) -> None:
        self.words.directory = self.shell.directory
        self.words.aliases, self.words.functions, path = self.shell.names
        self.words.path = path or self.words.path

    def prompt(self) -> str:
        """Return the prompt of the shell, as it would show it now; empty if it is not ready soon."""
        if starting := self._starting:
            starting.join(_PROMPT_SECONDS)
        return self.shell.prompt(show) if self.idle else ""

    def rules(self) -> str:
        """Return a file with the shell's rules for completion; empty while it starts."""
        return self.shell.rules() if self.idle else ""

    def refresh(self) -> None:
        """Do what an empty line does in the shell: finished jobs are reported."""
        if self.idle:
            self.shell.refresh(show)
            self._learn()

    def leave(self) -> None:
        """End the shell as `exit` does, if it has started."""
        if self.idle:
            self.shell.leave(show)

    def close(self) -> None:
        if self._starting:
            self._starting.join(1.0)
            self.shell.stop()  # the starting thread must release the terminal before it is closed
            self._starting.join(5.0)
        self.shell.close()


@contextmanager
def ctrl_c(press: Callable[[], None]) -> Iterator[None]:
    """Send Ctrl-C to the running program only, even before it owns the terminal."""
    before = signal.signal(signal.SIGINT, lambda number, frame: press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def clean_exit_on_signal(close: Callable[[], None]) -> Iterator[None]:
    """On SIGTERM or SIGHUP, stop everything and restore the terminal before exiting."""
    fd = sys.stdin.fileno()
    mode = termios.tcgetattr(fd) if os.isatty(fd) else None

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        try:
            close()
            time.sleep(_KEY_READER_SECONDS)  # the thread that forwards keys also restores the terminal; let it finish
            if mode:
                os.write(fd, _RESTORE_TERMINAL)
                termios.tcsetattr(fd, termios.TCSANOW, mode)
        except (OSError, termios.error):
            pass  # the terminal is closed
        os.kill(os.getpid(), number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in (number for number, handler in before.items() if handler == signal.SIG_DFL):
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show(data: bytes) -> None:
    """Write the output of a command to the user's terminal unchanged."""
    sys.stdout.flush()
    write_all(sys.stdout.fileno(), data)


def _ourselves(path: str) -> Path | None:
    """Return the path of aish if it is not on the PATH, so that `aish` also works from a virtual environment."""
    mine = Path(sys.prefix, "bin", "aish")  # not from `sys.executable`, which can be empty
    return mine if mine.exists() and not shutil.which(mine.name, path=path) else None


def _follow_window(loop: asyncio.AbstractEventLoop, shell: UserShell | None) -> None:
    """Pass changes of the window size to the running program."""
    if shell:
        loop.add_signal_handler(signal.SIGWINCH, lambda: shell.terminal.resize() if shell.terminal else None)
    else:
        loop.remove_signal_handler(signal.SIGWINCH)
