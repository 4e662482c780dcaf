"""Find the commands that an answer proposes: its lines that start with `CMD: ` and are shown as its own words.

`values/answer_lines.py` decides what is quoted, here and in the renderer. Callers pass only the answer of the current
turn. Pure: text in, commands out.
"""

import re

from aish.values.answer_lines import MARK, AnswerLines


def proposed(answer: str) -> list[str]:
    """Return the commands in order, without duplicates and otherwise unchanged."""
    return list(dict.fromkeys(command for command, own in _marked(answer) if own))


def withheld(answer: str) -> list[str]:
    """Return what starts with the mark outside code, but may be quoted or part of a list, and is not offered."""
    return list(dict.fromkeys(command for command, own in _marked(answer) if not own))


def _marked(answer: str) -> list[tuple[str, bool]]:
    """Return the lines with the mark outside code, and whether they are the answer's own words."""
    if MARK not in answer:
        return []
    lines, found = AnswerLines(), list[tuple[str, bool]]()
    for line in re.split(r"\r?\n", answer):
        if line.startswith(MARK) and line[len(MARK) :].strip() and not lines.is_inside(line):
            found.append((line[len(MARK) :], lines.proposes(line)))
        lines.read(line)
        if lines.thoughts_ended:  # what looked like the answer was the model talking to itself
            found = [(command, False) for command, _ in found]
            lines.thoughts_ended = False
    return found
