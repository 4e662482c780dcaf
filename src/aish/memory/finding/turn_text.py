"""The searchable text of a turn.

Pure: a turn in, text out.
"""

from typing import Any

from aish.values.turns import EXEC_MARK, FILES_MARK, INPUT_MARK, SUMMARIZER_META, JournalEntry
from aish.values.typed_words import split_typed

MAX_CHARACTERS = 32_000  # of a turn; words after these are not found


def searchable_text(entry: JournalEntry) -> str:
    """What can be found of a turn. Empty for the summarizer's turns, and for a turn that only repeats search hits."""
    recalled = entry.meta.get("recalled")
    if entry.meta.get("meta") == SUMMARIZER_META or recalled is True:
        return ""
    content = _without_recalled(entry.turn.content, recalled) if isinstance(recalled, list) else entry.turn.content
    calls = [f"{call.name} {call.arguments}" for call in entry.turn.tool_calls]
    text = "\n".join([content, *calls]).strip()
    return text.encode("utf-8", "replace").decode()  # a journal edited by hand may have lone surrogates


def said_from(entry: JournalEntry, text: str) -> int:
    """Where in the searchable text of a turn the speaker's own words begin; its length if there are none."""
    turn = entry.turn
    if turn.role == "assistant":
        return 0 if turn.content.strip() or not turn.tool_calls else len(text)
    if turn.role != "user" or not (EXEC_MARK in text or text.startswith((INPUT_MARK, FILES_MARK))):
        return 0
    typed = split_typed(entry)[1].strip()
    return len(text) - len(typed) if text.endswith(typed) else 0


def indexed_text(text: str, number: int, title: str) -> str:
    """The text under which a turn is indexed. The first turn is also found by the title of its conversation."""
    return (f"{title}\n{text}" if title and number <= 1 else text)[:MAX_CHARACTERS]


def _without_recalled(content: str, recalled: list[Any]) -> str:
    """Remove the lines that repeat search hits; a question may have come with a page of them."""
    lines = content.split("\n")
    for span in reversed(recalled):
        match span:
            case [int(begin), int(end)]:
                del lines[max(begin, 0) : end]
    return "\n".join(lines)
