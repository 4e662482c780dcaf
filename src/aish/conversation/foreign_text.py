"""Does the model see text in this conversation that the user did not write?

Pure: takes turns, returns an answer.
"""

import re

from aish.context.history import History
from aish.values.turns import EXEC_MARK, HOOK_MARK, INPUT_MARK, SKILL_MARK, TASK_MARK

# How texts of commands, files, tools, skills and memory begin in a message, before the user's words.
_FOREIGN = (EXEC_MARK, INPUT_MARK, TASK_MARK, SKILL_MARK, HOOK_MARK, "[recalled")
_MARKS = re.compile(f"^(?:{'|'.join(map(re.escape, _FOREIGN))})", re.MULTILINE)


def holds_foreign_text(history: History) -> bool:
    """Is there output of a command or tool, piped input, recalled text, or a task of a model among the turns?"""
    return any(
        turn.role == "tool" or (turn.role == "user" and _MARKS.search(turn.content) is not None)
        for turn in history.turns
    )
