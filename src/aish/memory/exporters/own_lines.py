"""Export as aish's own JSON lines, which `aish import --format jsonl` reads without loss.

Pure: turns in, text out.
"""

from collections.abc import Iterator
from typing import Any

from aish.memory.exporters.talk import Talk, calls_of, name_of, time_of
from aish.memory.importers.fields import label
from aish.values.items import stamp
from aish.values.text import for_keeping, json_text
from aish.values.turns import JournalEntry


def pieces(talk: Talk) -> Iterator[str]:
    """Yield one line for each turn. Every line can be understood without the others."""
    for entry in talk.turns():
        yield json_text(_record(talk, entry)) + "\n"


def _record(talk: Talk, entry: JournalEntry) -> dict[str, Any]:
    turn, time = entry.turn, time_of(entry)
    record: dict[str, Any] = {
        "channel": talk.channel,
        "source": talk.source,
        "conversation": talk.conversation,
        "title": talk.title,
        "time": stamp(time) if time else "",
        "role": turn.role,
        "name": name_of(entry),
        "ref": label(entry.meta.get("ref")),
        "state": turn.state if turn.state != "complete" else "",
        "call_id": for_keeping(turn.call_id),
    }
    record = {field: value for field, value in record.items() if value}
    if calls := calls_of(entry):
        record["tool_calls"] = [call._asdict() for call in calls]
    return record | {"text": for_keeping(turn.content)}
