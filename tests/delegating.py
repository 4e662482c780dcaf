"""A project, a model that passes tasks on to sub-agents, and a second scripted model that works on them."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from desk import Reader
from world import World, script_of

from aish.conversation.turn import take_turn
from aish.conversation.turn_context import CommandGate
from aish.model.scripted import ScriptedModel
from aish.places import find_places
from aish.values.events import Notice, ToolProgress, TurnDone
from aish.values.person import Person
from aish.values.replies import Reply

BOSS, WORKER = "boss", "worker"  # the presets


def delegate(agent: str, task: str) -> str:
    """Return the call of a model that passes a task on."""
    return f"TOOL: delegate {json.dumps({'agent': agent, 'task': task})}"


def call(tool: str, **arguments: object) -> str:
    return f"TOOL: {tool} {json.dumps(arguments)}"


class Office:
    """A conversation with sub-agents. `boss` are the answers of the model of the user, `worker` those of the agents."""

    def __init__(self, world: World, boss: Sequence[str] = (), worker: Sequence[str] = (), **settings: Any) -> None:
        self.world, self.project = world, world.directory / "work"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        world.home = self.project.parent / "aish"
        world.places = find_places({"AISH_HOME": str(world.home)})
        self._settings = settings
        self.person = Reader()
        self.open(boss, worker)

    def open(self, boss: Sequence[str], worker: Sequence[str]) -> None:
        """Start the program, again if it was started before."""
        models: dict[str, Any] = {
            BOSS: {"kind": "scripted", "answers": list(boss)},
            WORKER: {"kind": "scripted", "answers": list(worker)},
        }
        values: dict[str, Any] = {"model": BOSS, "agents": {"tool": True}, "commands": {"file_tools": True}}
        values |= self._settings
        values["models"] = models | self._settings.get("models", {})
        self.program = self.world.program(values)
        self.program.cwd = self.project
        self.session = self.program.session()
        self.shell = self.world.shell(self.program, self.session)
        self.events: list[object] = []

    def define(self, name: str, fields: str = "", body: str = "Do the task.", *, where: Path | None = None) -> Path:
        """Write the definition of an agent that uses the model of the workers."""
        folder = where or self.world.places.agents
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.md"
        text = f"---\nname: {name}\ndescription: what {name} does\nmodel: {WORKER}\n{fields}\n---\n{body}\n"
        path.write_text(text, encoding="utf-8")
        return path

    async def ask(
        self, question: str = "go on", *, person: Person | None = None, gate: CommandGate | None = None
    ) -> TurnDone:
        """Ask the model of the user, and collect what happens."""
        done = None
        async with asyncio.timeout(20):
            async for event in take_turn(self.session, question, person or self.person, gate=gate):
                self.events.append(event)
                done = event if isinstance(event, TurnDone) else done
        assert done
        return done

    async def type(self, line: str) -> Reply:
        async with asyncio.timeout(20):
            return await self.world.type(self.shell, line)

    @property
    def progress(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, ToolProgress)]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    @property
    def results(self) -> list[dict[str, Any]]:
        """What the model of the user was given by tools, in order."""
        turns = [entry.turn for entry in self.session.journal.entries() if entry.turn.role == "tool"]
        return [json.loads(turn.content) for turn in turns]

    @property
    def boss(self) -> ScriptedModel:
        return script_of(self.session)

    @property
    def worker(self) -> ScriptedModel:
        model = self.program.backend(WORKER).model
        assert isinstance(model, ScriptedModel)
        return model

    def sent(self, request: int = 0) -> str:
        """Everything that a sub-agent was sent with one request."""
        return "\n\n".join(str(message.get("content")) for message in self.worker.requests[request].messages)

    def offered(self, request: int = 0) -> list[str]:
        return [tool["function"]["name"] for tool in self.worker.requests[request].tools]
