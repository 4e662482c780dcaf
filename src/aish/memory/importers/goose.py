"""Read sessions of Goose: `sessions/*.jsonl` of older versions, and `sessions.db` of newer ones."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.database import read_database, rows_of
from aish.memory.importers.fields import (
    Oddities,
    Refs,
    compact,
    dict_of,
    label,
    last_part,
    list_of,
    moment,
    parsed,
    text_of,
)
from aish.memory.importers.files import each_file, open_file, records
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
_SILENT = ("redactedThinking", "systemNotification", "toolConfirmationRequest", "actionRequired")
_SQLITE = b"SQLite format 3\0"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of one file, or of all sessions in a directory."""
    yield from each_file(path, ("*.jsonl", "sessions.db"), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                yield from read_database(path, _rows)
                return
    odd, refs, tools = Oddities(), Refs(), dict[str, str]()
    base = ImportedTurn(label(path.stem), None, "user", "")
    with open_file(path) as file:
        for _, record in records(file, odd):
            if "role" not in record:  # the head
                base = base._replace(channel=last_part(record.get("working_dir")), title=_title(record))
            else:
                yield from _message(base, record, refs, tools, odd)
    yield from odd.told(path.name)


def _rows(base: sqlite3.Connection, odd: Oddities) -> Iterator[ImportedTurn]:
    for session in rows_of(base, "sessions"):
        head = ImportedTurn(label(session.get("id")), None, "user", "")
        head = head._replace(channel=last_part(session.get("working_dir")), title=_title(session))
        refs, tools = Refs(), dict[str, str]()
        for row in rows_of(base, "messages", "session_id = ?", session.get("id")):
            content = row.get("content_json")
            message = {"role": row.get("role"), "created": row.get("created_timestamp"), "id": row.get("message_id")}
            message["content"] = parsed(content) if isinstance(content, str) else None
            yield from _message(head, message, refs, tools, odd)


def _title(record: dict[str, Any]) -> str:
    """Return the title that a session was given; newer versions call it a name."""
    return label(record.get("description")) or label(record.get("name"))


def _message(
    base: ImportedTurn, message: dict[str, Any], refs: Refs, tools: dict[str, str], odd: Oddities
) -> Iterator[ImportedTurn]:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a message with unknown role", compact(role))
        return
    time = moment(message.get("created"))
    if len(tools) > 1000:
        tools.clear()
    said: list[str] = []
    for block in map(dict_of, list_of(message.get("content"))):
        kind = block.get("type")
        if kind == "toolResponse":
            name = tools.get(label(block.get("id")), "")
            yield from _turn(base._replace(time=time, role="tool", name=name), _result(block, odd), refs)
        elif kind in ("thinking", "reasoning"):
            text = thought(block.get("thinking") or block.get("text"))
            yield from _turn(base._replace(time=time, role="assistant", name=THINKING), text, refs)
        else:
            said.append(_words(block, kind, tools, odd))
    yield from _turn(base._replace(time=time, role=_ROLES[role]), "\n".join(filter(None, said)), refs)


def _words(block: dict[str, Any], kind: object, tools: dict[str, str], odd: Oddities) -> str:
    if kind == "text":
        return text_of(block.get("text"))
    if kind in ("toolRequest", "frontendToolRequest"):
        call = dict_of(block.get("toolCall") or block.get("tool_call"))
        inner = dict_of(call.get("value")) or call
        tools[label(block.get("id"))] = label(inner.get("name"))
        return str(ImportedCall(inner.get("name"), inner.get("arguments") or {"error": call.get("error")}))
    if kind == "image":
        return "[image]"
    if kind not in _SILENT:
        odd.add("a block with unknown type", compact(kind))
    return ""


def _result(block: dict[str, Any], odd: Oddities) -> str:
    result = dict_of(block.get("toolResult") or block.get("tool_result"))
    value = result.get("value", result.get("error"))
    items = value if isinstance(value, list) else list_of(dict_of(value).get("content"))
    texts = [_item(dict_of(item)) for item in items]
    return "\n".join(filter(None, texts)) or (compact(value) if value and not items else "")


def _item(item: dict[str, Any]) -> str:
    """Return one item of a result in the form of MCP."""
    text = text_of(item.get("text")) or text_of(dict_of(item.get("resource")).get("text"))
    return text or (f"[{label(item.get('type'))}]" if item.get("type") else "")


def _turn(base: ImportedTurn, text: str, refs: Refs) -> Iterator[ImportedTurn]:
    if text:
        time = base.time.isoformat() if base.time else ""
        yield base._replace(text=text, ref=refs.name(time, base.role, text))
