"""Permission for tools by asking the person: what only reads needs none, the rest a key or a typed word."""

from aish.agent.permission import ALLOWED, Decision, Permission
from aish.agent.tool import ParsedCall, Tool, as_json
from aish.conversation.turn_context import TurnContext
from aish.values.text import exactly, one_line

WORD = "run"  # what is typed for a call that cannot be taken back
_SKIPPED = "skipped by user"


class AskPerson(Permission[TurnContext]):
    """Asks the person of the turn. Nobody there means no."""

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
