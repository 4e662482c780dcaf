"""Read what you typed into Codex and Claude Code: the `history.jsonl` of each, with your prompts and no answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.fields import Oddities, Refs, dict_of, label, last_part, moment, text_of
from aish.memory.importers.files import day_of, each_file, open_file, records
from aish.values.imported import ImportedRecord, ImportedTurn

_NAMES = ("history.jsonl",)


def read_codex(path: Path) -> Iterator[ImportedRecord]:
    """Yield the prompts of lines `{"session_id", "ts", "text"}`."""
    yield from each_file(path, _NAMES, lambda file: _one(file, _codex))


def read_claude(path: Path) -> Iterator[ImportedRecord]:
    """Yield the prompts of lines `{"display", "pastedContents", "timestamp", "project", "sessionId"?}`."""
    yield from each_file(path, _NAMES, lambda file: _one(file, _claude))


def _one(path: Path, turn_of: Any) -> Iterator[ImportedRecord]:
    odd, refs = Oddities(), Refs()
    with open_file(path) as file:
        for _, record in records(file, odd):
            said: ImportedTurn = turn_of(record)
            if said.text and said.conversation:
                time = said.time.isoformat() if said.time else ""
                yield said._replace(ref=refs.name(said.conversation, time, said.text))
            elif not said.conversation:
                odd.add("a line that is no prompt")
    yield from odd.told(path.name)


def _codex(record: dict[str, Any]) -> ImportedTurn:
    return ImportedTurn(label(record.get("session_id")), moment(record.get("ts")), "user", text_of(record.get("text")))


def _claude(record: dict[str, Any]) -> ImportedTurn:
    """Return a prompt with the texts that were pasted into it. Older versions do not name the session."""
    time, project = moment(record.get("timestamp")), last_part(record.get("project"))
    pasted = (text_of(dict_of(one).get("content")) for one in dict_of(record.get("pastedContents")).values())
    text = "\n".join(filter(None, [text_of(record.get("display")), *pasted]))
    session = label(record.get("sessionId")) or (f"{project} {day_of(time)}".strip() if "display" in record else "")
    return ImportedTurn(session, time, "user", text, channel=project)
