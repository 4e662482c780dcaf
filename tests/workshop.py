"""A project with a home beside it, and the shell in a terminal in which a model proposes commands."""

import subprocess
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

from terminal import ENTER, Terminal
from world import World

from aish.places import find_places

KEY, WORD = b"[s]kip (Enter) ", b"anything else skips it: "  # how the two kinds of questions end
PROMPT, READY = "aish>", b"\x1b[?2004h"  # the editor turns on bracketed paste


class Workshop(World):
    """A project to work in; the home directory and the memory are beside it, not around it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        project = top / "work"
        project.mkdir()
        super().__init__(project)
        self.home = top / "aish"
        self.places = find_places({"AISH_HOME": str(self.home)})
        (top / "tmp").mkdir()
        subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=20)

    def files(self) -> set[str]:
        return {path.name for path in self.directory.iterdir()} - {".git"}


class AtGate(Terminal):
    """The shell in a project, with a separate temporary directory."""

    def __init__(self, world: Workshop, **env: str) -> None:
        super().__init__(world, columns=100, HOME=str(world.top), TMPDIR=str(world.top / "tmp"), **env)

    def __enter__(self) -> "AtGate":
        self.wait_ready()
        return self

    @property
    def offered(self) -> list[str]:
        """The commands shown as running or asked about, while they are on the screen."""
        return [line.removeprefix("▸ ") for line in self.lines if line.startswith("▸ ")]

    def ask(self, question: str = "what now?") -> None:
        self.enter(question)

    def wait_prompt(self) -> None:
        self._until(lambda: self.lines[-1:] == [PROMPT], PROMPT)

    @property
    def questions(self) -> int:
        return self.raw.count(KEY) + self.raw.count(WORD)

    def wait_question(self, number: int = 1) -> None:
        """Wait for this number of questions since the start."""
        self._until(lambda: self.questions >= number, f"question {number}")
        assert self.questions == number

    def agree(self) -> None:
        """Say yes to every command, and no to running it in a wider fence, until the next prompt."""
        self._answer_all(lambda: not any(text in self.lines[-1] for text in ("unfenced", "run it again")))

    def refuse(self) -> None:
        """Say no to everything, until the next prompt."""
        self._answer_all(lambda: False)

    def _answer_all(self, wanted: Callable[[], bool]) -> None:
        for number in count(self.questions + 1):
            self._until(partial(self._stands_still, number), f"question {number}")
            if self.questions < number:
                return
            self.say_yes() if wanted() else self.type(ENTER)

    def _stands_still(self, number: int) -> bool:
        return self.questions >= number or self.lines[-1] == PROMPT

    def say_yes(self) -> None:
        self.type("run" + ENTER if self.raw.endswith(WORD) else "r")
