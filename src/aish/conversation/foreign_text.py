"""Does the model see text in this conversation that the user did not write?

Pure: takes turns and tools, returns an answer.
"""

import re
from collections.abc import Iterable

from aish.context.history import History
from aish.conversation.session import Session
from aish.values.turns import EXEC_MARK, FILES_MARK, HOOK_MARK, INPUT_MARK, SKILL_MARK, TASK_MARK, Turn

# How texts of commands, files, tools, skills and memory begin in a message, before the user's words.
_FOREIGN = (EXEC_MARK, INPUT_MARK, FILES_MARK, TASK_MARK, SKILL_MARK, HOOK_MARK, "[recalled")
_MARKS = f"(?m)^(?:{'|'.join(map(re.escape, _FOREIGN))})"


def reads_foreign_text(session: Session) -> bool:
    """Does the model read such a text with its next request?"""
    return holds_foreign_text(session.history) or has_foreign_tools(session)


def has_foreign_tools(session: Session) -> bool:
    """Is there a tool whose description is the text of a stranger?"""
    return any(tool.foreign for tool in session.enabled_tools())


def holds_foreign_text(history: History) -> bool:
    """Is there output of a command or tool, piped input, recalled text, or a task of a model among the turns?

    Turns that have left the prompt count, too: answers, a summary or a plan made from them may still be there.
    """
    return history.foreign_gone or has_foreign_text(history.turns)


def has_foreign_text(turns: Iterable[Turn]) -> bool:
    """Is there such a text among these turns?"""
    return any(
        turn.role == "tool" or (turn.role == "user" and re.search(_MARKS, turn.content) is not None) for turn in turns
    )


def drop_oldest(history: History, exchanges: int) -> tuple[Turn, ...]:
    """Remove the oldest exchanges from the prompt, and return their turns."""
    dropped = history.drop_oldest(exchanges)
    history.foreign_gone = history.foreign_gone or has_foreign_text(dropped)
    return dropped
