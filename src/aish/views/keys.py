"""One key or one line from the person at the terminal, while the program goes on."""

import asyncio
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from aish.values.text import for_terminal

_PAUSE = 0.2  # seconds without a key, after which somebody has stopped typing
_SEQUENCE = 0.05  # seconds within which the bytes of one key come


async def ask_line(question: str) -> str:
    """A line that was typed; unlike `input` in a thread, the wait for it ends with Ctrl-C."""
    with _at_once() as fd:
        _drop_typed(fd)
    with lines(wanted=True):  # before anybody sees the question: a Ctrl-D must find it so
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        await _something_typed()
        return sys.stdin.readline()


async def ask_key(question: str, keys: str) -> str:
    """One of these keys; Enter, Escape, Ctrl-D, n and q are the last of them, and others are not taken."""
    with _at_once() as fd:
        _drop_typed(fd)
        sys.stderr.write(question)
        sys.stderr.flush()
        while True:
            try:
                await _something_typed()
            except asyncio.CancelledError:  # Ctrl-C: what is said next has a line of its own
                sys.stderr.write("\n")
                raise
            typed = os.read(fd, 1).decode("ascii", "replace").lower()
            if typed == "\x1b":  # an arrow, F3 or a reply of the terminal: what follows is no key of its own
                _drop_typed(fd, _SEQUENCE)
            if typed in keys or typed in ("\n", "\r", "\x1b", "\x04", "n", "q", ""):
                chosen = typed if typed and typed in keys else keys[-1]
                sys.stderr.write(f"{chosen}\n")
                sys.stderr.flush()
                return chosen


@contextmanager
def _at_once() -> Iterator[int]:
    """The terminal with every key given at once."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _drop_typed(fd: int, patience: float = 0.0) -> None:
    """Forget what was typed before a question could be seen. Who is in the middle of typing is let finish."""
    while select.select([fd], [], [], patience)[0] and os.read(fd, 1024):
        patience = _PAUSE


@contextmanager
def lines(*, wanted: bool) -> Iterator[None]:
    """Let the terminal collect whole lines and show them, or not: then every key waits unseen for the next prompt.

    Between two prompts it must not, or a Ctrl-D that comes early would be eaten.
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


async def _something_typed() -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
