"""A tool: how the model sees it, what it does to the world, and how far its words can be trusted.

Pure: plain values. `C` is the context of a turn; the loop hands it on and never looks inside.
"""

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from aish.values.events import Notice, ToolProgress
from aish.values.turns import Message
from aish.values.verdicts import Effect

C = TypeVar("C")

Trust = Literal["own", "outside"]
"""Whose words a result is: our own, or those of files, programs, servers and other people."""


class ParsedCall(NamedTuple):
    """A call of the model with its arguments read."""

    id: str
    name: str
    arguments: dict[str, Any]


class ToolResult(NamedTuple):
    """What the model reads.

    `wrote`: memory changed, or something waits to be remembered. `recalled`: the text stands in another journal
    already, so it must not be found a second time. `failed`: nothing was done.
    """

    text: str
    wrote: bool = False
    recalled: bool = False
    failed: bool = False


ToolEvent = Notice | ToolProgress | ToolResult


class Tool(NamedTuple, Generic[C]):
    """A tool.

    Contract: `run` yields any number of `Notice` and `ToolProgress` and exactly one `ToolResult`, which comes last.
    Bad arguments are a result too: the model reads what was wrong and can try again. Closing it stops the work.
    `setting` names the setting that must be on for the tool to be offered; without one it always is.
    A tool that `asks_itself` puts its own question to the person, so the permission port does not.
    """

    schema: Message
    run: Callable[[ParsedCall, C], AsyncGenerator[ToolEvent]]
    effect: Effect
    trust: Trust = "outside"
    setting: str = ""
    asks_itself: bool = False

    @property
    def name(self) -> str:
        return str(self.schema["function"]["name"])


def schema(name: str, about: str, properties: dict[str, Message], required: list[str]) -> Message:
    """A tool as the chat API describes it."""
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


def as_json(**fields: object) -> str:
    """What the model reads, as JSON."""
    return json.dumps(fields, ensure_ascii=False)


def refused(reason: str) -> ToolResult:
    """The result of a call that was not carried out."""
    return ToolResult(as_json(status="refused", reason=reason), failed=True)
