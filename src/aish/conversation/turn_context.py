"""The state of one turn, from the question to the end of the answer."""

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
    ) -> None:
        self.session = session
        self.person: Person = person or Nobody()
        self.question = question  # typed by the user or not
        self.typed = typed  # the user's own words; empty if their author is unknown
        self.category = category  # of its cost
        self.gate = gate  # None: commands cannot be run
        self.model = ""  # the preset that answers
        self.needs_care = False  # the question shows a person in crisis
        self.texts: dict[str, str] = {}  # by layer name: text for this turn only
        self.provenance = ""  # the least trusted source of those texts, if it is less trusted than a model
        self.wrote = False  # a tool changed memory or proposed a change

    @property
    def tools_offered(self) -> bool:
        return not self.needs_care
