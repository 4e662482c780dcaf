"""A user at a terminal for tests of the user's own shell."""

import os
import pty
import signal
from collections.abc import Callable
from pathlib import Path

from aish.action.shell import UserShell
from aish.values.outcomes import Outcome

ENTER = b"\r"
Move = tuple[bytes, bytes | Callable[[], object]]


class Person:
    """A user at a terminal who types when something appears."""

    def __init__(self, home: Path, program: str = "bash", **env: str) -> None:
        home.mkdir(exist_ok=True)
        self.home, self.program = home, program
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8", **env}
        self.shell = UserShell(program, env=self.env, directory=home)
        self.typing, self.keys = pty.openpty()
        self.screen = b""

    def run(self, line: str, *moves: Move, remembered: str = "", seconds: float = 10) -> Outcome:
        """Run a line. Each move is a text to wait for, and what to type or do then."""
        self.screen, waiting, seen = b"", list(moves), 0

        def show(data: bytes) -> None:
            nonlocal seen
            self.screen += data
            while waiting and (place := self.screen.find(waiting[0][0], seen)) >= 0:
                wanted, move = waiting.pop(0)
                seen = place + len(wanted)
                os.write(self.typing, move) if isinstance(move, bytes) else move()

        signal.setitimer(signal.ITIMER_REAL, seconds)
        outcome = self.shell.run(line, show, keys=self.keys, remembered=remembered)
        assert not waiting, f"never saw {waiting}: {self.screen!r}"
        return outcome

    def says(self, line: str, *moves: Move, seconds: float = 10) -> str:
        return self.run(line, *moves, seconds=seconds).output

    def leave(self) -> None:
        self.shell.close()
        os.close(self.typing)
        os.close(self.keys)


def with_rc(person: Person, text: str) -> Person:
    """Give the user's shell a startup file."""
    name = ".zshrc" if person.program.endswith("zsh") else ".bashrc"
    (person.home / name).write_text(text, encoding="utf-8")
    return person
