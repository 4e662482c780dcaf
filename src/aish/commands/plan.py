"""The command about the plan of the conversation."""

from aish.commands.shell import COMMANDS, Shell
from aish.conversation.plan import PlanKeeper
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.invisible import visible
from aish.values.plan import as_text, plan_from, progress
from aish.values.replies import Reply
from aish.values.text import foreign


@COMMANDS.add("plan", argument="[edit|clear]")
async def plan(shell: Shell, arguments: Arguments) -> Reply:
    """Show what the model intends to do: done `[x]`, under way `[>]`, open `[ ]` and dropped `[-]` steps.

    `:plan edit` lets you change it, one step in each line; the model gets it with your next message, in place of its
    own. `:plan clear` drops it. A model without tools writes lines `PLAN: text`.
    """
    keeper, words = shell.session.layer(PlanKeeper), arguments.text.strip()
    if words == "clear":
        had = bool(keeper.plan)
        keeper.update((), edited=had)
        return Reply("the plan is dropped" if had else "there is no plan", found=had)
    if words == "edit":
        changed = plan_from(await shell.person.edit(as_text(keeper.plan)))
        if not changed or changed == keeper.plan:
            return Reply("the plan is unchanged", found=False)
        keeper.update(changed, edited=True)
        return Reply(f"{_shown(keeper)}\nthe model gets it with your next message")
    if words:
        raise BadUsage("use :plan, :plan edit or :plan clear")
    return Reply(_shown(keeper) if keeper.plan else "there is no plan", found=bool(keeper.plan))


def _shown(keeper: PlanKeeper) -> str:
    return foreign(visible(f"{as_text(keeper.plan)}\n{progress(keeper.plan)}"))
