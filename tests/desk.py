"""A project, a model that calls file tools in it, and a user who answers from a list."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from world import World, script_of

from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.places import find_places
from aish.program import Program
from aish.values.events import Notice, TurnDone
from aish.values.person import Nobody, chosen_word


def say_next(session: Session, script: list[str]) -> None:
    """Let the scripted model answer with these texts from now on."""
    script_of(session).__init__(script)  # type: ignore[misc]  # it has no other way to get more answers


class Reader(Nobody):
    """A user who answers from a list, and remembers the questions and what was shown before them."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers, self.asked, self.shown = list(answers), list[str](), list[str]()

    async def key(self, question: str, keys: str) -> str:
        self.asked.append(question)
        answer = self.answers.pop(0) if self.answers else ""
        return answer if answer and answer in keys else keys[-1]

    async def word(self, question: str, words: Collection[str]) -> str:
        self.asked.append(question)
        return chosen_word(self.answers.pop(0) if self.answers else "", words)

    async def show(self, difference: str) -> None:
        self.shown.append(difference)


class Desk:
    """A project, and a model that calls tools in it."""

    def __init__(self, world: World, directory: Path) -> None:
        self.world, self.project = world, directory / "work"
        (self.project / ".git").mkdir(parents=True)
        world.home = directory / "aish"
        world.directory = self.project
        world.places = find_places({"AISH_HOME": str(world.home)})
        self.person = Reader()
        self.program: Program | None = None
        self.session: Session | None = None

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    async def call(
        self, *calls: tuple[str, dict[str, Any]], answers: str = "", **settings: Any
    ) -> list[dict[str, Any]]:
        """Let the model make these calls in one turn, answer questions with these keys, and return the results."""
        script = [*("TOOL: " + name + " " + json.dumps(given) for name, given in calls), "Done."]
        return await self.run(script, answers, **settings)

    async def run(self, script: list[str], answers: str = "", **settings: Any) -> list[dict[str, Any]]:
        if self.session is None:
            models = {"script": {"kind": "scripted", "answers": []}}
            values = {"model": "script", "models": models, "commands": {"file_tools": True}, **settings}
            self.program = self.world.program(values)
            self.session = self.program.session()
        say_next(self.session, script)
        before = len(self.session.history.turns)
        self.person.answers = answers.split()
        self.notices: list[str] = []
        async for event in take_turn(self.session, "go on", self.person):
            if isinstance(event, Notice):
                self.notices.append(event.text)
            if isinstance(event, TurnDone):
                assert event.state == "complete", event
        turns = self.session.history.turns[before:]
        return [json.loads(turn.content) for turn in turns if turn.role == "tool"]

    async def type(self, line: str, *answers: str) -> str:
        assert self.program and self.session
        shell = self.world.shell(self.program, self.session)
        shell.person, self.person.answers = self.person, list(answers)
        return (await self.world.type(shell, line)).text


def read(path: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": path, **more}


def edit(path: str, old: str, new: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "edit_file", {"path": path, "old": old, "new": new, **more}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}
