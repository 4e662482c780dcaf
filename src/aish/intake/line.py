"""Parse a typed line into a colon command or a question.

Pure: takes text, returns a value.
"""

from aish.values.named_tuple import NamedTuple

# What people type who look for help; with anything after it, `help` is that of the user's shell.
_WANTS_HELP = frozenset({"help", "/help", "what can you do", "what can aish do", "what can i do here"})
_LONGEST_WISH = 40  # characters


class ColonCommand(NamedTuple):
    """`:name words`"""

    name: str
    words: str


class Question(NamedTuple):
    """Something to ask the model."""

    text: str


def read_line(line: str) -> ColonCommand | Question | None:
    """Return what was typed, None for a blank line. A leading `?` always makes a question.

    `help`, `/help` and "what can you do?" are the command `:help`.
    """
    text = line.strip()
    if not text:
        return None
    if text.startswith("?"):
        rest = text[1:].strip()
        return Question(rest) if rest else None
    if text.startswith(":") and text[1:2].isalpha():
        name, *words = text[1:].split(maxsplit=1)
        return ColonCommand(name, *words or [""])
    if len(text) < _LONGEST_WISH and (" ".join(text.lower().rstrip("?!. ").split()) in _WANTS_HELP or text == "/?"):
        return ColonCommand("help", "")
    return Question(text)
