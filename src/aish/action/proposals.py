"""Find the commands that an answer proposes: its lines that start with `CMD: ` and are shown as its own words.

`values/answer_lines.py` decides what is quoted, here and in the renderer. Callers pass only the answer of the current
turn. Pure: text in, commands out.
"""

import re

from aish.values.answer_lines import MARK, AnswerLines


def proposed(answer: str) -> list[str]:
    """Return the commands in order, without duplicates and otherwise unchanged."""
    if MARK not in answer:
        return []
    lines, found = AnswerLines(), dict[str, None]()
    for line in re.split(r"\r?\n", answer):
        if lines.proposes(line):
            found.setdefault(line[len(MARK) :])
        lines.read(line)
        if lines.thoughts_ended:  # what looked like the answer was the model talking to itself
            found.clear()
            lines.thoughts_ended = False
    return list(found)
