"""The permission port: asked before each call of a tool, whatever door or loop the call comes from."""

from typing import NamedTuple, Protocol, TypeVar

from aish.agent.tool import ParsedCall, Tool

C = TypeVar("C")


class Decision(NamedTuple):
    """May the call be made? `reason` tells the model why not."""

    allowed: bool
    reason: str = ""


ALLOWED = Decision(True)


class Permission(Protocol[C]):
    """Decides about calls."""

    async def ask(self, tool: Tool[C], call: ParsedCall, context: C) -> Decision:
        """Decide about one call. May put a question to the person."""


class AllowReading(Permission[C]):
    """Allows what only reads, and tools that ask for themselves. For loops that nobody watches."""

    async def ask(self, tool: Tool[C], call: ParsedCall, context: C) -> Decision:
        if tool.effect == "read" or tool.asks_itself:
            return ALLOWED
        return Decision(False, f"{tool.name} changes something, and nobody is there to allow it")
