"""Ctrl-C while the loop waits."""

import asyncio
import signal
import threading
import time

import pytest

from aish.views.event_loop import run_loop


@pytest.mark.proves("P11")
def test_a_ctrl_c_that_does_not_interrupt_the_wait_ends_it_all_the_same() -> None:
    """It may come in the moment before the wait, or to another thread: then the system lets the wait go on."""

    def press() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    async def wait() -> None:
        threading.Timer(0.2, press).start()  # the wait has begun by then
        async with asyncio.timeout(60):
            await asyncio.Event().wait()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_loop(wait())
    assert time.monotonic() - began < 30
