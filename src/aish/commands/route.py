"""Commands about what a typed line is."""

from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.intake.line import ColonCommand, read_line
from aish.intake.route_choices import LineRouter
from aish.values.errors import BadUsage

_WORDS = {"command": "your shell runs it", "question": "the model is asked", "ask": "you are asked"}


@COMMANDS.add("route")
async def route(shell: Shell, arguments: Arguments) -> str:
    """List what you decided about lines: which are commands and which are questions.

    aish learns from you. A line that you run with `!`, send with `?`, or decide with a key is treated that way from
    then on, and a first word that you have run twice as a command is one.
    """
    decided = _router(shell).decided()
    return "\n".join(f"{kind:8}  {line}" for line, kind in decided.items()) or "you have decided nothing so far"


@COMMANDS.add("route why", argument="LINE")
async def route_why(shell: Shell, arguments: Arguments) -> str:
    """Say whether a line is a command or a question, and why. Nothing is run."""
    if not arguments.text.strip():
        raise BadUsage("write the line after :route why")
    router = _router(shell)
    if isinstance(line := read_line(arguments.text), ColonCommand):
        return f"aish does it: it is the command :{line.name}"
    found = router.route(arguments.text)
    return f"{_WORDS[found.kind]}: {found.reason}"


@COMMANDS.add("route forget", argument="[LINE]")
async def route_forget(shell: Shell, arguments: Arguments) -> str:
    """Forget what you decided about a line, or about all lines."""
    line = " ".join(arguments.words)
    count = _router(shell).forget(line)
    if not count:
        return "you had decided nothing about this line" if line else "you had decided nothing"
    return "forgotten: " + (line or f"{count} {'decision' if count == 1 else 'decisions'}")


def _router(shell: Shell) -> LineRouter:
    if not shell.router:
        raise BadUsage("no lines are typed here; use aish route LINE")
    return shell.router
