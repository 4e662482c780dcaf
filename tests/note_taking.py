"""A conversation whose notes are kept by a second scripted model, for stories about notes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from world import Said, World, script_of

from aish.commands.shell import Shell
from aish.conversation.session import Session
from aish.jobs.scheduler import Scheduler
from aish.jobs.table import JOBS
from aish.model.scripted import ScriptedModel
from aish.values.errors import AishError
from aish.values.events import ChatRequest, Finished, ModelEvent, TextPiece, Usage

STATE = "goal: move billing to Envoy\nstate: billing is moved\nnext: auth remains to be moved"


class HangingModel:
    """A model that does not answer before it is told what to say."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.stopped = 0
        self._told, self._answer = asyncio.Event(), ""

    def say(self, answer: str) -> None:
        self._answer = answer
        self._told.set()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        self.asked.set()
        try:
            await self._told.wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        yield TextPiece(self._answer)
        yield Usage(prompt_tokens=10, completion_tokens=10)
        yield Finished()

    async def close(self) -> None:
        """There is nothing to close."""


class Desk:
    """A shell with the jobs of the real one. `notes` are the answers of the model that helps with the notes."""

    def __init__(
        self,
        world: World,
        *answers: str,
        notes: Sequence[str] = (),
        remembers: bool = True,
        cwd: Path | None = None,
        **settings: Any,
    ) -> None:
        self.world = world
        options = {"upkeep": True, "tools": False, "model": "notes", **settings.pop("notes_settings", {})}
        models = {"script": list(answers), "notes": list(notes)}
        presets = {name: {"kind": "scripted", "answers": lines} for name, lines in models.items()}
        context = {"summarize_evicted": False, **settings.pop("context", {})}
        values = {"model": "script", "models": presets, "notes": options, "context": context, **settings}
        self.program = world.program(values)
        self.program.cwd = cwd or self.program.cwd
        self.now = datetime(2026, 11, 17, 12, tzinfo=UTC)
        self.program.now = lambda: self.now
        self.session: Session = self.program.session(remembers=remembers)
        self.shell: Shell = world.shell(self.program, self.session)
        self.jobs = Scheduler(JOBS)

    async def ask(self, question: str) -> Said:
        """Ask as the shell does: the person first, then the jobs after the answer."""
        self.now += timedelta(minutes=1)
        self.jobs.person_first()
        async with asyncio.timeout(20):
            said = await self.world.ask(self.session, question)
            await self.jobs.idle()  # a stopped job needs a step of the loop to end
        self.jobs.start("after answer", self.session)
        return said

    async def say(self, *questions: str) -> None:
        """Ask without any jobs."""
        for question in questions:
            self.now += timedelta(minutes=1)
            await self.world.ask(self.session, question)

    async def work(self, *questions: str) -> None:
        """Ask, and let the jobs after each answer finish."""
        for question in questions:
            await self.ask(question)
            await self.finish()

    async def finish(self) -> None:
        async with asyncio.timeout(20):
            await self.jobs.idle()

    async def rest(self) -> None:
        """Ask nothing for a while."""
        await self.finish()
        self.jobs.start("idle", self.session)
        await self.finish()

    async def quit(self) -> None:
        for job in self.jobs.due("quit", self.session):
            await self.jobs.run(job, self.session)
        await self.jobs.close()
        await self.program.close()

    async def type(self, line: str) -> str:
        """Type a colon command. An error is returned as text, as a user sees it."""
        self.now += timedelta(seconds=1)
        try:
            async with asyncio.timeout(20):
                return (await self.world.type(self.shell, line)).text
        except AishError as error:
            return f"{type(error).__name__}: {error}"

    def change_directory(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.shell.enter(str(directory))

    def hang(self, preset: str = "notes") -> HangingModel:
        """Let a model hang from now on."""
        model = HangingModel()
        self.program.backend(preset).model = model
        return model

    @property
    def folder(self) -> Path:
        return self.world.places.channel(self.session.channel)

    def note(self, file: str = "SESSION.md") -> str:
        path = self.folder / file
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def entries(self, name: str = "memory") -> list[str]:
        return [entry.text for entry in self.session.notes.read(name).entries]

    @property
    def helper(self) -> ScriptedModel:
        """The model that helps with the notes."""
        model = self.program.backend("notes").model
        assert isinstance(model, ScriptedModel)
        return model

    def asked_helper(self) -> list[str]:
        return [str(request.messages[0]["content"]) for request in self.helper.requests]

    def system(self) -> str:
        """The system prompt of the newest answer."""
        return str(script_of(self.session).requests[-1].messages[0]["content"])

    def message(self) -> str:
        """The message of the newest question as the model got it."""
        return str(script_of(self.session).requests[-1].messages[-1]["content"])

    def outcomes(self) -> list[tuple[str, str]]:
        return [(run.job, run.outcome) for run in self.jobs.log]


def files_below(directory: Path) -> dict[str, bytes]:
    """Return the content of every file."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
