"""A goal inside this process: a project, a scripted model, a user who answers from a list, and the real fence."""

import json
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workshop import Workshop
from world import script_of

from aish.acting.gate import Gate
from aish.acting.surroundings import PlainSurroundings
from aish.acting.worker import Worker
from aish.commands.shell import Shell
from aish.memory.goal_records import GoalRecord, GoalRecords
from aish.values.events import CommandProposed, GateEvent, Notice, TextPiece, TurnDone, TurnEvent
from aish.values.person import Nobody, chosen_word
from aish.values.replies import Reply

MAKEFILE = "test:\n\t@grep -q right answer.txt && echo passed\n"
GO = "g"


def tool(name: str, **arguments: object) -> str:
    """Return the line with which a scripted model calls a tool."""
    return f"TOOL: {name} {json.dumps(arguments)}"


class Keys(Nobody):
    """A user who answers from a list, then not at all. Every question is kept."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[str] = []
        self.shown: list[str] = []
        self.at_question: Callable[[str], None] = lambda question: None

    def _next(self, question: str, nothing: str) -> str:
        self.asked.append(question)
        self.at_question(question)
        return self.answers.pop(0) if self.answers else nothing

    async def key(self, question: str, keys: str) -> str:
        key = self._next(question, keys[-1])
        assert key in keys, (question, key)
        return key

    async def word(self, question: str, words: Collection[str]) -> str:
        return chosen_word(self._next(question, ""), words)

    async def line(self, question: str) -> str:
        return self._next(question, "")

    async def edit(self, text: str) -> str:
        return self._next(text, "")

    async def show(self, difference: str) -> None:
        self.shown.append(difference)


class GoalDesk:
    """One shell with a project whose test fails until `answer.txt` says right."""

    def __init__(self, top: Path, *answers: str, keys: tuple[str, ...] = (GO,), **settings: Any) -> None:
        self.world = Workshop(top)
        self.project = self.world.directory
        (self.project / "Makefile").write_text(MAKEFILE, encoding="utf-8")
        (self.project / "answer.txt").write_text("wrong\n", encoding="utf-8")
        script = {"kind": "scripted", "answers": list(answers), "tools": True}
        values: dict[str, Any] = {"model": "script", "models": {"script": script}, **settings}
        values.setdefault("commands", {"file_tools": True})
        self.program = self.world.program(values)
        self.person = Keys(list(keys))
        self.session = self.program.session()
        place = PlainSurroundings(self.project)
        self.events: list[str] = []  # what the user sees, in order
        self.gate = Gate(self.session, self.person, place, lambda: self.program.load_gate(place), self._see)
        self.worker = Worker(self.session, self.person, self.gate, self._show, self.events.append)
        self.worker.on_ctrl_c = self._on_ctrl_c
        self.shell = Shell(self.program, self.session, self.person, self.worker)
        self.press: list[Callable[[], None]] = []  # what Ctrl-C calls now, innermost last
        self.at_event: Callable[[TurnEvent], None] = lambda event: None

    @contextmanager
    def _on_ctrl_c(self, press: Callable[[], None]) -> Iterator[None]:
        self.press.append(press)
        try:
            yield
        finally:
            self.press.remove(press)

    def _see(self, event: GateEvent) -> None:
        match event:
            case Notice(text):
                self.events.append(text)
            case CommandProposed(command):
                self.events.append(f"▸ {command}")

    async def _show(self, turn: AsyncGenerator[TurnEvent]) -> TurnDone | None:
        done = None
        async for event in turn:
            self.at_event(event)
            match event:
                case Notice(text) | TextPiece(text):
                    self.events.append(text)
                case TurnDone():
                    done = event
        return done

    async def type(self, line: str) -> Reply:
        return await self.world.type(self.shell, line)

    def prompts(self) -> list[str]:
        """The last message of each request to the model."""
        return [str(request.messages[-1]["content"]) for request in script_of(self.session).requests]

    def record(self) -> GoalRecord:
        records = GoalRecords(self.world.places.goals)
        return records.read(records.find())

    def commands(self) -> list[tuple[str, str]]:
        """The commands in the record, with who decided."""
        return [(one["command"], one["decision"]) for step in self.record().steps for one in step["commands"]]

    def steps(self) -> list[str]:
        """The titles of the steps on the screen, without what was used."""
        return [" · ".join(line.split(" · ")[:2]) for line in self.events if line.startswith("step ")]
