"""Signals for `aish --json`, which must print its object whenever it is interrupted.

While the program is loaded and while the object is printed, signals are held: nothing could be told about them before,
and half an object is of no use. In between they raise `Ended`. The third signal ends the process in any case.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENT_UNTIL = 3
_came: list[int] = []


class Ended(Exception):
    """A signal wants the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by signal {number}")
        self.exit_code = 128 + number


def hold_signals() -> None:
    """Hold signals from now on; those that are ignored, as under nohup, stay ignored."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _hold)


def release_signals() -> None:
    """Let signals act as usual, and first the one that was held."""
    for number in ENDING:
        if signal.getsignal(number) == _hold:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if _came:
        os.kill(os.getpid(), _came[0])


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Ended` inside for a signal, also for one that was held; from then on signals are held."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _raise)
    try:
        if _came:
            raise Ended(_came[0])
        yield
    finally:
        hold_signals()


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Put the handlers back that were there before."""
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        _came.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


def _hold(number: int, _: FrameType | None) -> None:
    _came.append(number)
    if len(_came) >= _PATIENT_UNTIL:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _raise(number: int, _: FrameType | None) -> None:
    hold_signals()
    _came.append(number)
    raise Ended(number)
