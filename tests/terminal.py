"""A terminal for tests: keys go in, and the screen is what a user would see."""

import signal
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import pexpect
import pyte
from world import World

from aish.values.text import GUTTER

CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"
SECONDS = 60.0  # limit for hanging programs; long enough for a busy machine


class Display(pyte.Screen):
    """A screen that answers cursor position requests, as terminals do."""

    def __init__(self, columns: int, rows: int, reply: Callable[[str], object]) -> None:
        self._reply = reply
        super().__init__(columns, rows)

    def write_process_input(self, data: str) -> None:
        self._reply(data)


class Terminal:
    """A terminal that runs the shell."""

    fresh = False  # whether the account may be a new one

    def __init__(self, world: World, *arguments: str, columns: int = 80, **env: str) -> None:
        if not self.fresh and not world.places.setup_record.exists():
            world.welcome()  # most stories do not test the first screen
        environment = world.environment(TERM="xterm-256color", HOME=str(world.directory), SHELL="/bin/bash")
        environment["AISH_SET_VIEW__PROMPT"] = "aish> "  # most stories do not test the prompt
        del environment["NO_COLOR"]
        environment |= env
        child: Any = pexpect.spawn(
            sys.executable,
            ["-m", "aish", *arguments],
            env=environment,
            cwd=str(world.directory),
            dimensions=(24, columns),
            timeout=SECONDS,
        )
        self._child = hasty(child)
        self._screen = Display(columns, 24, self._child.send)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child.isalive():
            self._child.kill(signal.SIGKILL)
            self._child.wait()
        self._child.close()

    @property
    def lines(self) -> list[str]:
        """Return the lines on the screen, without blank ones and without the sign of our own messages."""
        return [line.rstrip().removeprefix(GUTTER) for line in self._screen.display if line.strip()]

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    def type(self, keys: str) -> None:
        self._child.send(keys)

    def enter(self, line: str) -> None:
        self.type(line + ENTER)

    def wait(self, *wanted: str) -> None:
        """Wait until the screen ends with these lines."""
        self._until(lambda: self.lines[-len(wanted) :] == list(wanted), wanted)

    def wait_for(self, text: str) -> None:
        """Wait until `text` is somewhere on the screen."""
        self._until(lambda: text in "\n".join(self.lines), text)

    def wait_times(self, text: bytes, times: int) -> None:
        """Wait until `text` was written `times` times since the start."""
        self._until(lambda: self.raw.count(text) >= times, text)

    def wait_ready(self) -> None:
        """Wait for the line editor: it turns on bracketed paste."""
        self.wait_times(b"\x1b[?2004h", 1)

    def watch(self, seconds: float) -> None:
        """Collect the output of some seconds: nothing, or the clock of a spinner."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._take(self._child.read_nonblocking(65536, left))
            except pexpect.TIMEOUT:
                return

    def code(self) -> int:
        """Wait for the end of the program, and return its exit code."""
        self._until(lambda: False, "the end", at_end=True)
        self._child.close()
        return int(self._child.exitstatus)

    def _until(self, there: Callable[[], bool], wanted: object, *, at_end: bool = False) -> None:
        deadline = time.monotonic() + SECONDS
        while not there():
            try:
                piece = self._child.read_nonblocking(65536, max(deadline - time.monotonic(), 0.01))
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                if at_end and isinstance(error, pexpect.EOF):
                    return
                raise AssertionError(f"waited for {wanted!r}, the screen has {self.lines}") from error
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        self.raw += piece
        self._stream.feed(piece)


class FreshTerminal(Terminal):
    """A terminal whose account is as the test has made it, perhaps a new one, which sees the first screen."""

    fresh = True


def hasty(child: Any) -> Any:
    """Disable the pauses that pexpect makes around keys and at the end."""
    child.delaybeforesend = None
    child.ptyproc.delayafterclose = 0
    return child
