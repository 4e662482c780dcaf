"""The user's shell at the prompt: started while the first line is typed, asked about words, given lines to run."""

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

from aish.action.shell import UserShell
from aish.action.shell_words import WIDESPREAD_ALIASES, ShellWords
from aish.action.terminal import Terminal
from aish.intake.line import read_line
from aish.intake.routing import Route, route
from aish.storage.files import write_all
from aish.values.errors import AishError
from aish.values.outcomes import Outcome
from aish.views.screen import Screen

_SHELLS = ("bash", "zsh")
_A_MOMENT = 0.1  # seconds
_USUAL = b"\x1b[?47l\x1b[?2004l\x1b[?1000l\x1b[?25h\x1b[m\r\n"  # the screen, pastes, the mouse, the cursor, the colours


class PromptShell:
    """One shell for all lines of a conversation. Its start costs nobody any time but who runs the first command."""

    def __init__(self, wanted: str, directory: Path, screen: Screen, private: Path | None = None) -> None:
        path = os.environ.get("PATH", os.defpath)
        kind, extra = choose_shell(wanted), _ourselves(path)
        self.shell = UserShell(kind, env=os.environ, directory=directory, private=private, extra=extra)
        self.words = ShellWords(path, str(directory), aliases=WIDESPREAD_ALIASES)
        self._screen = screen
        self._starting: threading.Thread | None = None
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

    def ready(self) -> None:
        """Wait until it has started; what its start-up files printed is shown once. Raises what went wrong."""
        if starting := self._starting:
            starting.join()
            self._starting = None
        trouble, self._trouble = self._trouble, None
        if trouble:
            raise trouble
        if self.shell.greeting:
            self._screen.note(self.shell.greeting)
            self.shell.greeting = ""

    @property
    def idle(self) -> Terminal | None:
        """The terminal, if nobody waits for its output: while the shell starts, its words are for who starts it."""
        starting = self._starting  # once: who waits for it in another thread forgets it when it has started
        return None if starting and starting.is_alive() else self.shell.terminal

    def route(self, line: str) -> Route:
        """What a line is. Nothing is run to find out."""
        return route(line, self.words)

    def kind(self, line: str) -> tuple[str, str]:
        """The same for the editor, which knows colon commands too."""
        if line.lstrip().startswith(":") and read_line(line):
            return "colon", ""
        found = self.route(line)
        return found.kind, found.reason

    async def run(self, line: str, remembered: str) -> Outcome:
        """Run a line of the user's in the terminal. Raises `StoreTrouble`."""
        await asyncio.to_thread(self.ready)
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

    def close(self) -> None:
        if self._starting:
            self._starting.join(1.0)
            self.shell.stop()  # who starts it must be done with its terminal before that is closed
            self._starting.join(5.0)
        self.shell.close()


@contextmanager
def ctrl_c(press: Callable[[], None]) -> Iterator[None]:
    """While a program runs, Ctrl-C is its own business, also in the moment before it has the terminal."""
    before = signal.signal(signal.SIGINT, lambda number, frame: press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def told_to_end(close: Callable[[], None]) -> Iterator[None]:
    """When we are told to end, or the window is closed: nothing is left running, and the terminal is as it was."""
    fd = sys.stdin.fileno()
    mode = termios.tcgetattr(fd) if os.isatty(fd) else None

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        try:
            close()
            time.sleep(_A_MOMENT)  # for who passes keys on, and puts the terminal back as well
            if mode:
                os.write(fd, _USUAL)
                termios.tcsetattr(fd, termios.TCSANOW, mode)
        except (OSError, termios.error):
            pass  # the terminal has gone
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
    """Output of a command, on the user's terminal as it is."""
    sys.stdout.flush()
    write_all(sys.stdout.fileno(), data)


def _ourselves(path: str) -> Path | None:
    """The program that runs, unless it is on the PATH: who started it from a virtual environment types its name too."""
    mine = Path(sys.prefix, "bin", "aish")  # `sys.executable` is empty where Python cannot find itself
    return mine if mine.exists() and not shutil.which(mine.name, path=path) else None


def choose_shell(wanted: str) -> str:
    """The shell that the settings or the system name, if we can talk to it; else bash."""
    named = os.path.expanduser(wanted) if wanted else os.environ.get("SHELL", "")  # noqa: PTH111  # leaves `~nobody` as it is
    return named if Path(named).name in _SHELLS else "bash"


def _follow_window(loop: asyncio.AbstractEventLoop, shell: UserShell | None) -> None:
    """Give a running program the size of the window whenever that changes."""
    if shell:
        loop.add_signal_handler(signal.SIGWINCH, lambda: shell.terminal.resize() if shell.terminal else None)
    else:
        loop.remove_signal_handler(signal.SIGWINCH)
