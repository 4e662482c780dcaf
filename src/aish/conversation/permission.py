"""Ask the user for permission to call a tool. Reading needs none; the rest needs a key press or a typed word."""

from aish.agent.permission import ALLOWED, Decision, Permission
from aish.agent.tool import CallPlan, Consent, ParsedCall, Tool, as_json
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
        if tool.asks_itself or consent.given:
            return ALLOWED
        plan = await tool.planned(call, context)
        if plan.refusal:
            return Decision(False, plan.refusal)
        if plan.effect == "read" and not consent.note:
            return ALLOWED
        if plan.preview:
            await context.person.show(plan.preview)
        return ALLOWED if await ask_about(tool, call, context.person, consent, plan) else Decision(False, _SKIPPED)


async def ask_about(
    tool: Tool[TurnContext], call: ParsedCall, person: Person, consent: Consent, plan: CallPlan | None = None
) -> bool:
    """Ask about one call. One whose effect may be bad needs a typed word."""
    plan = plan or CallPlan(tool.effect)
    what = (
        plan.what or f"{tool.name} {one_line(exactly(as_json(**call.arguments)), _LONGEST_ARGUMENTS)} ({plan.effect})"
    )
    what += f" {consent.note}" if consent.note else ""
    keep = consent.keep_always
    word = plan.word or (WORD if plan.effect in ("destroy", "unknown") else "")
    if word:
        always = f", {ALWAYS} to allow this tool from now on" if keep else ""
        question = f"{what}: type {word} to allow it{always}, anything else skips it: "
        answer = await person.word(question, [word.lower(), ALWAYS] if keep else [word.lower()])
    else:
        keys = "[r]un it, [a]lways allow this tool, or [s]kip (Enter) " if keep else "[r]un it, or [s]kip (Enter) "
        key = await person.key(f"{what}: {keys}", "yras" if keep else "yrs")
        answer = {"y": WORD, "r": WORD, "a": ALWAYS}.get(key, "")
    if answer == ALWAYS and keep:
        keep()
    return bool(answer)
