"""The state of one turn: made when a question is put, and gone when it is answered."""

from dataclasses import dataclass, field
from typing import Protocol

from aish.conversation.session import Session
from aish.values.outcomes import Outcome
from aish.values.person import Nobody, Person


class DecidedCommand(Protocol):
    """What came of a command: how it ended, or why it did not run."""

    @property
    def command(self) -> str: ...

    @property
    def outcome(self) -> Outcome | None: ...

    @property
    def reason(self) -> str: ...


class CommandGate(Protocol):
    """Judges, shows, asks for and runs commands of the model."""

    async def decide(self, command: str) -> DecidedCommand:
        """Do with one command what the person wants."""


@dataclass(slots=True)
class TurnContext:
    """What layers, tools and the permission port may know of the turn they work for."""

    session: Session
    person: Person = field(default_factory=Nobody)
    question: str = ""  # what was asked, by whomever
    typed: str = ""  # the user's own words; empty where nobody can tell whose words they are
    model: str = ""  # the preset that answers
    gate: CommandGate | None = None  # where commands can be run
    needs_care: bool = False  # the question shows a person in crisis
    texts: dict[str, str] = field(default_factory=dict)  # by layer: texts for this turn only
    provenance: str = ""  # the least trusted source of those texts, if it is less trusted than a model
    wrote: bool = False  # a tool has changed memory, or proposed to

    @property
    def tools_offered(self) -> bool:
        return not self.needs_care
