"""The setting of a story: one directory, the real program, and scripted models."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aish.commands.manual import COMMANDS
from aish.commands.shell import Shell
from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.intake.line import ColonCommand, read_line
from aish.model.scripted import ScriptedModel
from aish.opening import open_program
from aish.places import find_places
from aish.program import Program
from aish.settings.layers import SettingsLayer, load
from aish.values.events import Notice, TurnDone
from aish.values.person import Nobody
from aish.values.replies import Reply
from aish.views.start import Start

AISH = [sys.executable, "-m", "aish"]


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a run of the program."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Said:
    """The result of one question, asked inside this process."""

    text: str
    notices: list[str]
    done: TurnDone


class Typist(Nobody):
    """A user who answers from the world's list, then with an empty line."""

    def __init__(self, world: "World") -> None:
        super().__init__()
        self._world = world

    async def confirm(self, question: str) -> bool:
        self._world.confirms.append(question)
        return self._world.consent

    async def line(self, question: str) -> str:
        self._world.asked.append(question)
        return self._world.answers.pop(0) if self._world.answers else ""

    async def edit(self, text: str) -> str:
        return await self.line(text)


class World:
    """A home directory for aish, and ways to use the program from outside and from inside."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.directory = directory
        self.places = find_places({"AISH_HOME": str(self.home)})
        self.confirms: list[str] = []
        self.asked: list[str] = []
        self.answers: list[str] = []
        self.consent = False

    def environment(self, **more: str) -> dict[str, str]:
        foreign = ("_API_KEY", "OLLAMA_HOST")  # models of whoever runs the tests
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AISH")}
        kept = {name: value for name, value in kept.items() if not name.endswith(foreign)}
        plain = {"TERM": "dumb", "NO_COLOR": "1", "AISH_SET_FINDING__TOOLS": "false"}  # as in `program`
        plain |= {"AISH_SET_NOTES__TOOLS": "false", "AISH_SET_NOTES__UPKEEP": "false"}
        plain |= {"AISH_SET_COMMANDS__FILE_TOOLS": "false", "AISH_SET_AGENTS__TOOL": "false"}
        plain |= {"AISH_SET_COMMANDS__PLAN": "false"}
        plain |= {"AISH_SET_COMMANDS__ROUNDS": "0"}  # most stories script one answer for each question
        plain |= {name: str(self.home / "none") for name in ("OLLAMA_MODELS", "LLAMA_CACHE", "HF_HUB_CACHE")}
        if not self.sets_token_budget():
            plain |= {"AISH_SET_CONTEXT__TOKEN_BUDGET": "4096"}  # no server is asked for its window
        plain |= {"AISH_SET_CONTEXT__SURROUNDINGS": "false"}  # a prompt has only what the test puts there
        plain |= {"AISH_SET_EMBEDDED__THREADS": "1"}  # tests run side by side, and idle threads of llama.cpp are busy
        return {**kept, "AISH_HOME": str(self.home), **plain, **more}

    def sets_token_budget(self) -> bool:
        file = self.places.config_file
        return file.is_file() and bool(
            re.search(r"(?m)^token_budget", file.read_text(encoding="utf-8", errors="replace"))
        )

    def welcome(self) -> None:
        """Let the account be one that has seen the first screen."""
        with suppress(OSError):  # some stories make the home unusable
            self.places.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.places.setup_record.write_text("{}", encoding="utf-8")
            self.places.setup_record.chmod(0o600)

    def configure(self, text: str) -> None:
        self.places.config.mkdir(parents=True, exist_ok=True)
        self.places.config_file.write_text(text, encoding="utf-8")

    def script(self, *answers: str, name: str = "script", extra: str = "") -> None:
        """Configure a scripted model as the answering one."""
        self.configure(
            f'model = "{name}"\n{extra}\n[models.{name}]\nkind = "scripted"\nanswers = {json.dumps(answers)}\n'
        )

    def aish(self, *arguments: str, given: str | bytes | None = None, seconds: float = 60, **env: str) -> Ran:
        """Run the real program to its end."""
        data = given.encode() if isinstance(given, str) else given
        done = subprocess.run(
            [*AISH, *arguments],
            input=data if data is not None else None,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            env=self.environment(**env),
            cwd=self.directory,
            timeout=seconds,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def program(self, settings: dict[str, Any] | None = None) -> Program:
        """Build the program inside this process, with these settings over the defaults.

        Models get no tools and keep no notes unless the settings say so, so that tests count only the turns.
        """
        quiet: dict[str, Any] = {"memory": {"propose": False}, "finding": {"tools": False}}
        quiet["notes"] = {"tools": False, "upkeep": False}
        quiet["commands"] = {"file_tools": False, "tool": False, "plan": False}
        quiet["agents"] = {"tool": False}
        quiet["embedded"] = {"threads": 1}  # as in `environment`
        values = {**quiet, **(settings or {})}
        context = {"token_budget": 4096, "surroundings": False}  # no server is asked for its window
        values["context"] = {**context, **values.get("context", {})}
        return open_program(self.start(values), progress=None)

    def start(self, settings: dict[str, Any] | None = None) -> Start:
        """What a verb gets, inside this process."""
        loaded = load([SettingsLayer(origin="test", values=settings or {})])
        assert not loaded.problems, loaded.problems
        return Start(loaded, self.places, self.directory)

    def session(self, answers: Sequence[str] = (), settings: dict[str, Any] | None = None) -> Session:
        """Open a conversation with a scripted model."""
        script = {"kind": "scripted", "answers": list(answers)}
        values = {"model": "script", **(settings or {})}
        values["models"] = {"script": script, **values.get("models", {})}
        return self.program(values).session()

    async def ask(self, session: Session, question: str) -> Said:
        """Ask one question and collect the events."""
        events = [event async for event in take_turn(session, question, Typist(self))]
        done = events[-1]
        assert isinstance(done, TurnDone)
        return Said(done.text, [event.text for event in events if isinstance(event, Notice)], done)

    def shell(self, program: Program, session: Session | None = None) -> Shell:
        """Return a shell for colon commands. Its questions are answered from `answers`, then with an empty line."""
        return Shell(program=program, session=session or program.session(), person=Typist(self))

    async def type(self, shell: Shell, line: str) -> Reply:
        """Type one colon command."""
        typed = read_line(line)
        assert isinstance(typed, ColonCommand), line
        command, arguments = COMMANDS.parse(typed.name, typed.words)
        reply = await command.run(shell, arguments)
        return Reply(reply) if isinstance(reply, str) else reply

    def journals(self) -> list[Path]:
        return sorted(path for path in self.places.sessions.glob("*.jsonl") if path.name != "names.jsonl")


def script_of(session: Session) -> ScriptedModel:
    """Return the scripted model of a session, to check what it was asked."""
    model = session.backend.model
    assert isinstance(model, ScriptedModel)
    return model


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
