"""Import every command module, so that the command table is complete, and write the text of docs/commands.md."""

from aish.commands import conversation_memory, conversation_notes, model, mcp, agents  # isort: skip  # the order of :help
from aish.commands import project, skills, recall, goal, undo, masks, code, plan, steps, queue  # isort: skip  # likewise
from aish.commands import route, setup, settings, help, conversation  # isort: skip  # likewise
from aish.commands.shell import COMMANDS

__all__ = [
    "COMMANDS",
    "agents",
    "code",
    "conversation",
    "conversation_memory",
    "conversation_notes",
    "goal",
    "help",
    "manual",
    "masks",
    "mcp",
    "model",
    "plan",
    "project",
    "queue",
    "recall",
    "route",
    "settings",
    "setup",
    "skills",
    "steps",
    "undo",
]

_HEAD = """\
# Commands

Type them at the prompt after a colon. This page is generated from the code: `make docs` writes it, `make check`
compares it. A name can be shortened as long as only one command starts that way.

"""


def manual() -> str:
    """Return the text of docs/commands.md."""
    return _HEAD + COMMANDS.manual() + "\n"
