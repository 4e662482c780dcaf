"""Timing helpers. Each round runs every measurement once, so that a noisy moment affects all of them."""

import os
import pty
import re
import select
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Measure = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured ratio, and its limit."""

    name: str
    value: float
    unit: str
    limit: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def interleaved(rounds: int, measures: Mapping[str, Measure]) -> dict[str, float]:
    """Return the median seconds of each measurement; the first round is a warm-up and does not count."""
    seen: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(rounds + 1):
        for name, measure in measures.items():
            seconds = measure()
            if number:
                seen[name].append(seconds)
    return {name: statistics.median(values) for name, values in seen.items()}


def whole_run(command: list[str], env: Mapping[str, str]) -> float:
    """Return the seconds from start to end of a command."""
    started = time.perf_counter()
    subprocess.run(command, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def until_shown(
    command: list[str], env: Mapping[str, str], mark: bytes, typed: bytes = b"", echo: bytes = b""
) -> float:
    """Return the seconds until a command in a terminal has shown `mark` (and, after `typed`, has shown `echo`)."""
    started = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, dict(env))
    try:
        _wait_for(fd, mark)
        if typed:
            os.write(fd, typed)
            _wait_for(fd, echo)
        return time.perf_counter() - started
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def _wait_for(fd: int, mark: bytes, seconds: float = 20) -> None:
    seen = b""
    deadline = time.monotonic() + seconds
    while mark not in seen:
        if time.monotonic() > deadline or not select.select([fd], [], [], seconds)[0]:
            raise TimeoutError(f"{mark!r} did not appear in {seen[-200:]!r}")
        seen += os.read(fd, 65536)
        if b"\x1b[6n" in seen:  # the program asks for the cursor position; a real terminal answers
            os.write(fd, b"\x1b[1;1R")
            seen = seen.replace(b"\x1b[6n", b"")


def until_asked(command: Callable[[int], list[str]], env: Mapping[str, str], port: int = 0) -> float:
    """Return the seconds until a command has sent a whole question to a local port; 0 is a new one each time.

    What it asks the server first (its window, if it does not know the server) is answered with "not found", and counts.
    """
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(20)
        started = time.perf_counter()
        child = subprocess.Popen(
            command(server.getsockname()[1]),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while True:
                client, _ = server.accept()
                with client:
                    client.settimeout(20)
                    if b"/chat/completions" in _request(client).partition(b"\r\n")[0]:
                        return time.perf_counter() - started
                    client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        finally:
            child.kill()
            child.wait()


def _request(client: socket.socket) -> bytes:
    """Return a whole request; its body is as long as its head says."""
    seen = b""
    while True:
        head, end, body = seen.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if end and len(body) >= (int(length[1]) if length else 0):
            return seen
        if not (piece := client.recv(65536)):
            raise ConnectionError(f"the request ended in its middle: {seen[-200:]!r}")
        seen += piece
