"""The tools that the model is offered, and what happens when it calls one.

A tool answers with a text for the model and lines for the user. Bad arguments are an answer too: the model reads what
was wrong and can try again.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from aish.conversation.session import Session
from aish.memory.candidates import MARK
from aish.memory.trust import lowest_trust, said_by_user
from aish.values.errors import AishError
from aish.values.events import Notice
from aish.values.items import KINDS
from aish.values.text import one_line
from aish.values.turns import Message, ToolCall


class Used(NamedTuple):
    """What a call of a tool came to; `wrote` when something is in memory, or waits there, because of it."""

    answer: str
    notices: tuple[Notice, ...] = ()
    wrote: bool = False


class Tool(NamedTuple):
    """A tool: how the model sees it, and what it does."""

    schema: Message
    run: Callable[[Session, str, dict[str, Any]], Used]


def _memory_add(session: Session, typed: str, arguments: dict[str, Any]) -> Used:
    """Propose an item. It waits for the user's yes, unless the user asked for just this in this turn."""
    content, kind = arguments.get("content"), arguments.get("kind", "fact")
    if not isinstance(content, str) or not isinstance(kind, str):
        return Used(_answer(status="refused", reason="content must be a text, and kind one of " + ", ".join(KINDS)))
    where: dict[str, Any] = {"conversation": session.journal.id, "turn": session.turn_number}
    if said_by_user(content, typed):
        kept = session.memory.remember(content, kind, source="user", **where)
    else:
        entries = session.journal.entries()  # also what left the prompt: answers and summaries were made of it
        source = lowest_trust(entry.turn for entry in entries if entry.meta.get("meta") != MARK)
        kept = session.memory.propose(content, kind, source=source, **where)
    item = kept.item
    if not kept.new:
        state = "waits for the user's yes already" if kept.waits else "is known already"
        return Used(_answer(status="known", id=item.id, note=f"it {state}"), wrote=True)
    text = one_line(item.content, 100)
    notices = [Notice(kept.masked, warning=True)] if kept.masked else []
    if kept.waits:
        say = f"the model would like to remember: ({item.kind}) {text}   to keep it: :memory accept {item.id}"
        note = "not remembered yet: it waits in memory.pending.jsonl until the user accepts it with :memory accept"
        return Used(_answer(status="pending", id=item.id, note=note), (*notices, Notice(say)), wrote=True)
    say = f"remembered (id {item.id}): {text}   to take it back: :memory undo"
    file = session.memory.ledger.path.name
    return Used(_answer(status="remembered", id=item.id, file=file), (*notices, Notice(say)), wrote=True)


def _answer(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _schema(name: str, about: str, properties: dict[str, Message], required: list[str]) -> Message:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


MEMORY_ADD = _schema(
    "memory_add",
    "Propose one short sentence about the user or the work to remember for good. The user decides; the answer says "
    "where it is.",
    {"kind": {"type": "string", "enum": list(KINDS)}, "content": {"type": "string"}},
    ["kind", "content"],
)
TOOLS = {"memory_add": Tool(MEMORY_ADD, _memory_add)}


def use(session: Session, call: ToolCall, typed: str) -> Used:
    """Run one call of the model; whatever is wrong with it is told to the model, and trouble to the user too."""
    tool = TOOLS.get(call.name)
    if tool is None or tool.schema not in session.tools():
        return Used(_answer(status="refused", reason=f"there is no tool {call.name[:60]!r}"))
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return Used(_answer(status="refused", reason="the arguments are not a JSON object"))
    try:
        return tool.run(session, typed, arguments)
    except AishError as error:
        return Used(_answer(status="refused", reason=str(error)), (Notice(str(error), warning=True),))
