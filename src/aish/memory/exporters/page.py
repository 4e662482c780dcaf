"""Export as Markdown, for people.

Pure: turns in, text out. It cannot be imported: a turn may contain any line, so nothing marks its end for certain.
"""

from collections.abc import Iterator

from aish.memory.exporters.talk import Talk, name_of, time_of
from aish.values.invisible import visible
from aish.values.turns import JournalEntry, speaker


def pieces(talk: Talk) -> Iterator[str]:
    """Yield a conversation under a title."""
    yield f"# {visible(talk.title) or f'Conversation {talk.id}'}\n"
    for entry in talk.turns():
        turn, time = entry.turn, time_of(entry)
        when = f" · {time:%Y-%m-%d %H:%M}" if time else ""
        state = "" if turn.state == "complete" else f", {turn.state}"
        yield f"\n## {visible(_speaker(entry))}{when}{state}\n\n{visible(turn.content)}\n"
        for call in turn.tool_calls:
            yield f"\n`{visible(call.name)}({visible(call.arguments)})`\n"


def _speaker(entry: JournalEntry) -> str:
    name = name_of(entry)
    if entry.turn.role == "tool" and name:
        return f"tool {name}"
    return entry.speaker if entry.meta.get("model") else speaker(entry.turn.role, name)
