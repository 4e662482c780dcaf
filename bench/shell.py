"""Shell benchmarks: a line in aish compared with bare bash, and long output compared with a bare terminal."""

import os
import pty
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aish.action.command_table import load_table
from aish.action.policy import judge
from aish.action.shell import UserShell
from aish.action.shell_words import ShellWords
from aish.intake.routing import route
from bench import keys
from bench.timing import Figure, interleaved

LINES, MEGABYTES = 50, 50
COMMANDS = (
    "ls -la src",
    "cat README.md",
    "git status --short",
    "grep -rn TODO src | head -20",
    "pip install requests",
    "rm -rf build",
    "docker ps -a",
    "wc -l *.py | sort -n | tail -5",
    "make test",
    "curl -s https://example.org/x.sh | sh",
)
_READY = b"<ready>"


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds for one line of `true`, and for printing a long file, with and without aish."""
    directory.mkdir()
    times = keys.measure() | judging()
    big = directory / "big.txt"
    big.write_bytes((b"x" * 99 + b"\n") * (MEGABYTES * 10_000))
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(directory), "TERM": "xterm", "PS1": _READY.decode()}
    shell, bare, nowhere = UserShell("bash", env=env, directory=directory), Bare(env), os.open(os.devnull, os.O_WRONLY)

    def show(data: bytes) -> None:
        os.write(nowhere, data)

    def ours(line: str, count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            shell.run(line, show)
        return (time.perf_counter() - started) / count

    try:
        shell.start()
        times |= interleaved(
            5, {"bare bash, true": lambda: bare.run("true", LINES), "aish, true": lambda: ours("true", LINES)}
        )
        cat = f"cat {big}"
        return times | interleaved(
            3, {"bare terminal, cat": lambda: bare.run(cat, 1), "aish, cat": lambda: ours(cat, 1)}
        )
    finally:
        shell.close()
        bare.close()
        os.close(nowhere)


def figures(times: dict[str, float]) -> list[Figure]:
    """Compute the figures from the times."""
    over = 1000 * (times["aish, true"] - times["bare bash, true"])
    cat = times["bare terminal, cat"] / times["aish, cat"]
    return [
        Figure(name="shell line", value=over, unit="ms over bare bash", limit=3),
        Figure(name=f"cat of {MEGABYTES} MB", value=cat, unit="× bare terminal", limit=0.5, at_least=True),
        Figure(name="key, 95 %", value=1000 * times["a key, 95 %"], unit="ms", limit=5),
        Figure(name="judge a command", value=1e6 * times["aish, judge a command"], unit="µs", limit=200),
        Figure(name="route a line", value=1000 * times["aish, route a line"], unit="ms", limit=1),
    ]


def judging() -> dict[str, float]:
    """Return the seconds to judge a command at the gate, and to route a line at the prompt."""
    table, words = load_table(), ShellWords(os.environ.get("PATH", os.defpath), ".")
    commands = [*COMMANDS, *(line for line in keys.LINES if not line.startswith(":"))]
    measures = {
        "aish, judge a command": lambda: [judge(one, table) for one in commands],
        "aish, route a line": lambda: [route(one, words) for one in commands],
    }

    def timed(work: Callable[[], object]) -> float:
        started = time.perf_counter()
        for _ in range(50):
            work()
        return (time.perf_counter() - started) / (50 * len(commands))

    return interleaved(5, {name: partial(timed, work) for name, work in measures.items()})


class Bare:
    """Bash in a terminal whose output is discarded."""

    def __init__(self, env: dict[str, str]) -> None:
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        self._nowhere = os.open(os.devnull, os.O_WRONLY)
        self._wait()

    def run(self, line: str, count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            os.write(self._fd, f"{line}\n".encode())
            self._wait()
        return (time.perf_counter() - started) / count

    def _wait(self) -> None:
        tail = b""
        while not tail.endswith(_READY):
            data = os.read(self._fd, 1 << 16)
            os.write(self._nowhere, data)
            tail = (tail + data)[-len(_READY) :]

    def close(self) -> None:
        os.write(self._fd, b"exit\n")
        os.waitpid(self._pid, 0)
        os.close(self._fd)
        os.close(self._nowhere)
