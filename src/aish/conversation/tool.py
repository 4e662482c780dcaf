"""What a tool is: how the model sees it, and what it does.

A tool answers with a text for the model and lines for the user. Bad arguments are an answer too: the model reads what
was wrong and can try again.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from aish.conversation.session import Session
from aish.values.events import Notice
from aish.values.turns import Message


class Used(NamedTuple):
    """What a call of a tool came to; `wrote` when something is in memory, or waits there, because of it.

    What was `recalled` stands in another journal already, and is not to be found a second time.
    """

    answer: str
    notices: tuple[Notice, ...] = ()
    wrote: bool = False
    recalled: bool = False


class Tool(NamedTuple):
    """A tool: how the model sees it, and what it does."""

    schema: Message
    run: Callable[[Session, str, dict[str, Any]], Used]


def answer(**fields: object) -> str:
    """What the model reads."""
    return json.dumps(fields, ensure_ascii=False)


def refused(reason: str) -> Used:
    return Used(answer(status="refused", reason=reason))


def schema(name: str, about: str, properties: dict[str, Message], required: list[str]) -> Message:
    """A tool as the chat API describes it."""
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}
