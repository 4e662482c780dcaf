"""Ask the user for permission to call a tool. Reading needs none; the rest needs a key press or a typed word."""

from aish.agent.permission import ALLOWED, Decision, Permission
from aish.agent.tool import Consent, ParsedCall, Tool, as_json
from aish.conversation.turn_context import TurnContext
from aish.values.person import Person
from aish.values.text import exactly, one_line

WORD = "run"  # the user types it to allow a call that cannot be undone
ALWAYS = "always"  # or this, to allow the tool from now on
_SKIPPED = "skipped by user"
_LONGEST_ARGUMENTS = 1_000


class AskPerson(Permission[TurnContext]):
    """Asks the user of the turn. If nobody can answer, the call is refused."""

    async def ask(self, tool: Tool[TurnContext], call: ParsedCall, context: TurnContext) -> Decision:
        consent = tool.consent() if tool.consent else Consent()
        if tool.asks_itself or consent.given or (tool.effect == "read" and not consent.note):
            return ALLOWED
        return ALLOWED if await ask_about(tool, call, context.person, consent) else Decision(False, _SKIPPED)


async def ask_about(tool: Tool[TurnContext], call: ParsedCall, person: Person, consent: Consent) -> bool:
    """Ask about one call. A tool whose effect may be bad needs a typed word."""
    what = f"{tool.name} {one_line(exactly(as_json(**call.arguments)), _LONGEST_ARGUMENTS)} ({tool.effect})"
    what += f" {consent.note}" if consent.note else ""
    keep = consent.keep_always
    if tool.effect in ("destroy", "unknown"):
        always = f", {ALWAYS} to allow this tool from now on" if keep else ""
        question = f"{what}: type {WORD} to allow it{always}, anything else skips it: "
        answer = await person.word(question, [WORD, ALWAYS] if keep else [WORD])
    else:
        keys = "[r]un it, [a]lways allow this tool, or [s]kip " if keep else "[r]un it, or [s]kip "
        key = await person.key(f"{what}: {keys}", "ras" if keep else "rs")
        answer = {"r": WORD, "a": ALWAYS}.get(key, "")
    if answer == ALWAYS and keep:
        keep()
    return bool(answer)
