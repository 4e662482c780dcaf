"""Parse a typed line into a colon command or a question.

Pure: takes text, returns a value.
"""

from typing import NamedTuple


class ColonCommand(NamedTuple):
    """`:name words`"""

    name: str
    words: str


class Question(NamedTuple):
    """Something to ask the model."""

    text: str


def read_line(line: str) -> ColonCommand | Question | None:
    """Return what was typed, None for a blank line. A leading `?` always makes a question."""
    text = line.strip()
    if not text:
        return None
    if text.startswith("?"):
        rest = text[1:].strip()
        return Question(rest) if rest else None
    if text.startswith(":") and text[1:2].isalpha():
        name, *words = text[1:].split(maxsplit=1)
        return ColonCommand(name, *words or [""])
    return Question(text)
