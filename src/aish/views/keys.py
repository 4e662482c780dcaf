"""Read one key or one line from the user without blocking the event loop."""

import asyncio
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from aish.values.text import for_terminal

_PAUSE = 0.2  # seconds without a key that mean the user has stopped typing
_SEQUENCE = 0.05  # seconds within which all bytes of one key arrive


async def ask_line(question: str) -> str:
    """Ask for a line. Ctrl-C ends the wait, unlike `input` in a thread."""
    with _at_once() as fd:
        _drop_typed(fd)
    with lines(wanted=True):  # before the question is shown, so that Ctrl-D works at once
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        await _something_typed()
        return sys.stdin.readline()


async def ask_key(question: str, keys: str) -> str:
    """Ask for one of these keys. Enter, Escape, Ctrl-D, n and q mean the last of them; other keys are ignored."""
    with _at_once() as fd:
        _drop_typed(fd)
        sys.stderr.write(question)
        sys.stderr.flush()
        while True:
            try:
                await _something_typed()
            except asyncio.CancelledError:  # Ctrl-C: the next message starts on a new line
                sys.stderr.write("\n")
                raise
            typed = os.read(fd, 1).decode("ascii", "replace").lower()
            if typed == "\x1b":  # an arrow key, F3 or a terminal reply: drop the rest of its bytes
                _drop_typed(fd, _SEQUENCE)
            if typed in keys or typed in ("\n", "\r", "\x1b", "\x04", "n", "q", ""):
                chosen = typed if typed and typed in keys else keys[-1]
                sys.stderr.write(f"{chosen}\n")
                sys.stderr.flush()
                return chosen


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


def _drop_typed(fd: int, patience: float = 0.0) -> None:
    """Drop keys typed before the question was visible, until the user stops typing."""
    while select.select([fd], [], [], patience)[0] and os.read(fd, 1024):
        patience = _PAUSE


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


async def _something_typed() -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
