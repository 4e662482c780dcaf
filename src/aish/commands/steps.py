"""Commands about what the model did by itself for the last question."""

from aish.acting.steps import StepList
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.invisible import visible
from aish.values.replies import Reply
from aish.values.text import foreign, one_line


@COMMANDS.add("steps")
async def steps(shell: Shell, arguments: Arguments) -> Reply:
    """List what the model did by itself, for the last question that led to something.

    These are commands that ran unasked, calls of tools, and its thinking. `:unfold N` shows all of step N.
    """
    taken = list(_steps(shell))
    text = "\n".join(visible(step.line) for step in taken)
    return Reply(text or "the model has done nothing by itself in this conversation", found=bool(taken))


@COMMANDS.add("unfold", argument="[N]")
async def unfold(shell: Shell, arguments: Arguments) -> Reply:
    """Show everything that step N printed or read; without a number, that of the last step.

    Long output of what the model does by itself is one line with a number (`commands.fold`). `:steps` lists them.
    """
    words = arguments.text.strip()
    if words and not (words.isdecimal() and len(words) < 6 and int(words)):
        raise BadUsage(f"expected the number of a step, got {one_line(words, 40)!r}; :steps lists them")
    step = _steps(shell).find(int(words or 0))
    if step is None:
        known = "there are none" if not list(_steps(shell)) else ":steps lists them"
        return Reply(f"there is no step {words}; {known}" if words else "there is nothing to unfold", found=False)
    return Reply(f"{visible(step.line)}\n{foreign(step.output)}".rstrip())


def _steps(shell: Shell) -> StepList:
    return shell.worker.steps if shell.worker else StepList()
