"""Fixtures for tests with programs that may hang."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest


@pytest.fixture
def in_time() -> Iterator[None]:
    """Fail a test that hangs."""

    def stop(number: int, frame: FrameType | None) -> None:
        pytest.fail("this hangs")  # not an OSError, which the code under test might catch

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 60)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
