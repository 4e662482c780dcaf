"""All commands, registered: import this to have the whole table, and for the text of docs/commands.md."""

from aish.commands import conversation_memory, model, project, recall, conversation  # isort: skip  # the order of :help
from aish.commands.shell import COMMANDS

__all__ = ["COMMANDS", "conversation", "conversation_memory", "manual", "model", "project", "recall"]

_HEAD = """\
# Commands

Typed at the prompt after a colon. This page is made from the code: `make docs` writes it, `make check` compares it.
The beginning of a name is enough where only one command has it.

"""


def manual() -> str:
    """The text of docs/commands.md."""
    return _HEAD + COMMANDS.manual() + "\n"
