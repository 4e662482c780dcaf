"""The event loop of the program, which reacts to Ctrl-C at any moment."""

import asyncio
import signal
from collections.abc import Coroutine, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def new_runner() -> asyncio.Runner:
    """Return a runner whose loop wakes up on every signal.

    Python records a signal and handles it at its next instruction. If it arrives just before the loop starts to wait,
    the loop keeps waiting, possibly until a silent model times out. A loop that handles at least one signal itself
    wakes up on all of them, so it gets a handler for one that nobody sends.
    """
    return asyncio.Runner(loop_factory=_loop)


class Ended(Exception):
    """A signal wants the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by signal {number}")
        self.exit_code = 128 + number


def run_loop(coroutine: Coroutine[object, object, _T], *, ending: Sequence[int] = ()) -> _T:
    """Run the coroutine and return its result. Ctrl-C raises KeyboardInterrupt, a signal in `ending` raises `Ended`."""
    came = list[int]()

    async def run() -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task

        def end(number: int) -> None:
            came.append(number)
            task.cancel()

        for number in ending:
            loop.add_signal_handler(number, end, number)
        return await coroutine

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
