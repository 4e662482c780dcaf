"""The event loop of the program, which reacts to Ctrl-C at any moment."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import TypeVar

_T = TypeVar("_T")


def new_runner() -> asyncio.Runner:
    """Return a runner whose loop wakes up on every signal.

    Python records a signal and handles it at its next instruction. If it arrives just before the loop starts to wait,
    the loop keeps waiting, possibly until a silent model times out. A loop that handles at least one signal itself
    wakes up on all of them, so it gets a handler for one that nobody sends.
    """
    return asyncio.Runner(loop_factory=_loop)


def run_loop(coroutine: Coroutine[object, object, _T]) -> _T:
    """Run the coroutine and return its result. Ctrl-C raises KeyboardInterrupt."""
    with new_runner() as runner:
        return runner.run(coroutine)


def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.add_signal_handler(signal.SIGURG, lambda: None)
    return loop
