"""Turns from the files of other tools.

Pure: plain values.
"""

from datetime import datetime

from aish.values.named_tuple import NamedTuple
from aish.values.turns import Role, State, ToolCall

THINKING = "thinking"  # the name of the speaker of what a model thought before its answer
MADE_REF = "said:"  # prefix of a `ref` that was made from the text, if the source has no ids


class ImportedTurn(NamedTuple):
    """One turn in the files of another tool.

    `conversation` and `ref` are the source's own ids: a later export of the same turn has the same ones. `ref` is
    unique in its conversation, or empty. `time` is in UTC, or None when the source does not give it.
    """

    conversation: str
    time: datetime | None
    role: Role
    text: str
    name: str = ""
    ref: str = ""
    channel: str = ""  # the project or directory that the source names
    title: str = ""  # of the conversation
    source: str = ""  # the tool that it came from first, if that is not the one that wrote this file
    tool_calls: tuple[ToolCall, ...] = ()  # most readers write calls into the text instead
    call_id: str = ""
    state: State = "complete"
    thinking: str = ""  # what the model thought before this answer, if the source keeps it there


class Skipped(NamedTuple):
    """Something that could not be read, or was skipped because its meaning is unknown."""

    where: str
    why: str
    times: int = 1


ImportedRecord = ImportedTurn | Skipped
