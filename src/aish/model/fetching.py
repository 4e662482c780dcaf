"""Weights that a child process is fetching while the shell is used, and how far it is."""

import asyncio
import json
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from aish.model.weights import PullFailed, Weights
from aish.values.text import byte_size

_COMMAND = (sys.executable, "-P", "-m", "aish.model.pull_child")  # -P: do not import from the current directory
_WINDOW_SECONDS = 10.0  # the speed is that of the last seconds
_LEAST_SECONDS = 2.0  # before that, it is unknown
_CHECKING = "checking"

Sample = tuple[float, int]  # when, and how many bytes there were


def seconds_left(samples: Sequence[Sample], size: int) -> float | None:
    """Return how long the rest takes at the speed of these samples; None if that is unknown. Pure."""
    if not samples:
        return None
    (began, before), (now, done) = samples[0], samples[-1]
    if now - began < _LEAST_SECONDS or done <= before:
        return None
    return (size - done) * (now - began) / (done - before)


def time_left(seconds: float) -> str:
    """Return a time in words, rounded up: "40 s left", "4 min left", "2 h left". Pure."""
    if seconds <= 55:
        return f"{max(math.ceil(seconds / 5) * 5, 5)} s left"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min left" if minutes < 120 else f"{math.ceil(minutes / 60)} h left"


def announcement(weights: Weights, seconds: float | None) -> str:
    """Return the line before a download: what, how large, how long if known, and why it can be trusted. Pure."""
    minutes = "" if seconds is None else f", about {max(math.ceil(seconds / 60), 1)} min"
    return f"fetching {weights.label}, {byte_size(weights.size)}{minutes}; the makers' file, checked by its hash"


def status_line(weights: Weights, phase: str, done: int, size: int, seconds: float | None, width: int) -> str:
    """Return the longest line about a download that fits; empty if none does. Pure."""
    percent = f"{100 * done // max(size, 1)} %"
    left = "" if seconds is None else f", {time_left(seconds)}"
    whole = f"fetching {weights.label}: {percent} of {byte_size(size)}"
    short = f"{weights.label} {percent}"
    lines = [f"{whole}{left}", whole, f"{short}{left}", short, percent]
    if phase == _CHECKING:
        lines = [f"checking {weights.label}: {percent}", f"checking {percent}", percent]
    return next((line for line in lines if len(line) <= width), "")


class Fetch:
    """Weights that a child process is fetching.

    The child ends with this process, even after SIGKILL: it reads a pipe that only this process holds open. What it
    downloaded stays, and the next one continues it.
    """

    def __init__(
        self,
        weights: Weights,
        directory: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        command: Sequence[str] = _COMMAND,
    ) -> None:
        self.weights = weights
        self.done = 0
        self.size = weights.size
        self.trouble = ""  # why it failed, in one line
        self.on_change: Callable[[], object] = lambda: None
        self._directory = directory
        self._clock = clock
        self._command = command
        self._phase = self._remedy = ""
        self._samples = deque[Sample]()
        self._path: Path | None = None
        self._child: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        return self._reading is not None and not self._reading.done()

    async def start(self) -> None:
        """Start the child, unless it is running or was successful. Raises `PullFailed`."""
        async with self._starting:
            if self.is_running or self._path:
                return
            self.trouble = self._phase = self._remedy = ""
            self._samples.clear()
            try:
                self._child = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C in the terminal is for the answer, not for the download
                )
            except OSError as error:
                raise PullFailed(f"cannot start the download: {error.strerror or error}") from None
            self._reading = asyncio.create_task(self._read(self._child))

    async def wait(self) -> Path:
        """Return the path of the weights; starts the download if needed. Any number of callers may wait.

        Raises:
            PullFailed: with the reason.
        """
        if self._reading is None:
            await self.start()
        assert self._reading
        await asyncio.shield(self._reading)  # a caller that gives up does not stop the download
        if self._path is None:
            raise PullFailed(self.trouble, self._remedy)
        return self._path

    async def stop(self) -> None:
        """End the child. What was downloaded stays."""
        if self._child is None or self._reading is None or self._reading.done():
            return
        self.trouble = self.trouble or f"stopped; to go on from here: aish models pull {self.weights.name}"
        _kill(self._child)
        await asyncio.shield(self._reading)

    def status(self, width: int) -> str:
        """Return where it is, in at most `width` characters; empty if it is not running."""
        if not self.is_running:
            return ""
        return status_line(self.weights, self._phase, self.done, self.size, self.seconds, width)

    @property
    def seconds(self) -> float | None:
        """How long the rest takes, more and more while nothing comes; None while that is unknown."""
        return seconds_left([*self._samples, (self._clock(), self.done)], self.size)

    async def _read(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdin and child.stdout
        options = {"weights": self.weights.name, "directory": str(self._directory)}
        try:
            with suppress(ConnectionError):  # it could not start
                child.stdin.write(json.dumps(options).encode() + b"\n")
                await child.stdin.drain()
            async for line in child.stdout:
                with suppress(ValueError, KeyError, TypeError):
                    self._take(json.loads(line))
            await child.wait()
        finally:  # also when the event loop ends
            child.stdin.close()
            if child.returncode is None:
                _kill(child)
        if self._path is None and not self.trouble:
            self.trouble = f"the download ended without a reason; run: aish models pull {self.weights.name}"
        self.on_change()

    def _take(self, said: dict[str, object]) -> None:
        """Take over one line of the child."""
        if "path" in said:
            self._path, self.done = Path(str(said["path"])), self.size
        elif "trouble" in said:
            self.trouble, self._remedy = str(said["trouble"]), str(said.get("remedy", ""))
        else:
            phase, done, size = str(said["phase"]), int(str(said["done"])), int(str(said["size"]))
            now = self._clock()
            if phase != self._phase:
                self._samples.clear()
            self._samples.append((now, done))
            while now - self._samples[0][0] > _WINDOW_SECONDS:
                self._samples.popleft()
            self._phase, self.done, self.size = phase, done, size
            self.on_change()


def _kill(child: asyncio.subprocess.Process) -> None:
    """All that it has to keep is on the disk."""
    with suppress(ProcessLookupError):
        child.kill()
