"""Read aish's own import format: one JSON object with one turn in each line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.fields import Oddities, compact, label, moment, text_of
from aish.memory.importers.files import each_file, open_file, records
from aish.values.imported import ImportedRecord, ImportedTurn
from aish.values.turns import Role

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of lines `{"channel"?, "conversation", "time", "role", "name"?, "text", "ref"?, "title"?}`."""
    yield from each_file(path, ("*.jsonl",), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with open_file(path) as file:
        for _, record in records(file, odd):
            if said := _said(record, odd):
                yield said
    yield from odd.told(path.name)


def _said(record: dict[str, Any], odd: Oddities) -> ImportedTurn | None:
    role, text, conversation = record.get("role"), text_of(record.get("text")), label(record.get("conversation"))
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a line with unknown role", compact(role))
    elif not text or not conversation:
        odd.add(f"a line without {'text' if conversation else 'a conversation'}")
    else:
        time = moment(record.get("time"))
        if not time and record.get("time") not in (None, ""):
            odd.add("an unreadable time; expected one such as 2026-04-01T12:00:00Z, imported without it")
        rest = [label(record.get(name)) for name in ("name", "ref", "channel", "title")]
        return ImportedTurn(conversation, time, _ROLES[role], text, *rest)
    return None
