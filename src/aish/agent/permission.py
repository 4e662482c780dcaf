"""The permission port: asked before each tool call, from every view and loop."""

from typing import Protocol, TypeVar

from aish.agent.tool import Consent, ParsedCall, Tool
from aish.values.named_tuple import NamedTuple

C = TypeVar("C")


class Decision(NamedTuple):
    """Whether a call may run; `reason` tells the model why not."""

    allowed: bool
    reason: str = ""


ALLOWED = Decision(True)


class Permission(Protocol[C]):
    """Decides about calls."""

    async def ask(self, tool: Tool[C], call: ParsedCall, context: C) -> Decision:
        """Decide about one call. May ask the user."""


class AllowReading(Permission[C]):
    """Allows tools that only read, that were allowed before, or that ask the user. For loops without a user."""

    async def ask(self, tool: Tool[C], call: ParsedCall, context: C) -> Decision:
        consent = tool.consent() if tool.consent else Consent()
        if tool.asks_itself or consent.given:
            return ALLOWED
        plan = await tool.planned(call, context)
        if plan.effect == "read" and not (plan.refusal or consent.note):
            return ALLOWED
        return Decision(False, plan.refusal or f"{tool.name} changes something, and there is no user to allow it")
