"""A real terminal for tests: tmux that runs the shell. It captures what a user would see."""

import shutil
import subprocess
import sys
import time
import uuid
from types import TracebackType

import pytest
from world import World

from aish.values.text import GUTTER

SECONDS = 60.0  # limit for hanging programs; long enough for a busy machine


def need(*programs: str) -> None:
    """Skip the test when a program is missing."""
    for program in ("tmux", *programs):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


class Tmux:
    """A tmux window that runs aish, on its own tmux server."""

    def __init__(self, world: World, *, columns: int = 100, rows: int = 30, **env: str) -> None:
        world.welcome()
        own = {"TERM": "xterm-256color", "HOME": str(world.directory), "SHELL": "/bin/bash", **env}
        environment = world.environment(**own)
        del environment["NO_COLOR"]
        self._socket = f"aish-{uuid.uuid4().hex[:12]}"
        size = ["-x", str(columns), "-y", str(rows)]
        command = [sys.executable, "-m", "aish"]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, *command, env=environment, cwd=str(world.directory))

    def _tmux(self, *arguments: str, env: dict[str, str] | None = None, cwd: str | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
            env=env,
            cwd=cwd,
        )
        return done.stdout

    def __enter__(self) -> "Tmux":
        self.wait_for("aish>")
        self.enter("clear")  # text typed before the editor starts is echoed by the terminal
        self._until(lambda: self.lines == ["~ aish>"], "a clear screen")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, timeout=SECONDS, check=False)

    @property
    def lines(self) -> list[str]:
        """Return the lines on the screen, without blank ones and without the sign of our own messages."""
        lines = self._tmux("capture-pane", "-p").splitlines()
        return [line.rstrip().removeprefix(GUTTER) for line in lines if line.strip()]

    def scrollback(self) -> list[str]:
        """Return everything that was ever on the screen, as far as tmux keeps it."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p", "-S", "-").splitlines()]

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys by name, such as `Enter` or `C-c`."""
        self._tmux("send-keys", *keys)

    def enter(self, line: str) -> None:
        self.type(line)
        self.press("Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Wait until `text` is on the screen `times` times."""
        self._until(lambda: sum(line.count(text) for line in self.lines) >= times, text)

    def wait_end(self, *wanted: str) -> None:
        """Wait until the screen ends with these lines."""
        self._until(lambda: self.lines[-len(wanted) :] == list(wanted), wanted)

    def wait_gone(self, text: str) -> None:
        self._until(lambda: not any(text in line for line in self.lines), f"no {text}")

    def _until(self, there: object, wanted: object) -> None:
        assert callable(there)
        deadline = time.monotonic() + SECONDS
        while not there():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited for {wanted!r}, the screen has {self.lines}")
            time.sleep(0.05)
