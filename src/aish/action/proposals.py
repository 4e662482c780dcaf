"""Find the commands that an answer proposes: from a line that starts with `CMD: ` until the shell needs no more lines.

`values/answer_lines.py` decides what is quoted, here and in the renderer. Callers pass only the answer of the current
turn. Pure: text in, commands out.
"""

import re

from aish.values.answer_lines import MARK, AnswerLines
from aish.values.named_tuple import NamedTuple


class Proposals(NamedTuple):
    """What an answer proposes, each without duplicates and in order."""

    offered: tuple[str, ...] = ()  # unchanged, with their lines joined by newlines
    quoted: tuple[str, ...] = ()  # lines with the mark that may be quoted or part of a list
    unfinished: str = ""  # the last command, if the answer ended before it
    missing: str = ""  # what it still needs


def proposals(answer: str) -> Proposals:
    """Return what an answer proposes, and what looks like a proposal and must not be offered."""
    if MARK not in answer:
        return Proposals()
    lines, offered, quoted = AnswerLines(), list[str](), list[str]()
    command: list[str] = []  # the lines of a command that is not complete
    thought = False  # whether the thoughts of the model ended inside it
    for line in re.split(r"\r?\n", answer):
        if lines.command or lines.proposes(line):
            command.append(line if command else line[len(MARK) :])
        elif line.startswith(MARK) and line[len(MARK) :].strip() and not lines.is_inside(line):
            quoted.append(line[len(MARK) :])
        lines.read(line)
        if lines.thoughts_ended:  # what looked like the answer was the model talking to itself
            quoted += offered
            offered, lines.thoughts_ended, thought = [], False, bool(command)
        if command and not lines.command:
            (quoted if thought else offered).append("\n".join(command))
            command, thought = [], False
    missing = lines.command.missing if lines.command else ""
    return Proposals(tuple(dict.fromkeys(offered)), tuple(dict.fromkeys(quoted)), "\n".join(command), missing)


def proposed(answer: str) -> list[str]:
    """Return the commands that an answer proposes."""
    return list(proposals(answer).offered)
