"""The event loop of the program, which reacts to Ctrl-C at any moment."""

import asyncio
import signal
from collections.abc import Coroutine, Sequence
from types import FrameType
from typing import TypeVar

from aish.views.held_signals import Ended

_T = TypeVar("_T")


def new_runner() -> asyncio.Runner:
    """Return a runner whose loop wakes up on every signal.

    Python records a signal and handles it at its next instruction. If it arrives just before the loop starts to wait,
    the loop keeps waiting, possibly until a silent model times out. A loop that handles at least one signal itself
    wakes up on all of them, so it gets a handler for one that nobody sends.
    """
    return asyncio.Runner(loop_factory=_loop)


def run_loop(coroutine: Coroutine[object, object, _T], *, ending: Sequence[int] = ()) -> _T:
    """Run the coroutine and return its result. Ctrl-C raises KeyboardInterrupt, a signal in `ending` raises `Ended`.

    The handlers of the loop would leave a moment in which a signal kills the process, so these are those of Python.
    """
    came = list[int]()
    before = {number: signal.getsignal(number) for number in ending}

    async def run() -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task

        def end(number: int, _: FrameType | None) -> None:
            came.append(number)
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # so that a loop that waits looks up

        for number in ending:
            if before[number] != signal.SIG_IGN:
                signal.signal(number, end)
        try:
            return await coroutine
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    with new_runner() as runner:
        try:
            return runner.run(run() if ending else coroutine)
        except asyncio.CancelledError:
            if not came:
                raise
            raise Ended(came[0]) from None


def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.add_signal_handler(signal.SIGURG, lambda: None)
    return loop
