"""A tool: its schema for the model, its effect, and the trust in its results.

Pure: plain values. `C` is the context of a turn; the loop only passes it on.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Generic, Literal, TypeVar

from aish.values.events import Notice, ToolProgress
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.turns import Message
from aish.values.verdicts import Effect

C = TypeVar("C")

_DEEPEST = 50  # levels of nested arguments
_HALF = pattern(r"(?i)\\ud[89a-f]")  # half of a character may be written like this
Trust = Literal["own", "outside"]
"""Where the text of a result comes from: aish itself, or files, programs, servers and other people."""


class ParsedCall(NamedTuple):
    """A call of the model with parsed arguments.

    A tool that may have to ask the user while it runs does so inside `alone`, so that only one question is open. A tool
    that `asks_itself` is inside all the time.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    alone: AbstractAsyncContextManager[Any] = nullcontext()


class Consent(NamedTuple):
    """What the user decided about a tool before the call.

    If it is `given`, nobody is asked. `note` is shown with the question, `keep_always` records the answer "always".
    """

    given: bool = False
    note: str = ""
    keep_always: Callable[[], None] | None = None


class ToolResult(NamedTuple):
    """The result that the model reads.

    `wrote`: memory or its pending candidates changed. `recalled`: the text is already in another journal, so it must
    not be indexed again.
    """

    text: str
    wrote: bool = False
    recalled: bool = False


ToolEvent = Notice | ToolProgress | ToolResult


class CallPlan(NamedTuple):
    """What one call would do, for the permission port. `refusal` is why it cannot be done at all: nobody is asked.

    `what` and `preview` are for the user: one line, and a text to look at before the answer, such as a difference.
    `word` is what the user has to type; empty means the usual question for the effect. `path` is the file of the
    project that it would change, relative to the top of the project; empty if it would change something else.
    """

    effect: Effect
    what: str = ""
    preview: str = ""
    word: str = ""
    refusal: str = ""
    path: str = ""


class Tool(NamedTuple, Generic[C]):
    """A tool.

    Contract: `run` yields any number of `Notice` and `ToolProgress` and exactly one `ToolResult`, which comes last.
    Bad arguments also give a result: the model reads the error and can try again. Closing `run` stops the work.
    `setting` names the setting that must be on for the tool to be offered; an empty one means always. `layer` names the
    part of the prompt that must be there for it. A tool that `needs_gate` runs commands, so it is offered only where
    somebody can watch them. One that `asks_itself` asks the user, so the permission port does not. `consent` says what
    was decided before.
    `plan` says what a single call would do, if that is more than the effect of the tool; the call then runs before
    another one is asked about. A tool that is not `offered` only explains to a model that calls it why it cannot. The
    description of a `foreign` one is the text of a stranger, which the model reads with every request.
    """

    schema: Message
    run: Callable[[ParsedCall, C], AsyncGenerator[ToolEvent]]
    effect: Effect
    trust: Trust = "outside"
    setting: str = ""
    layer: str = ""
    asks_itself: bool = False
    needs_gate: bool = False
    consent: Callable[[], Consent] | None = None
    plan: Callable[[ParsedCall, C], Awaitable[CallPlan]] | None = None
    offered: bool = True
    foreign: bool = False

    @property
    def name(self) -> str:
        return str(self.schema["function"]["name"])

    async def planned(self, call: ParsedCall, context: C) -> CallPlan:
        """Return what a call would do."""
        return await self.plan(call, context) if self.plan else CallPlan(self.effect)


def schema(name: str, about: str, properties: dict[str, Message], required: list[str]) -> Message:
    """Return a tool description for the chat API."""
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


def as_json(**fields: object) -> str:
    """Return the fields as JSON for the model."""
    return json.dumps(fields, ensure_ascii=False)


def refused(reason: str) -> ToolResult:
    """Return the result of a call that was not carried out."""
    return ToolResult(as_json(status="refused", reason=reason))


def read_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call; None if they are not a JSON object. No text at all means no arguments.

    Values that are nested too deeply count as unreadable: many programs cannot pass them on. Halves of characters are
    replaced, because no file, program or server takes them.
    """
    try:
        read = json.loads(text.strip() or "{}", parse_constant=_no_constant)
        if _HALF.search(text):
            whole = json.dumps(read, ensure_ascii=False).encode("utf-16", "surrogatepass")
            read = json.loads(whole.decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) and _is_flat(read) else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")  # Python reads NaN and Infinity, but servers do not


def _is_flat(value: dict[str, Any]) -> bool:
    """Is nothing nested more than `_DEEPEST` levels deep?"""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        inner = [one for value in level for one in (value.values() if isinstance(value, dict) else value)]
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return True
    return False
