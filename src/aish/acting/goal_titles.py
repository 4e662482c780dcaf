"""The title of a step: the first line of the model's answer, if it says what the step is about.

Pure: text in, text out.
"""

import re

LONGEST_TITLE = 80  # characters; what is longer is not taken from the answer
_LINES = re.compile(r"\r?\n")
_HEADING = re.compile(r"#{1,6}[ \t]+|\*\*(?=.*\*\*$)|\*\*$")


def plan_line(answer: str) -> str:
    """Return the first line of an answer, if it is a sentence about the step and not an action."""
    first = next((line.strip() for line in _LINES.split(answer) if line.strip()), "")
    if first.startswith(("CMD:", "GOAL:", "PLAN:", "```", "~~~", "<", ">", "|", "$")):
        return ""
    return _HEADING.sub("", first).strip()


def is_plain(line: str) -> bool:
    """Is a line a short sentence without marks of Markdown, so that nothing after it depends on it?"""
    return len(line) <= LONGEST_TITLE and re.fullmatch(r"[^\W\d_][^`<>$|\\~\[\]]*", line) is not None


def without_title(answer: str) -> str:
    """Return an answer without its first line, if that is shown as the title of the step."""
    text = answer.lstrip("\n")
    first, _, rest = text.partition("\n")
    return rest if is_plain(first) and plan_line(first) else text
