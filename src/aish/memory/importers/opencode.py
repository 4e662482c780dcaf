"""Read sessions of OpenCode: `opencode.db`, the older tree `storage/` of JSON files, and what `opencode export` prints.

In the tree, `session/PROJECT/SESSION.json` has the head, `message/SESSION/` the messages, `part/MESSAGE/` their parts.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.database import read_database, rows_of
from aish.memory.importers.fields import Oddities, compact, dict_of, label, last_part, list_of, moment, parsed, text_of
from aish.memory.importers.files import MOST, each_file
from aish.memory.importers.json_walk import UNREADABLE, CutOff, JsonWalk
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn, Skipped
from aish.values.turns import Role

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
_SILENT = ("step-start", "step-finish", "snapshot", "patch", "agent", "compaction", "retry")
_HEAD = ("id", "title", "directory", "time", "parentID", "revert")
_SQLITE = b"SQLite format 3\0"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a database, of a session in the tree, of an export, or of all of them in a directory."""
    yield from each_file(path, ("opencode*.db", "ses_*.json"), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with path.open("rb") as file:
        start = [file.read(len(_SQLITE))]
        if start == [_SQLITE]:
            yield from read_database(path, _rows)
            return
        walk = JsonWalk(lambda size: start.pop() if start else file.read(size), MOST)  # a pipe has no way back
        try:
            while sign := walk.peek():  # exports may stand one after another
                if sign == b"{":
                    yield from _object(walk, path, odd)
                else:
                    walk.value()
                    odd.add("something that is not a session")
        except CutOff:
            yield Skipped(path.name, f"ends or is damaged at byte {walk.place:,}; copy or export it again")
    yield from odd.told(path.name)


def _object(walk: JsonWalk, path: Path, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns of an export, or of the session in the tree that this is the head of."""
    head: dict[str, Any] = {}
    exported = False
    for name in walk.members():
        if name == "info":
            head, exported = dict_of(walk.value()), True
        elif name == "messages" and exported and walk.peek() == b"[":
            yield from _session(head, _exported(walk, odd), odd)
        elif name in _HEAD and not exported:
            head[name] = walk.value()
    if not head:
        odd.add("something that is not a session")
    elif not exported:
        yield from _session(head, _tree(path, label(head.get("id")), odd), odd)


def _exported(walk: JsonWalk, odd: Oddities) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    for _ in walk.elements():
        message = walk.value()
        if message is UNREADABLE:
            odd.add("a message that is too long or damaged")
        else:
            yield dict_of(dict_of(message).get("info")), list_of(dict_of(message).get("parts"))


def _rows(base: sqlite3.Connection, odd: Oddities) -> Iterator[ImportedTurn]:
    for head in rows_of(base, "session"):
        rows = rows_of(base, "message", "session_id = ?", head.get("id"))
        messages = ((_data(row), [_data(part) for part in _parts(base, row)]) for row in rows)
        yield from _session(head, messages, odd)


def _parts(base: sqlite3.Connection, row: dict[str, Any]) -> list[dict[str, Any]]:
    return base.execute("select * from part where message_id = ? order by id", (row.get("id"),)).fetchall()


def _data(row: dict[str, Any]) -> dict[str, Any]:
    data = row.get("data")
    return {"id": row.get("id")} | (dict_of(parsed(data)) if isinstance(data, str) else {})


def _tree(path: Path, session: str, odd: Oddities) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield the messages of a session with their parts. Their names sort by time."""
    storage = path.absolute().parent.parent.parent
    for message in _objects(storage / "message" / session, odd):
        yield message, list(_objects(storage / "part" / label(message.get("id")), odd))


def _objects(folder: Path, odd: Oddities) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.json")):
        try:
            record = parsed(file.read_bytes()[:MOST])
        except OSError:
            record = None
        if isinstance(record, dict):
            yield record
        else:
            odd.add("a message or part that cannot be read")


def _session(
    head: dict[str, Any], messages: Iterable[tuple[dict[str, Any], list[Any]]], odd: Oddities
) -> Iterator[ImportedTurn]:
    created = head.get("time_created") or dict_of(head.get("time")).get("created")
    base = ImportedTurn(label(head.get("id")), moment(created), "user", "", title=label(head.get("title")))
    if not base.conversation:
        odd.add("a session without an id")
        return
    base = base._replace(channel=last_part(head.get("directory")))
    undone = _undone(head)
    agent = bool(head.get("parent_id") or head.get("parentID"))  # its tasks came from another agent
    for message, parts in messages:
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            odd.add("a message with unknown role", compact(role))
            continue
        time = moment(dict_of(message.get("time")).get("created")) or base.time
        said = base._replace(time=time, role=_ROLES[role], ref=label(message.get("id")))
        if agent and said.role == "user":
            said = said._replace(role="assistant", name="subagent")
        yield from _message(said.aside() if undone and said.ref >= undone else said, parts, odd)


def _undone(head: dict[str, Any]) -> str:
    """Return the id of the first message that the user undid; ids sort by time. The next question deletes them."""
    revert = head.get("revert")
    fields = dict_of(parsed(revert)) if isinstance(revert, str) else dict_of(revert)
    return "" if fields.get("partID") else label(fields.get("messageID"))


def _message(base: ImportedTurn, parts: list[Any], odd: Oddities) -> Iterator[ImportedTurn]:
    words: list[tuple[str, str]] = []  # the ids of parts, and what they say
    for number, part in enumerate(map(dict_of, parts)):
        kind, ref = part.get("type"), f"{base.ref}/{label(part.get('id')) or number}"
        if kind == "reasoning":
            if text := thought(part.get("text")):
                yield base._replace(role="assistant", name=THINKING, text=text, ref=ref)
        elif kind == "tool":
            yield from _said(base, words)
            words = []
            yield from _call(base, part, ref)
        elif text := _part(part, kind, odd):
            words.append((ref, text))
    yield from _said(base, words)


def _said(base: ImportedTurn, words: list[tuple[str, str]]) -> Iterator[ImportedTurn]:
    if words:
        yield base._replace(text="\n".join(text for _, text in words), ref=words[0][0])


def _call(base: ImportedTurn, part: dict[str, Any], ref: str) -> Iterator[ImportedTurn]:
    name, state = label(part.get("tool")), dict_of(part.get("state"))
    yield base._replace(role="assistant", text=str(ImportedCall(name, state.get("input"))), ref=ref)
    if text := text_of(state.get("output")) or text_of(state.get("error")):
        yield base._replace(role="tool", name=name, text=text, ref=f"{ref}/result")


def _part(part: dict[str, Any], kind: object, odd: Oddities) -> str:
    if kind == "text":
        synthetic = part.get("synthetic") is True or part.get("ignored") is True
        return "" if synthetic else text_of(part.get("text"))
    if kind == "file":
        return f"[{label(part.get('filename')) or 'file'}]"
    if kind == "subtask":
        return str(ImportedCall(part.get("agent") or "task", {"prompt": part.get("prompt")}))
    if kind not in _SILENT:
        odd.add("a part with unknown type", compact(kind))
    return ""
