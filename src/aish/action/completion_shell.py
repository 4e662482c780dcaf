"""A long-running child shell that computes completions: requests go in, answers come out, both within a time limit."""

import atexit
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from aish.values.named_tuple import NamedTuple

_BLOCK = 65536
_PATIENCE = 2.0  # seconds after which a completion function counts as stuck


class Child(NamedTuple):
    """A started child, and our ends of its pipes. `screen` is its terminal, whose output nobody reads; -1: none."""

    process: subprocess.Popen[bytes]
    requests: int
    answers: int
    screen: int = -1

    @classmethod
    def start(
        cls, command: Callable[[int, int], Sequence[str]], env: Mapping[str, str], *, on_screen: bool = False
    ) -> "Child":
        """Start a child; `command` gets the numbers of its two pipes. `on_screen` gives it a terminal of its own."""
        reading, requests = os.pipe()
        answers, writing = os.pipe()
        screen, terminal = os.openpty() if on_screen else (-1, subprocess.DEVNULL)
        theirs = [reading, writing, *([terminal] if on_screen else ())]
        try:
            process = subprocess.Popen(
                command(reading, writing),
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                pass_fds=(reading, writing),
                env=dict(env),
                start_new_session=True,  # Ctrl-C must not reach it, and it must not read the user's terminal
            )
        except OSError:
            theirs += [one for one in (requests, answers, screen) if one >= 0]
            raise
        finally:
            for one in theirs:
                os.close(one)
        return cls(process, requests, answers, screen)

    def end(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # including processes that a completion function started
        except ProcessLookupError:
            pass
        self.process.wait()
        for fd in (self.requests, self.answers, self.screen):
            if fd >= 0:
                os.close(fd)


class CompletionShell:
    """The child and the protocol with it. Thread-safe: requests are served one at a time.

    `rules` returns a file with the functions and rules of the user's own shell, or nothing; each child reads it once.

    A request is a number and fields, each followed by NUL; an answer is the number, a count and that many fields.

    1. An answer arrives within `seconds` or is None. A late answer is discarded, and a stuck child is killed.
    2. A text that a shell would expand is never sent (`is_harmless`): some completion functions evaluate their input.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        rules: Callable[[], str] = str,
        seconds: float,
        patience: float = _PATIENCE,
    ) -> None:
        self._rules = rules
        self._environment = dict(os.environ if environment is None else environment)
        self._seconds, self._patience = seconds, patience
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._number, self._waits_since = 0, 0.0
        self._unread = b""
        atexit.register(self.close)  # a hanging completion function would outlive this process

    def close(self) -> None:
        with self._lock:
            self._end()

    def _start(self) -> Child:
        """Start the child. Raises `OSError`."""
        raise NotImplementedError

    def _program(self, name: str) -> str:
        if program := shutil.which(name, path=self._environment.get("PATH")):
            return program
        raise FileNotFoundError(f"{name} is not installed")

    def _request(self, fields: Sequence[str]) -> list[str] | None:
        """Send the file of rules and the fields, and return the fields of the answer; None if there is none in time."""
        fields = (self._rules(), *fields)
        deadline = time.monotonic() + self._seconds
        if not self._lock.acquire(timeout=self._seconds):
            return None
        try:
            return self._exchange(fields, deadline)
        except OSError:
            self._end()  # the child has died or cannot start: the next request tries again
            return None
        finally:
            self._lock.release()

    def _exchange(self, fields: Sequence[str], deadline: float) -> list[str] | None:
        if self._waits_since and time.monotonic() - self._waits_since > self._patience:
            self._end()
        child = self._child = self._child or self._start()
        self._number += 1
        if not select.select([], [child.requests], [], max(deadline - time.monotonic(), 0))[1]:
            return None
        os.write(child.requests, b"".join(os.fsencode(field) + b"\0" for field in (str(self._number), *fields)))
        self._waits_since = self._waits_since or time.monotonic()
        heard = [fd for fd in (child.answers, child.screen) if fd >= 0]
        while (left := deadline - time.monotonic()) > 0:
            ready = select.select(heard, [], [], left)[0]
            if child.screen in ready:
                os.read(child.screen, _BLOCK)
            if child.answers not in ready:
                continue
            piece = os.read(child.answers, _BLOCK)
            if not piece:
                raise BrokenPipeError("the child has gone")
            self._unread += piece
            while (answer := self._whole_answer()) is not None:
                if answer[0] == self._number:
                    self._waits_since = 0.0
                    return answer[1]
        return None

    def _whole_answer(self) -> tuple[int, list[str]] | None:
        """Remove and return the next answer from the buffer, if it is complete."""
        number, count, *fields = [*self._unread.split(b"\0"), b"", b""]
        if not count or len(fields) - 3 < int(count):
            return None
        mine, rest = fields[: int(count)], fields[int(count) : -2]
        self._unread = b"\0".join(rest)
        return int(number), [os.fsdecode(word) for word in mine]

    def _end(self) -> None:
        child, self._child = self._child, None
        self._waits_since, self._unread = 0.0, b""
        if child:
            child.end()


def is_harmless(text: str) -> bool:
    """Is this text free of everything that a shell expands by running something?"""
    return text.isprintable() and not any(letter in text for letter in "$`<>()")
