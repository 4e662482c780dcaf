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
        if tool.effect == "read" or tool.asks_itself:
            return ALLOWED
        what = f"{tool.name} {one_line(exactly(as_json(**call.arguments)), 200)} ({tool.effect})"
        if tool.effect in ("destroy", "unknown"):
            question = f"{what}: type {WORD} to allow it, anything else skips it: "
            yes = bool(await context.person.word(question, [WORD]))
        else:
            yes = await context.person.key(f"{what}: [r]un it, or [s]kip ", "rs") == "r"
        return ALLOWED if yes else Decision(False, _SKIPPED)
