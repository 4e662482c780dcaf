"""Processor time for tests about growth: unlike elapsed time, it hardly depends on what else the machine does."""

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The least processor time that `work` took, of several rounds."""
    times = []
    for _ in range(rounds):
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return min(times)
