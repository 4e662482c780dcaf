"""The event loop of the program, which hears Ctrl-C at any moment."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import TypeVar

_T = TypeVar("_T")


def new_runner() -> asyncio.Runner:
    """A runner whose loop is woken by signals.

    Python notes a signal and handles it at its next step. One that came just before the loop began to wait was noted,
    and the loop waited on, for as long as a silent model is waited for. A loop is woken by all signals while it handles
    one of them itself: so it is given one that nobody sends.
    """
    return asyncio.Runner(loop_factory=_loop)


def run_loop(coroutine: Coroutine[object, object, _T]) -> _T:
    """What the coroutine comes to. Ctrl-C raises KeyboardInterrupt."""
    with new_runner() as runner:
        return runner.run(coroutine)


def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.add_signal_handler(signal.SIGURG, lambda: None)
    return loop
