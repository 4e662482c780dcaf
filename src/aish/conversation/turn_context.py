"""The state of one turn, from the question to the end of the answer."""

import time
from typing import Protocol

from aish.conversation.session import Session
from aish.model.backend import Backend
from aish.values.events import ChatRequest
from aish.values.outcomes import Outcome
from aish.values.person import Nobody, Person
from aish.values.skills import MemoryScope, Skill, narrowest


class DecidedCommand(Protocol):
    """The outcome of a command, or the reason why it did not run."""

    @property
    def command(self) -> str: ...

    @property
    def outcome(self) -> Outcome | None: ...

    @property
    def reason(self) -> str: ...


class CommandGate(Protocol):
    """Checks, shows and runs commands of the model, and asks the user first if needed."""

    async def decide(self, command: str) -> DecidedCommand:
        """Run or skip one command, as the policy and the user decide."""


class TurnContext:
    """The current turn, as layers, tools and the permission port see it."""

    def __init__(
        self,
        session: Session,
        person: Person | None = None,
        question: str = "",
        *,
        typed: str = "",
        gate: CommandGate | None = None,
        category: str = "main",
        goes_on: bool = False,
    ) -> None:
        self.session = session
        self.person: Person = person or Nobody()
        self.question = question  # typed by the user or not
        self.typed = typed  # the user's own words; empty if their author is unknown
        self.category = category  # of its cost
        self.gate = gate  # None: commands cannot be run
        self.goes_on = goes_on  # the model goes on with an earlier question
        self.model = ""  # the preset that answers
        self.backend: Backend | None = None  # that of the newest request
        self.request: ChatRequest | None = None  # the newest one that was sent
        self.needs_care = False  # the question shows a person in crisis
        self.asked_at = time.monotonic()
        self.texts: dict[str, str] = {}  # by layer name: text for this turn only
        self.provenance = ""  # the least trusted source of those texts, if it is less trusted than a model
        self.wrote = False  # a tool changed memory or proposed a change
        self.skills: list[Skill] = []  # whose text was brought or read in this turn

    @property
    def tools_offered(self) -> bool:
        return not self.needs_care

    @property
    def memory_scope(self) -> MemoryScope:
        """Which notes may be brought to this turn: what the skills in use leave."""
        return narrowest([skill.memory_scope for skill in self.skills])

    def refusal(self, tool: str) -> str:
        """Return why a tool may not be used in this turn, because a skill narrows the tools; "" if it may."""
        skill = next((skill for skill in self.skills if not skill.allows(tool)), None)
        return f"the skill {skill.name} allows only: {', '.join(skill.allowed_tools)}" if skill else ""
