"""Read the log of `llm`, a SQLite file: threads of turns and messages, and the responses of older versions."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.database import Row, read_database, rows_of, table_names
from aish.memory.importers.fields import (
    Oddities,
    compact,
    dict_of,
    label,
    list_of,
    moment,
    parsed,
    text_of,
)
from aish.memory.importers.files import each_file
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a `logs.db`."""
    yield from each_file(path, ("logs.db",), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    yield from read_database(path, _turns)


def _turns(base: sqlite3.Connection, odd: Oddities) -> Iterator[ImportedTurn]:
    known = table_names(base)
    if {"responses", "conversations"} <= known:
        yield from _responses(base, known, odd)
    if {"threads", "turns", "messages", "parts"} <= known:
        yield from _threads(base, odd)


def _responses(base: sqlite3.Connection, known: set[str], odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield what older versions logged, except responses that are also in the newer message tables."""
    for row in rows_of(base, "responses"):
        id = label(row.get("id"))
        if not id or ("turns" in known and base.execute("select 1 from turns where id = ?", (id,)).fetchone()):
            continue
        conversation = label(row.get("conversation_id")) or id
        named = base.execute("select name from conversations where id = ?", (conversation,)).fetchone() or {}
        time = moment(row.get("datetime_utc"))
        base_turn = ImportedTurn(conversation, time, "user", "", title=label(named.get("name")))
        results = _of(base, known, "tool_results", id)
        calls = [
            str(ImportedCall(call.get("name"), call.get("arguments"))) for call in _of(base, known, "tool_calls", id)
        ]
        asked = [*_fragments(base, known, id), text_of(row.get("prompt")), *_attachments(base, known, id)]
        answered = "\n".join(filter(None, [text_of(row.get("response")), *calls]))
        yield from _filled(base_turn._replace(text="\n".join(filter(None, asked)), ref=f"{id}/prompt"))
        for result in results:
            ref, name = f"{id}/tool-{label(result.get('id'))}", label(result.get("name"))
            yield from _filled(base_turn._replace(role="tool", name=name, text=compact(result.get("output")), ref=ref))
        thinking = base_turn._replace(role="assistant", name=THINKING, ref=f"{id}/reasoning")
        yield from _filled(thinking._replace(text=thought(row.get("reasoning"))))
        yield from _filled(base_turn._replace(role="assistant", text=answered, ref=f"{id}/response"))


def _filled(said: ImportedTurn) -> Iterator[ImportedTurn]:
    if said.text:
        yield said


def _of(base: sqlite3.Connection, known: set[str], table: str, response: str) -> list[Row]:
    if table not in known:
        return []
    return base.execute(f"select * from {table} where response_id = ? order by id", (response,)).fetchall()


def _fragments(base: sqlite3.Connection, known: set[str], response: str) -> list[str]:
    """Return the names of the files in front of a prompt; their text can be long and is not the question."""
    if not {"prompt_fragments", "fragments"} <= known:
        return []
    rows = base.execute(
        "select source from prompt_fragments join fragments on fragments.id = fragment_id"
        ' where response_id = ? order by "order"',
        (response,),
    )
    return [_fragment(row) for row in rows]


def _attachments(base: sqlite3.Connection, known: set[str], response: str) -> list[str]:
    """Return a mark for each attachment of a prompt, because the prompt may have no text."""
    if "prompt_attachments" not in known:
        return []
    rows = base.execute("select 1 from prompt_attachments where response_id = ?", (response,))
    return ["[attachment]" for _ in rows]


def _fragment(row: Row | None) -> str:
    return f"[{label((row or {}).get('source')) or 'fragment'}]"


def _threads(base: sqlite3.Connection, odd: Oddities) -> Iterator[ImportedTurn]:
    for thread in rows_of(base, "threads"):
        # A client may send the whole conversation with each turn, so skip messages seen before in this thread.
        told: set[str] = set()
        conversation = ImportedTurn(label(thread.get("id")), None, "user", "", title=label(thread.get("name")))
        for turn in rows_of(base, "turns", "thread_id = ?", thread.get("id")):
            time = moment(turn.get("datetime_utc"))
            for message in _new_messages(base, turn.get("tip_message_hash"), told):
                yield from _message(base, message, conversation._replace(time=time), odd)


def _new_messages(base: sqlite3.Connection, tip: object, told: set[str]) -> list[Row]:
    """Return the messages that lead to `tip` and were not seen yet, oldest first."""
    chain: list[Row] = []
    while isinstance(tip, str) and tip not in told:
        told.add(tip)
        row = base.execute("select * from messages where hash = ?", (tip,)).fetchone()
        if row is None:
            break
        chain.append(row)
        tip = row.get("parent_hash")
    return chain[::-1]


def _message(base: sqlite3.Connection, message: Row, said: ImportedTurn, odd: Oddities) -> Iterator[ImportedTurn]:
    role, ref = message.get("role"), label(message.get("hash"))
    if role == "system":
        return
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a message with unknown role", compact(role))
        return
    words: list[str] = []
    rows = base.execute(
        "select * from parts where message_hash = ? order by position", (message.get("hash"),)
    ).fetchall()
    for number, part in enumerate(rows):
        payload = dict_of(parsed(part["payload"])) if isinstance(part.get("payload"), str) else {}
        if part.get("type") == "tool_result":
            name, output = label(part.get("tool_name")), text_of(part.get("text")) or compact(payload.get("output", ""))
            yield from _filled(said._replace(role="tool", name=name, text=output, ref=f"{ref}/{number}"))
        elif part.get("type") == "reasoning":
            text = thought(part.get("text") or payload.get("text"))
            yield from _filled(said._replace(role="assistant", name=THINKING, text=text, ref=f"{ref}/{number}"))
        else:
            words.append(_part(base, part, payload, odd))
    yield from _filled(said._replace(role=_ROLES[role], text="\n".join(filter(None, words)), ref=ref))


def _part(base: sqlite3.Connection, part: Row, payload: dict[str, Any], odd: Oddities) -> str:
    kind = part.get("type")
    if kind == "tool_call":
        return str(ImportedCall(part.get("tool_name") or payload.get("name"), payload.get("arguments")))
    if kind == "attachment":
        return "[attachment]"
    if kind == "text":
        pieces = [_piece(base, dict_of(piece)) for piece in list_of(payload.get("text_ref"))]
        return text_of(part.get("text")) or "\n".join(filter(None, pieces))
    odd.add("a part with unknown type", compact(kind))
    return ""


def _piece(base: sqlite3.Connection, piece: dict[str, Any]) -> str:
    """Return a piece of a text: words, or the name of an included file."""
    if isinstance(fragment := piece.get("fragment"), int):
        return _fragment(base.execute("select source from fragments where id = ?", (fragment,)).fetchone())
    return text_of(piece.get("literal"))
