"""The user's shell: a line through us against bash alone, and much output through us against a terminal alone."""

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
    """Seconds for one line of `true`, and for all of a long file, by us and without us."""
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
    """What the times come to."""
    over = 1000 * (times["aish, true"] - times["bare bash, true"])
    cat = times["bare terminal, cat"] / times["aish, cat"]
    return [
        Figure(name="a line of the shell", value=over, unit="ms over bare bash", limit=3),
        Figure(name=f"cat of {MEGABYTES} MB", value=cat, unit="× bare terminal", limit=0.5, at_least=True),
        Figure(name="a key, 95 % of all", value=1000 * times["a key, 95 %"], unit="ms", limit=5),
        Figure(name="a command judged", value=1e6 * times["aish, a command judged"], unit="µs", limit=200),
        Figure(name="a line routed", value=1000 * times["aish, a line routed"], unit="ms", limit=1),
    ]


def judging() -> dict[str, float]:
    """Seconds that a command takes at the gate, and a line at the prompt."""
    table, words = load_table(), ShellWords(os.environ.get("PATH", os.defpath), ".")
    commands = [*COMMANDS, *(line for line in keys.LINES if not line.startswith(":"))]
    measures = {
        "aish, a command judged": lambda: [judge(one, table) for one in commands],
        "aish, a line routed": lambda: [route(one, words) for one in commands],
    }

    def timed(work: Callable[[], object]) -> float:
        started = time.perf_counter()
        for _ in range(50):
            work()
        return (time.perf_counter() - started) / (50 * len(commands))

    return interleaved(5, {name: partial(timed, work) for name, work in measures.items()})


class Bare:
    """Bash in a terminal whose output is read and thrown away."""

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
