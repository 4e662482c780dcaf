"""Read aish's own format, which `aish export` writes: one JSON object with one turn in each line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.fields import Oddities, compact, dict_of, label, list_of, moment
from aish.memory.importers.files import each_file, open_file, records
from aish.values.imported import ImportedRecord, ImportedTurn
from aish.values.text import for_keeping
from aish.values.turns import Role, State, ToolCall

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}
_LABELS = ("name", "ref", "channel", "title", "source")
_STATES: dict[object, State] = {"interrupted": "interrupted", "failed": "failed"}


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of lines `{"conversation", "role", "text"}`; docs/import.md has the optional fields.

    Texts are not stripped, so that an export comes back as it was.
    """
    yield from each_file(path, ("*.jsonl",), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with open_file(path) as file:
        for _, record in records(file, odd):
            if said := _said(record, odd):
                yield said
    yield from odd.told(path.name)


def _said(record: dict[str, Any], odd: Oddities) -> ImportedTurn | None:
    role, text, conversation = record.get("role"), _kept(record.get("text")), label(record.get("conversation"))
    calls = tuple(_calls(record.get("tool_calls")))
    state, call_id = _STATES.get(compact(record.get("state")), "complete"), _kept(record.get("call_id"))
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a line with unknown role", compact(role))
    elif not conversation or not (text.strip() or calls or call_id or state != "complete"):
        odd.add(f"a line without {'text' if conversation else 'a conversation'}")
    else:
        time = moment(record.get("time"))
        if not time and record.get("time") not in (None, ""):
            odd.add("an unreadable time, expected one such as 2026-04-01T12:00:00Z; the turn is kept")
        name, ref, channel, title, source = (label(record.get(field)) for field in _LABELS)
        return ImportedTurn(
            conversation,
            time,
            _ROLES[role],
            text,
            name,
            ref,
            channel,
            title,
            source,
            calls,
            call_id,
            state,
            _kept(record.get("thinking")).strip(),
        )
    return None


def _calls(given: object) -> Iterator[ToolCall]:
    for call in map(dict_of, list_of(given)):
        arguments = call.get("arguments")
        written = _kept(arguments) if isinstance(arguments, str) else compact(arguments) if arguments else ""
        if (name := _kept(call.get("name"))) or written:
            yield ToolCall(_kept(call.get("id")), name, written)


def _kept(value: object) -> str:
    return for_keeping(value) if isinstance(value, str) else ""
