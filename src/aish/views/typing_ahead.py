"""Read what the user types while the model works. A finished line is queued, `:steer` goes to the model at once.

Only keys and pastes of the user count: what the terminal sends by itself comes in sequences, which are dropped. A paste
with line ends is one line of the queue. Questions read the terminal themselves, and so do commands that take keys:
meanwhile nothing is read here.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aish.acting.message_queue import MessageQueue
from aish.values.text import one_line
from aish.views.answers import AnswerScreen
from aish.views.key_parser import KeyParser, TerminalInput

_SEQUENCE = 0.05  # seconds within which all bytes of one key arrive
_BLOCK = 1 << 12
_MOST_TYPED = 100_000  # characters of one line
_MOST_SHOWN = 200
_MARK_PASTES, _LEAVE_PASTES = "\x1b[?25;2004h", "\x1b[?2004l"

Command = Callable[[str], tuple[str, str]]
"""Returns the full name of a colon command and its words; empty if the line is none."""


class TypingAhead:
    """The line that is typed while the model works; it belongs to the next prompt if nobody presses Enter."""

    def __init__(self, queue: MessageQueue, screen: AnswerScreen, command: Command, *, wanted: bool) -> None:
        self._queue, self._screen, self._command, self._wanted = queue, screen, command, wanted
        self.run_at_once: Callable[[str], bool] = lambda line: False  # runs a command that need not wait
        self.on_sequence: Callable[[str], object] = lambda sequence: None  # a function key, or what the terminal sends
        self._parser = KeyParser()
        self._line = ""
        self._working = 0  # how many ask for it
        self._paused = 0
        self._reading: asyncio.AbstractEventLoop | None = None
        self._wait: asyncio.TimerHandle | None = None
        self.leaves = False  # Ctrl-D on an empty line: for the next prompt, never in the middle of an answer
        screen.status.typed = lambda: self._line

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Read what is typed."""
        self._working += 1
        self._switch()
        try:
            yield
        finally:
            self._working -= 1
            self._switch()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to somebody else."""
        self._paused += 1
        self._switch()
        try:
            yield
        finally:
            self._paused -= 1
            self._switch()

    def hold(self) -> None:
        """Send nothing by itself any more: the user pressed Ctrl-C."""
        self._queue.hold()

    def take_line(self) -> str:
        """Return the unfinished line, once."""
        line, self._line = self._line, ""
        return line

    def _switch(self) -> None:
        """Begin or end to read the terminal."""
        on = self._wanted and self._working > 0 and not self._paused
        if on and not self._reading:
            self._reading = asyncio.get_running_loop()
            self._parser = KeyParser()
            self._reading.add_reader(sys.stdin.fileno(), self._read)
            self._write(_MARK_PASTES)
        elif not on and self._reading:
            self._reading.remove_reader(sys.stdin.fileno())
            self._reading = None
            self._stop_waiting()
            self._write(_LEAVE_PASTES)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def _read(self) -> None:
        self._stop_waiting()
        try:
            data = os.read(sys.stdin.fileno(), _BLOCK)
        except OSError:
            data = b""
        if not data:  # the terminal is gone; the next prompt says so
            self._wanted = False
            self._switch()
            return
        for byte in data:
            if typed := self._parser.feed(byte):
                self._take(typed)
        if self._parser.is_open and self._reading:
            self._wait = self._reading.call_later(_SEQUENCE, self._parser.pause)
        self._screen.status.refresh()

    def _stop_waiting(self) -> None:
        if self._wait:
            self._wait.cancel()
            self._wait = None

    def _take(self, typed: TerminalInput) -> None:
        letter = typed.text
        if typed.kind == "sequence":
            self.on_sequence(letter)
            return
        if typed.kind == "paste":
            letter = {"\r": "\n", "\t": " "}.get(letter, letter)
            if letter == "\n" or letter.isprintable():
                self._line = (self._line + letter)[:_MOST_TYPED]
            return
        match letter:
            case "\r" | "\n":
                line, self._line = self._line.strip(), ""
                if line:
                    self._finish(line)
            case "\x04":
                self.leaves = self.leaves or not self._line
            case "\x7f" | "\b":
                self._line = self._line[:-1]
            case "\x15":
                self._line = ""
            case "\x17":
                self._line = self._line.rstrip()[: self._line.rstrip().rfind(" ") + 1]
            case _ if letter.isprintable():
                self._line = (self._line + letter)[:_MOST_TYPED]

    def _finish(self, line: str) -> None:
        """Act on a finished line: nothing but a few colon commands runs before the answer is complete."""
        name, words = self._command(line)
        queue, shown = self._queue, one_line(line, _MOST_SHOWN)
        if name == "steer" and words:
            if queue.steer(words):
                self._screen.aside(f"for the model, with its next request: {one_line(words, _MOST_SHOWN)}")
            else:
                self._line = line
                self._screen.aside("too long to give it to the model now; it is still in your line", warning=True)
        elif name == "steer":
            self._screen.aside("write after :steer what the model should know before it goes on", warning=True)
        elif name == "queue" and words == "clear":
            queue.clear()
            self._screen.aside("the queue is empty")
        elif name == "queue":
            lines = [one_line(one, _MOST_SHOWN) for one in queue.lines]
            self._screen.aside("\n".join(f"queued: {one}" for one in lines) or "nothing is queued")
        elif name and self.run_at_once(line):
            pass
        elif queue.add(line):
            more = f" ({line.count(chr(10)) + 1} lines)" if "\n" in line else ""
            self._screen.aside(f"queued: {shown}{more}")
        else:
            self._line = line
            self._screen.aside("the queue is full; this line is still being typed", warning=True)
