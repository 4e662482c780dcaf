"""Commands about files that the model changed: show the changes, and take them back."""

from typing import TYPE_CHECKING

from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.replies import Reply
from aish.values.text import exactly, one_line

if TYPE_CHECKING:  # loaded when it is needed first
    from aish.action.undo import Restoration
    from aish.action.undo_store import FileChange

_PARTIAL = (
    "the command also changed or removed files that are not kept, because there are too many or the project ignores "
    "them; what was in them may be in these files now, so these go to the trash"
)


@COMMANDS.add("undo", argument="[N|turn|goal]")
async def undo(shell: Shell, arguments: Arguments) -> Reply:
    """Take back the last step in which the model changed files, after showing the difference.

    A step is one call of a tool, or one command. `:undo 3` takes back the last three steps, `:undo turn` all steps
    since the last question that led to some, `:undo goal` all that the last goal did. What you or another program
    changed since then is never overwritten: such a file stays as it is, and aish offers to write the old version
    beside it. Git is not used.
    """
    history, conversation = shell.program.files.history, shell.session.journal.id
    plans = history.restorations(_chosen(shell, arguments.text.strip()))
    if not plans:
        return Reply("the model has changed no file in this conversation that could be taken back", found=False)
    for plan in plans:
        if plan.does_something:
            await shell.person.show(plan.diff)
    lines = [f"{_name(plan)}: left as it is: {plan.problem}" for plan in plans if plan.problem]
    partial = [_PARTIAL] if any(change.partial for plan in plans for change in plan.changes) else []
    wanted = one_line(", ".join(_name(plan) for plan in plans if plan.does_something), 200)
    question = "\n".join([*lines, *partial, f"take back the changes to {wanted}: [u]ndo, or [s]kip (Enter) "])
    if wanted and await shell.person.key(question, "yus") not in ("y", "u"):
        return Reply("nothing was changed", data={"restored": []}, found=False)
    restored = []
    for plan, problem in zip(plans, history.restore(conversation, plans), strict=True):
        if plan.does_something:
            restored += [] if problem else [plan.path]
            done = "as it was before; what it was until now is in the trash" if plan.uses_trash else "as it was before"
            lines.append(f"{_name(plan)}: {'not taken back: ' + problem if problem else done}")
    lines += [line for plan in plans if plan.old is not None for line in await _beside(shell, plan)]
    text = "\n".join(lines) or "everything is already as it was"
    return Reply(text, data={"restored": restored}, found=bool(restored))


@COMMANDS.add("diff", argument="[turn|goal]")
async def diff(shell: Shell, arguments: Arguments) -> Reply:
    """Show how the files differ from what they were before the model changed them.

    Covers this conversation; `:diff turn` only the last question that led to changes, `:diff goal` the last goal. Your
    own later changes to these files are part of the difference. What was taken back is not.
    """
    history, conversation, words = shell.program.files.history, shell.session.journal.id, arguments.text.strip()
    if words not in ("", "turn", "goal"):
        raise BadUsage("use :diff, :diff turn or :diff goal")
    changes = _chosen(shell, words) if words else history.changes(conversation)
    found = history.difference(changes)
    return Reply("\n".join(found) or "no differences", data={"files": len(found)}, found=bool(found), difference=True)


def _chosen(shell: Shell, words: str) -> "list[FileChange]":
    history, conversation = shell.program.files.history, shell.session.journal.id
    if words == "turn":
        return history.last_turn(conversation)
    if words == "goal":
        return history.of_turns(conversation, shell.program.goals.last_turns(conversation))
    if words and not (words.isdecimal() and len(words) < 6 and int(words)):
        raise BadUsage(f"expected a number of steps or the words turn or goal, got {one_line(words, 40)!r}")
    return history.last_steps(conversation, int(words or 1))


def _name(plan: "Restoration") -> str:
    return one_line(exactly(plan.path), 200)


async def _beside(shell: Shell, plan: "Restoration") -> list[str]:
    """Offer to write the older version of a file beside it."""
    offer = "[w]rite the version before the model's change beside it, or [s]kip (Enter) "
    question = f"{_name(plan)} was changed since: {offer}"
    if await shell.person.key(question, "yws") not in ("y", "w"):
        return []
    return [f"the earlier version is in {shell.program.files.history.write_beside(plan)}"]
