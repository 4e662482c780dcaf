"""Ask for one key or one line at the terminal. Only what the user types after the question counts.

What a command printed can make the terminal send text: answers to queries, mouse and focus events. Such text looks like
typed keys. So before each question the terminal is put into a known state and asked for its cursor position: everything
that comes before its answer was caused by something else, or typed before the question was visible, and is dropped.
"""

import asyncio
import os
import select
import sys
import termios
import tty
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from aish.values.text import for_terminal
from aish.views.key_parser import KeyParser, TerminalInput

_PAUSE = 0.2  # seconds without a key that mean the user has stopped typing
_SEQUENCE = 0.05  # seconds within which all bytes of one key arrive
_ANSWER = 1.0  # seconds that a terminal may take to answer; slow connections need some
# Leave the alternate screen and the scroll region, reset the modes of mouse, focus, paste, cursor keys, keypad, insert,
# character sets and line wrap. Neither the text nor the cursor moves.
_KNOWN_STATE = (
    "\x1b7\x1b[?1049l\x1b[r\x1b8\x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004l"
    "\x1b[?1l\x1b>\x1b[4l\x1b(B\x0f\x1b[?7h"
)
_LISTEN, _IGNORE_PASTES = "\x1b[?25;2004h", "\x1b[?2004l"  # pastes come between marks while a question is open
_END_OF_FILE = "\x04"


class Keyboard:
    """The keys of the user. It remembers whether the terminal answers."""

    def __init__(self) -> None:
        self._answers: bool | None = (
            None  # whether the terminal answers questions about the cursor; None: not asked yet
        )

    async def ask_line(self, question: str, *, pasted: bool = True) -> str:
        """Ask for a line; empty at Ctrl-D. Ctrl-C ends the wait. If `pasted` is false, pasted text is ignored.

        The question must be safe for the terminal.
        """
        with _at_once() as fd:
            await self._settle(fd)
            with _question(question):
                return await _line(fd, pasted=pasted)

    async def ask_key(self, question: str, keys: str) -> str:
        """Ask for one of these keys. Enter, Escape, Ctrl-D, n and q mean the last of them.

        The first other key is answered with the keys that count. Enter right after such a key is ignored: `y` and
        Enter is a wrong answer, not a no.
        """
        with _at_once() as fd:
            await self._settle(fd)
            with _question(question):
                parser, hint, missed = KeyParser(), _hint(keys), False
                while True:
                    typed = await _next(fd, parser)
                    letter = typed.text.lower() if typed and typed.kind == "key" else ""
                    if missed and letter in ("\n", "\r"):
                        missed = False
                        continue
                    missed = letter.isprintable() and letter not in f"{keys}nq" if letter else missed
                    if missed:
                        _write(hint)
                        hint = ""
                    if letter and (letter in keys or letter in "\n\r\x1b\x04nq"):
                        chosen = letter if letter in keys else keys[-1]
                        _write(f"{chosen}\n")
                        return chosen

    async def _settle(self, fd: int) -> None:
        """Drop what was typed or sent before now, until the user stops typing."""
        patience = 0.0
        if self._answers is not False and _can_answer():
            answered, patience = await _barrier(fd)
            self._answers = self._answers or answered  # later it may only be slow
        while await _byte(fd, patience):
            patience = _PAUSE


def _hint(keys: str) -> str:
    names = ["space" if key == " " else key for key in keys]
    return f"(press {', '.join(names[:-1])} or {names[-1]}) "


async def _barrier(fd: int) -> tuple[bool, float]:
    """Ask the terminal twice for a random cursor position, and drop everything before both answers.

    Output could have asked for the position too, but its answers name other places. Return whether the terminal
    answered, and how long to wait for more keys: the user may be in the middle of typing.
    """
    size = os.get_terminal_size(sys.stderr.fileno())
    places = [(_random(size.lines or 24), _random(size.columns or 80)) for _ in range(2)]
    asked = "".join(f"\x1b[{row};{column}H\x1b[6n" for row, column in places)
    _write(f"{_KNOWN_STATE}\x1b7{asked}\x1b8")
    wanted = [f"[{row};{column}R" for row, column in places]
    parser, seen, patience = KeyParser(), ["", ""], 0.0
    deadline = asyncio.get_running_loop().time() + _ANSWER
    while (left := deadline - asyncio.get_running_loop().time()) > 0:
        byte = await _byte(fd, left)
        typed = parser.feed(byte[0]) if byte else None
        if typed and typed.kind == "sequence":
            seen = [seen[-1], typed.text]
            if seen == wanted:
                return True, patience
        elif typed:
            patience = _PAUSE
    return False, patience


def _random(most: int) -> int:
    return 1 + int.from_bytes(os.urandom(4), "big") % most


async def _line(fd: int, *, pasted: bool) -> str:
    """Read a line with the usual keys for corrections. A pasted end of line is a space: only Enter ends the line."""
    parser, line = KeyParser(), ""
    while True:
        typed = await _next(fd, parser)
        if typed is None or typed.kind == "sequence" or (typed.kind == "paste" and not pasted):
            continue
        letter = typed.text
        if typed.kind == "paste" and letter in "\r\n\t":
            letter = " "
        match letter:
            case "\r" | "\n":
                _write("\n")
                return f"{line}\n"
            case "\x04":  # as in a terminal's own line mode: the end of the input, or of what was typed
                _write("\n")
                return line
            case "\x7f" | "\b":
                line = _erase(line, line[:-1])
            case "\x15":
                line = _erase(line, "")
            case "\x17":
                line = _erase(line, line.rstrip()[: line.rstrip().rfind(" ") + 1])
            case _ if letter.isprintable():
                line += letter
                _write(for_terminal(letter))


def _erase(line: str, left: str) -> str:
    """Remove the end of a line from the screen, and return what is left of it."""
    cells = sum(_cells(letter) for letter in line[len(left) :])
    _write("\b" * cells + " " * cells + "\b" * cells)
    return left


def _cells(letter: str) -> int:
    return 0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")


async def _next(fd: int, parser: KeyParser) -> TerminalInput | None:
    """Return the next key, paste or sequence; None if a sequence was broken off."""
    while True:
        byte = await _byte(fd, _SEQUENCE if parser.is_open else None)
        if byte is None:
            return parser.pause()
        typed = parser.feed(byte[0]) if byte else TerminalInput("key", _END_OF_FILE)
        if typed:
            return typed


async def _byte(fd: int, seconds: float | None) -> bytes | None:
    """Return the next byte, empty at the end of the input; None if none comes in time. The rest stays unread."""
    if select.select([fd], [], [], 0)[0]:
        return os.read(fd, 1)
    if seconds == 0:
        return None
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), seconds)
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(fd)
    return os.read(fd, 1)


@contextmanager
def _question(text: str) -> Iterator[None]:
    """Show a question, and take pastes in marks until it is answered. After Ctrl-C a new line begins."""
    marks = _can_answer()
    _write(f"{_LISTEN if marks else ''}{text}")
    try:
        yield
    except asyncio.CancelledError:
        _write("\n")
        raise
    finally:
        if marks:
            _write(_IGNORE_PASTES)


def _can_answer() -> bool:
    """Return whether the questions are shown on a terminal that knows control sequences."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@contextmanager
def _at_once() -> Iterator[int]:
    """Switch the terminal to cbreak mode: every key is delivered at once."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


@contextmanager
def lines(*, wanted: bool) -> Iterator[None]:
    """Switch line mode and echo of the terminal on or off; when off, keys are kept for the next prompt.

    They must be off between two prompts, or an early Ctrl-D would be lost.
    """
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    mode, flags = list(before), termios.ECHO | termios.ICANON
    mode[3] = before[3] | flags if wanted else before[3] & ~flags
    try:
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
