"""The table of verbs: `aish VERB`, what each of them opens, and how its module is loaded, on first use.

A verb pays for what it opens: most need the settings only, some memory or the library, few the whole program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aish.opening import open_embedder, open_library, open_memory, open_program, open_redaction
from aish.views.screen import Bar
from aish.views.start import Start

if TYPE_CHECKING:
    from pathlib import Path

    from aish.commands.memory_scope import MemoryScope
    from aish.conversation.library import Library
    from aish.model.weights import Weights
    from aish.program import Program
    from aish.values.person import Person
    from aish.values.recall import Memo
    from aish.values.replies import Reply
    from aish.views.config import ConfigDoors
    from aish.views.history import HistoryDoors
    from aish.views.mcp import McpDoors
    from aish.views.memory import MemoryDoors
    from aish.views.models import ModelDoors
    from aish.views.recall import RecallDoors
    from aish.views.run import RunDoors

Opened = TypeVar("Opened")


class Verb(Generic[Opened]):
    """`aish NAME`: what it opens, and how its module is loaded.

    After a verb that `takes_command_line`, the words are a command line, in which no option is ours.
    """

    def __init__(
        self,
        opens: Callable[[Start], Opened],
        load: Callable[[], Callable[[Opened, Sequence[str]], int]],
        *,
        takes_command_line: bool = False,
    ) -> None:
        self.opens, self.load, self.takes_command_line = opens, load, takes_command_line

    def run(self, start: Start, arguments: Sequence[str]) -> int:
        return self.load()(self.opens(start), arguments)


def nothing_more(start: Start) -> Start:
    """For verbs that need the settings and places only."""
    return start


def memory_doors(start: Start) -> MemoryDoors:
    """Memory, and the rest of the program for the few commands of memory that need it."""
    from aish.views.memory import MemoryDoors

    redaction = open_redaction(start.places)
    return MemoryDoors(
        start,
        lambda now: open_memory(start.settings, start.places, redaction, now, Bar)[0],
        lambda: open_library(start),
        lambda person: _in_conversation(start, person),
        lambda: _propose(open_program(start)),
    )


def _in_conversation(start: Start, person: Person) -> MemoryScope:
    """Memory with a new conversation, for what concerns the prompt."""
    from aish.commands.conversation_memory import ConversationMemory
    from aish.commands.shell import Shell

    program = open_program(start)
    return ConversationMemory(Shell(program=program, session=program.session(), person=person))


def recall_doors(start: Start) -> RecallDoors:
    """The notes of a channel with the ledger, and what compares meanings."""
    from aish.views.recall import RecallDoors

    return RecallDoors(start, lambda channel: _channel_memos(start, channel), lambda: open_embedder(start.places))


def _channel_memos(start: Start, channel: str) -> list[Memo]:
    """What may be brought to a question in a channel."""
    from aish.memory.recall.gather import ledger_memos, note_memos

    library = open_library(start)
    memory, _ = open_memory(start.settings, start.places, library.redaction, lambda: library.now(), Bar)
    try:
        return [*note_memos(library.notes(library.find_channel(channel))), *ledger_memos(memory.items())]
    finally:
        memory.close()


def model_doors(start: Start) -> ModelDoors:
    """The settings, what installs weights, and what tries a model."""
    from aish.views.models import ModelDoors

    return ModelDoors(start, _install, lambda name, as_json: _check_model(open_program(start), name, as_json))


def _install(weights: Weights, directory: Path, source: Path | None) -> Path:
    from aish.views.installing import install

    return install(weights, directory, source)


def _check_model(program: Program, name: str, as_json: bool) -> int:
    from aish.views.model_check import run

    return run(program, name, as_json=as_json)


def _propose(program: Program) -> Reply:
    from aish.views.proposing import propose

    return propose(program)


def config_doors(start: Start) -> ConfigDoors:
    """The settings, and what masks the secrets of a project file that is shown."""
    from aish.views.config import ConfigDoors

    return ConfigDoors(start, lambda text: open_redaction(start.places).reading().text(text))


def config() -> Callable[[ConfigDoors, Sequence[str]], int]:
    from aish.views.config import run

    return run


def cost() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.cost import run

    return run


def doctor() -> Callable[[Program, Sequence[str]], int]:
    from aish.views.doctor import run

    return run


def export() -> Callable[[Library, Sequence[str]], int]:
    from aish.views.exporting import run

    return run


def goal() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.goal import run

    return run


def history_doors(start: Start) -> HistoryDoors:
    """The settings, and what masks secrets."""
    from aish.views.history import HistoryDoors

    return HistoryDoors(start, open_redaction(start.places).text)


def history() -> Callable[[HistoryDoors, Sequence[str]], int]:
    from aish.views.history import run

    return run


def import_() -> Callable[[Library, Sequence[str]], int]:
    from aish.views.importing import run

    return run


def mcp_doors(start: Start) -> McpDoors:
    """The settings, and what finds secrets in those of other tools."""
    from aish.views.mcp import McpDoors

    redaction = open_redaction(start.places).reading()
    return McpDoors(start, lambda text: bool(redaction.mask(text).kinds))


def mcp() -> Callable[[McpDoors, Sequence[str]], int]:
    from aish.views.mcp import run

    return run


def memory() -> Callable[[MemoryDoors, Sequence[str]], int]:
    from aish.views.memory import run

    return run


def models() -> Callable[[ModelDoors, Sequence[str]], int]:
    from aish.views.models import run

    return run


def notes() -> Callable[[Library, Sequence[str]], int]:
    from aish.views.notes import run

    return run


def policy() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.policy import run

    return run


def recall() -> Callable[[RecallDoors, Sequence[str]], int]:
    from aish.views.recall import run

    return run


def recent() -> Callable[[Library, Sequence[str]], int]:
    from aish.views.search import run_recent

    return run_recent


def redact() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.redact import run

    return run


def route() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.route import run

    return run


def run_doors(start: Start) -> RunDoors:
    """The settings, and what finds secrets in variables."""
    from aish.views.run import RunDoors

    return RunDoors(start, open_redaction(start.places).reading())


def run() -> Callable[[RunDoors, Sequence[str]], int]:
    from aish.views.run import run

    return run


def search() -> Callable[[Library, Sequence[str]], int]:
    from aish.views.search import run_search

    return run_search


def setup() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.setup import run

    return run


def thread() -> Callable[[Library, Sequence[str]], int]:
    from aish.views.search import run_thread

    return run_thread


def tokens() -> Callable[[Program, Sequence[str]], int]:
    from aish.views.tokens import run

    return run


def trash() -> Callable[[Start, Sequence[str]], int]:
    from aish.views.trash import run

    return run


VERBS: dict[str, Verb[Any]] = {
    "config": Verb(config_doors, config),
    "cost": Verb(nothing_more, cost),
    "doctor": Verb(open_program, doctor),
    "export": Verb(open_library, export),
    "goal": Verb(nothing_more, goal),
    "history": Verb(history_doors, history),
    "import": Verb(open_library, import_),
    "mcp": Verb(mcp_doors, mcp),
    "memory": Verb(memory_doors, memory),
    "models": Verb(model_doors, models),
    "notes": Verb(open_library, notes),
    "policy": Verb(nothing_more, policy, takes_command_line=True),
    "recall": Verb(recall_doors, recall),
    "recent": Verb(open_library, recent),
    "redact": Verb(nothing_more, redact),
    "route": Verb(nothing_more, route, takes_command_line=True),
    "run": Verb(run_doors, run, takes_command_line=True),
    "search": Verb(open_library, search),
    "setup": Verb(nothing_more, setup),
    "thread": Verb(open_library, thread),
    "tokens": Verb(open_program, tokens),
    "trash": Verb(nothing_more, trash),
}
