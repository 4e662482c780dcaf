"""Tools with which a model reads the notes of the project and changes MEMORY.md, entry by entry."""

from collections.abc import AsyncGenerator
from typing import Any

from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.turn_context import TurnContext
from aish.memory.candidates import origin_of
from aish.memory.trust import is_trusted, said_by_user
from aish.values.events import notice
from aish.values.invisible import visible
from aish.values.text import clip, one_line

_FILES = ("session", "memory", "history", "workspace")
_KINDS = ("person", "preference", "work", "constraint", "decision", "open")
_MOST_CHARS = 8_000


async def _read_notes(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Return a note without ids, and without entries that are based on foreign text."""
    name = str(call.arguments.get("file", "")).lower().removesuffix(".md")
    if name not in _FILES:
        yield refused("file must be one of " + ", ".join(_FILES))
        return
    document = turn.session.notes.read(name)
    trusted = [entry for entry in document.entries if is_trusted(entry.origin)]
    lines: list[str] = []
    section = ""
    for entry in trusted:
        if entry.section != section:
            section = entry.section
            lines.append(f"## {section}")
        lines.append(f"- {entry.text}")
    lines += [text for _, text in document.prose]
    left_out = len(document.entries) - len(trusted)
    result: dict[str, Any] = {"file": name, "text": clip(visible("\n".join(lines)), _MOST_CHARS)}
    if left_out:
        result["left_out"] = f"{left_out} entries that the user has not confirmed"
    yield ToolResult(as_json(**result), recalled=True)


async def _update_notes(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Change one entry of MEMORY.md. What is based on foreign text waits until the user accepts it."""
    session, given = turn.session, call.arguments
    text, kind, old = (given.get(name, "") for name in ("text", "kind", "old"))
    if not all(isinstance(value, str) for value in (text, kind, old)) or not (text or old):
        yield refused("text, kind and old must be strings, and one of text and old is needed")
        return
    if text and not old and kind not in _KINDS:
        yield refused("kind must be one of " + ", ".join(_KINDS))
        return
    entry = session.notes.find_text(old) if old else None
    if old and (entry is None or not entry.id):
        yield refused("no entry of MEMORY.md has this old text")
        return
    said = said_by_user(text or old, turn.typed)
    imported = bool(session.journal.meta().get("source"))
    origin = "user" if said else origin_of(session.journal.entries(), imported=imported)
    source = f"{session.journal.id}/{session.turn_number}-{session.turn_number}"
    if not is_trusted(origin) or session.parent:  # a sub-agent only proposes
        kept = session.memory.propose(text, "context", source=session.journal.id, origin=origin) if text else None
        reason = "it may come from foreign text, so it waits for the user's consent (:memory pending)"
        yield ToolResult(as_json(status="pending" if kept else "refused", reason=reason), wrote=kept is not None)
        return
    if entry:
        upkeep = session.services.open_upkeep()
        origin, reason = upkeep.check_change(session, entry, text, origin, said=said)
        if reason:
            yield refused(reason)
            return
    result = session.notes.change_entry(entry, text, kind, origin=origin, source=source)
    if not result.applied:
        yield refused(result.reason)
        return
    yield notice("notes.changed", f"MEMORY.md: {one_line(text or f'removed: {old}', 100)} (:notes undo)", changes=1)
    yield ToolResult(as_json(status="saved"), wrote=True)


_FILE = {"type": "string", "enum": list(_FILES)}
READ_NOTES: Tool[TurnContext] = Tool(
    schema("read_notes", "Read one of aish's notes about this project.", {"file": _FILE}, ["file"]),
    _read_notes,
    effect="read",
    trust="own",
    setting="notes.tools",
)
UPDATE_NOTES: Tool[TurnContext] = Tool(
    schema(
        "update_notes",
        "Add a lasting fact to MEMORY.md, or replace (old and text) or remove (old alone) an entry.",
        {
            "text": {"type": "string", "description": "the new entry, one sentence"},
            "kind": {"type": "string", "enum": list(_KINDS)},
            "old": {"type": "string", "description": "the text of the entry to replace or remove"},
        },
        [],
    ),
    _update_notes,
    effect="change",
    trust="own",
    setting="notes.tools",
    asks_itself=True,
)
