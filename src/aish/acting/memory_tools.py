"""The tool with which a model proposes an item to remember."""

from collections.abc import AsyncGenerator
from typing import Any

from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.turn_context import TurnContext
from aish.memory.candidates import origin_of
from aish.memory.trust import said_by_user
from aish.values.events import notice
from aish.values.items import KINDS
from aish.values.text import one_line


async def _memory_add(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Propose an item. It is pending until the user accepts it, unless the user asked for exactly this in this turn."""
    content, kind = call.arguments.get("content"), call.arguments.get("kind", "fact")
    if not isinstance(content, str) or not isinstance(kind, str):
        yield refused("content must be a string, and kind one of " + ", ".join(KINDS))
        return
    session = turn.session
    where: dict[str, Any] = {"conversation": session.journal.id, "turn": session.turn_number}
    if said_by_user(content, turn.typed):
        kept = session.memory.remember(content, kind, source="user", **where)
    else:
        entries = (
            session.journal.entries()
        )  # also turns that are no longer in the prompt: answers and summaries may come from them
        source = origin_of(entries, imported=bool(session.journal.meta().get("source")))
        kept = session.memory.propose(content, kind, source=source, **where)
    item = kept.item
    if not kept.new:
        state = "is already pending" if kept.pending else "is already known"
        yield ToolResult(as_json(status="known", id=item.id, note=f"it {state}"), wrote=True)
        return
    if kept.masked:
        yield notice("secrets.masked", kept.masked, warning=True)
    text = one_line(item.content, 100)
    if kept.pending:
        say = f"the model would like to remember: ({item.kind}) {text}   to keep it: :memory accept {item.id}"
        yield notice("memory.proposed", say, id=item.id, kind=item.kind, content=item.content)
        note = "not remembered yet: it is pending in memory.pending.jsonl until the user accepts it with :memory accept"
        yield ToolResult(as_json(status="pending", id=item.id, note=note), wrote=True)
        return
    say = f"remembered (id {item.id}): {text}   to undo: :memory undo"
    yield notice("memory.remembered", say, id=item.id, kind=item.kind, content=item.content)
    file = session.memory.file_name
    yield ToolResult(as_json(status="remembered", id=item.id, file=file), wrote=True)


MEMORY_ADD = schema(
    "memory_add",
    "Propose one short sentence about the user or the work to remember permanently. The user decides; the result "
    "says whether it was saved.",
    {"kind": {"type": "string", "enum": list(KINDS)}, "content": {"type": "string"}},
    ["kind", "content"],
)
MEMORY_TOOLS = (
    Tool(MEMORY_ADD, _memory_add, effect="change", trust="own", setting="memory.propose", asks_itself=True),
)
