"""The tool with which a model proposes what to remember."""

from typing import Any

from aish.conversation.session import Session
from aish.conversation.tool import Tool, Used, answer, refused, schema
from aish.memory.candidates import origin_of
from aish.memory.trust import said_by_user
from aish.values.events import Notice
from aish.values.items import KINDS
from aish.values.text import one_line


def _memory_add(session: Session, typed: str, arguments: dict[str, Any]) -> Used:
    """Propose an item. It waits for the user's yes, unless the user asked for just this in this turn."""
    content, kind = arguments.get("content"), arguments.get("kind", "fact")
    if not isinstance(content, str) or not isinstance(kind, str):
        return refused("content must be a text, and kind one of " + ", ".join(KINDS))
    where: dict[str, Any] = {"conversation": session.journal.id, "turn": session.turn_number}
    if said_by_user(content, typed):
        kept = session.memory.remember(content, kind, source="user", **where)
    else:
        entries = session.journal.entries()  # also what left the prompt: answers and summaries were made of it
        source = origin_of(entries, imported=bool(session.journal.meta().get("source")))
        kept = session.memory.propose(content, kind, source=source, **where)
    item = kept.item
    if not kept.new:
        state = "waits for the user's yes already" if kept.pending else "is known already"
        return Used(answer(status="known", id=item.id, note=f"it {state}"), wrote=True)
    text = one_line(item.content, 100)
    notices = [Notice(kept.masked, warning=True)] if kept.masked else []
    if kept.pending:
        say = f"the model would like to remember: ({item.kind}) {text}   to keep it: :memory accept {item.id}"
        note = "not remembered yet: it waits in memory.pending.jsonl until the user accepts it with :memory accept"
        return Used(answer(status="pending", id=item.id, note=note), (*notices, Notice(say)), wrote=True)
    say = f"remembered (id {item.id}): {text}   to take it back: :memory undo"
    file = session.memory.ledger.path.name
    return Used(answer(status="remembered", id=item.id, file=file), (*notices, Notice(say)), wrote=True)


MEMORY_ADD = schema(
    "memory_add",
    "Propose one short sentence about the user or the work to remember for good. The user decides; the answer says "
    "where it is.",
    {"kind": {"type": "string", "enum": list(KINDS)}, "content": {"type": "string"}},
    ["kind", "content"],
)
PROPOSING = {"memory_add": Tool(MEMORY_ADD, _memory_add)}
