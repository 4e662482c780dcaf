"""The state of one turn, from the question to the end of the answer."""

from dataclasses import dataclass, field
from typing import Protocol

from aish.conversation.session import Session
from aish.values.outcomes import Outcome
from aish.values.person import Nobody, Person


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


@dataclass(slots=True)
class TurnContext:
    """The current turn, as layers, tools and the permission port see it."""

    session: Session
    person: Person = field(default_factory=Nobody)
    question: str = ""  # typed by the user or not
    typed: str = ""  # the user's own words; empty if their author is unknown
    model: str = ""  # the preset that answers
    gate: CommandGate | None = None  # None: commands cannot be run
    needs_care: bool = False  # the question shows a person in crisis
    texts: dict[str, str] = field(default_factory=dict)  # by layer name: text for this turn only
    provenance: str = ""  # the least trusted source of those texts, if it is less trusted than a model
    wrote: bool = False  # a tool changed memory or proposed a change

    @property
    def tools_offered(self) -> bool:
        return not self.needs_care
