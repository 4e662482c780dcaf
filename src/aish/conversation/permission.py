"""Ask the user for permission to call a tool. Reading needs none; the rest needs a key press or a typed word."""

from aish.agent.permission import ALLOWED, Decision, Permission
from aish.agent.tool import ParsedCall, Tool, as_json
from aish.conversation.turn_context import TurnContext
from aish.values.text import exactly, one_line

WORD = "run"  # the user types it to allow a call that cannot be undone
_SKIPPED = "skipped by user"


class AskPerson(Permission[TurnContext]):
    """Asks the user of the turn. If nobody can answer, the call is refused."""

    async def ask(self, tool: Tool[TurnContext], call: ParsedCall, context: TurnContext) -> Decision:
        if tool.asks_itself:
            return ALLOWED
        plan = await tool.planned(call, context)
        if plan.refusal:
            return Decision(False, plan.refusal)
        if plan.effect == "read":
            return ALLOWED
        if plan.preview:
            await context.person.show(plan.preview)
        what = plan.what or f"{tool.name} {one_line(exactly(as_json(**call.arguments)), 200)} ({plan.effect})"
        word = plan.word or (WORD if plan.effect in ("destroy", "unknown") else "")
        if word:
            question = f"{what}: type {word} to allow it, anything else skips it: "
            yes = bool(await context.person.word(question, [word.lower()]))
        else:
            yes = await context.person.key(f"{what}: [r]un it, or [s]kip ", "rs") == "r"
        return ALLOWED if yes else Decision(False, _SKIPPED)
