"""The programs that a command line starts and that do more than look.

Pure: text in, names out.
"""

from collections.abc import Callable

from aish.action.command_line import read_line
from aish.action.command_words import UnreadableCommand


def started_programs(command: str, only_looks: Callable[[str], bool]) -> tuple[str, ...] | None:
    """Return the names in order; None if some are only known when it runs, or are started in an unusual way.

    `only_looks` judges one part of the line by itself. Redirections start nothing, so they are left to the fence.
    """
    try:
        line = read_line(command)
    except (UnreadableCommand, RecursionError, UnicodeEncodeError):
        return None
    if line.bound:
        return None
    found: dict[str, None] = {}
    for part in line.parts:
        if not part.words or only_looks(" ".join(word.raw for word in part.words)):
            continue
        name = part.words[0].plain
        if not name or part.assigns:
            return None
        found[name] = None
    return tuple(found)
