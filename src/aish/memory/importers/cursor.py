"""Read chats of Cursor: `state.vscdb` of the editor, and the transcripts of its agents.

Cursor does not document its files; this follows what others found out about versions 0.40 to 2.3.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import numbered, parts
from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.database import Row, open_database, read_database, rows_of, table_names
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
from aish.memory.importers.files import each_file, lines, modified, open_file, records
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_SQLITE = b"SQLite format 3\0"
_COMPOSERS = "composer.composerData"
_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_ROLES: dict[object, Role] = {1: "user", "user": "user", 2: "assistant", "ai": "assistant", "assistant": "assistant"}
_QUERY = r"(?s)</?user_query>"
_STAMP = r"\s*<timestamp>([^<]{0,100})</timestamp>"
_ZONE = r"(.*\d [AP]M)(?: \(UTC([+-]\d{1,2})(?::?(\d\d))?\))?"
_TRANSCRIPT = r"(user|assistant):\s*"
_SPOKEN = r"\[(Thinking|Tool call|Tool result)\] ?(.*)"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of one file, or of all databases and transcripts in a directory."""
    yield from each_file(path, ("state.vscdb", "agent-transcripts/**/*.jsonl", "agent-transcripts/**/*.txt"), _one)


def has_chats(path: Path) -> bool:
    """Return whether the state of a workspace has chats; other editors keep such a file, too."""
    try:
        with closing(open_database(path)) as base:
            found = base.execute("select 1 from ItemTable where key in (?, ?)", (_COMPOSERS, _CHATS)).fetchone()
            return found is not None
    except sqlite3.Error:
        return False


def _one(path: Path) -> Iterator[ImportedRecord]:
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    if head == _SQLITE:
        yield from read_database(path, _chats)
    elif head.lstrip().startswith(b"{"):
        yield from _lines(path)
    else:
        yield from _transcript(path)


def _chats(base: sqlite3.Connection, odd: Oddities) -> Iterator[ImportedTurn]:
    known = table_names(base)
    if "cursorDiskKV" in known:
        for row in rows_of(base, "cursorDiskKV", "key like 'composerData:%'"):
            yield from _composer(base, _value(row), odd)
    if "ItemTable" in known:
        for row in rows_of(base, "ItemTable", "key = ?", _COMPOSERS):  # of a workspace, until 2024
            for chat in map(dict_of, list_of(_value(row).get("allComposers"))):
                yield from _composer(None, chat, odd)
        for row in rows_of(base, "ItemTable", "key = ?", _CHATS):
            for tab in map(dict_of, list_of(_value(row).get("tabs"))):
                bubbles = map(dict_of, list_of(tab.get("bubbles")))
                time, name = moment(tab.get("lastSendTime")), label(tab.get("chatTitle"))
                yield from _bubbles(ImportedTurn(label(tab.get("tabId")), time, "user", "", title=name), bubbles, odd)


def _value(row: Row) -> dict[str, Any]:
    value = row.get("value")
    return dict_of(parsed(value)) if isinstance(value, str | bytes) else {}


def _composer(base: sqlite3.Connection | None, chat: dict[str, Any], odd: Oddities) -> Iterator[ImportedTurn]:
    id = label(chat.get("composerId"))
    if not id:
        return
    head = ImportedTurn(id, moment(chat.get("createdAt")), "user", "", title=label(chat.get("name")))
    whole = map(dict_of, list_of(chat.get("conversation")))  # older versions
    yield from _bubbles(head, whole, odd)
    if base:
        named = [label(dict_of(one).get("bubbleId")) for one in list_of(chat.get("fullConversationHeadersOnly"))]
        yield from _bubbles(head, (_bubble(base, id, one) for one in named), odd)
        yield from _bubbles(head.aside(), _unlisted(base, id, set(named)), odd)


def _bubble(base: sqlite3.Connection, chat: str, bubble: str) -> dict[str, Any]:
    row = base.execute("select value from cursorDiskKV where key = ?", (f"bubbleId:{chat}:{bubble}",)).fetchone()
    return {"bubbleId": bubble} | _value(row) if row else {}


def _unlisted(base: sqlite3.Connection, chat: str, listed: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a chat that it no longer shows, because the user went back to an earlier one."""
    first = f"bubbleId:{chat}:"
    # The sign keeps SQLite from reading the whole table in the order of its rows.
    query = "select key from cursorDiskKV where key >= ? and key < ? order by +rowid"
    for row in base.execute(query, (first, f"bubbleId:{chat};")).fetchall():
        if (bubble := str(row["key"]).removeprefix(first)) not in listed:
            yield _bubble(base, chat, bubble)


def _bubbles(head: ImportedTurn, bubbles: Iterator[dict[str, Any]], odd: Oddities) -> Iterator[ImportedTurn]:
    refs = Refs()
    for bubble in bubbles:
        kind = bubble.get("type")
        if not isinstance(kind, int | str) or kind not in _ROLES:
            if bubble:
                odd.add("a message with unknown type", compact(kind))
            continue
        words = text_of(bubble.get("text")) or text_of(bubble.get("rawText"))
        text = "\n".join(filter(None, [words, *_attached(bubble)]))
        base = head._replace(role=_ROLES[kind], time=_time(bubble) or head.time)
        id = label(bubble.get("bubbleId")) or label(bubble.get("id"))
        if words := thought(dict_of(bubble.get("thinking")).get("text")):
            yield base._replace(role="assistant", name=THINKING, text=words, ref=f"{id}/thinking" if id else "")
        if text:
            yield base._replace(text=text, ref=id or refs.name(base.role, text))
        if tool := dict_of(bubble.get("toolFormerData")):
            yield from _tool(base, tool, id)


def _attached(bubble: dict[str, Any]) -> Iterator[str]:
    """Yield what the user attached: marks of pictures, names of files, and code that was selected.

    The file that is open is left out, because Cursor attaches it by itself.
    """
    context = dict_of(bubble.get("context")) or bubble  # of the message itself in the chats of 2024
    yield from ("[image]" for one in list_of(context.get("selectedImages")) if one)
    for file in map(dict_of, list_of(context.get("fileSelections"))):
        if not file.get("isCurrentFile"):
            yield f"[{_file_name(file)}]"
    for code in map(dict_of, list_of(context.get("selections"))):
        yield f"[{_file_name(code)}]\n{text_of(code.get('rawText')) or text_of(code.get('text'))}".rstrip()


def _file_name(one: dict[str, Any]) -> str:
    return last_part(dict_of(one.get("uri")).get("path")) or "file"


def _time(bubble: dict[str, Any]) -> datetime | None:
    timing = dict_of(bubble.get("timingInfo"))
    return moment(bubble.get("createdAt")) or moment(timing.get("clientStartTime"))


def _tool(base: ImportedTurn, tool: dict[str, Any], id: str) -> Iterator[ImportedTurn]:
    name = label(tool.get("name"))
    if not name:
        return
    call = str(ImportedCall(name, tool.get("rawArgs") or tool.get("params")))
    yield base._replace(role="assistant", text=call, ref=f"{id}/call" if id else "")
    if result := compact(tool.get("result") or ""):
        yield base._replace(role="tool", name=name, text=result, ref=f"{id}/result" if id else "")


def _lines(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a transcript with one message in each line."""
    odd = Oddities()
    base = ImportedTurn(label(path.stem), modified(path), "user", "", channel=_project(path))
    with open_file(path) as file:
        for number, record in records(file, odd):
            role = record.get("role")
            if not isinstance(role, str) or role not in _ROLES:
                if record.get("type") != "turn_ended":
                    odd.add("a line with unknown role", compact(role))
                continue
            content = dict_of(record.get("message")).get("content")
            for part, ref in numbered(str(number), parts(content, _ROLES[role], odd)):
                if stamp := re.match(_STAMP, part.text) if part.role == "user" else None:
                    base = base._replace(time=_stamped(stamp[1]) or base.time)
                text = part.text[stamp.end() :] if stamp else part.text
                if text := re.sub(_QUERY, "", text).strip():
                    yield base._replace(role=part.role, name=part.name, text=text, ref=ref)
    yield from odd.told(path.name)


def _stamped(text: str) -> datetime | None:
    """Return a time such as `Sunday, Sep 20, 2026, 12:31 AM (UTC+3)`."""
    if not (found := re.fullmatch(_ZONE, text.strip())):
        return None
    hours, minutes = int(found[2] or 0), int(found[3] or 0)
    try:
        local = datetime.strptime(found[1].partition(", ")[2], "%b %d, %Y, %I:%M %p").replace(tzinfo=UTC)
        return local - timedelta(hours=hours, minutes=minutes if hours >= 0 else -minutes)
    except (ValueError, OverflowError):
        return None


def _transcript(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a transcript in plain text."""
    odd, refs = Oddities(), Refs()
    base = ImportedTurn(label(path.stem), modified(path), "user", "", channel=_project(path))
    role: Role = "user"
    name, body = "", list[str]()
    with path.open("rb") as file:
        for line in lines(file, odd):
            text = line.data.decode("utf-8", "replace")
            speaker = re.fullmatch(_TRANSCRIPT, text)
            spoken = None if speaker else re.fullmatch(_SPOKEN, text)
            if speaker or spoken:
                yield from _spoken(base._replace(role=role, name=name), body, refs)
                body = []
            if speaker:
                role, name = _ROLES[speaker[1]], ""
            elif spoken:
                role, name, body = _voice(spoken[1], spoken[2])
            else:
                body.append(text)
    yield from _spoken(base._replace(role=role, name=name), body, refs)
    yield from odd.told(path.name)


def _voice(kind: str, rest: str) -> tuple[Role, str, list[str]]:
    if kind == "Tool result":
        return "tool", label(rest), []
    return "assistant", THINKING if kind == "Thinking" else "", [f"[{rest.strip()}]" if kind == "Tool call" else rest]


def _spoken(base: ImportedTurn, body: list[str], refs: Refs) -> Iterator[ImportedTurn]:
    text = re.sub(_QUERY, "", text_of("\n".join(body))).strip()
    if text := thought(text) if base.name == THINKING else text:
        yield base._replace(text=text, ref=refs.name(base.role, text))


def _project(path: Path) -> str:
    """Return the directory in `projects` that the transcript is of."""
    folders = path.absolute().parts
    return label(folders[folders.index("agent-transcripts") - 1]) if "agent-transcripts" in folders[1:] else ""
