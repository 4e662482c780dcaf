"""Turns from the files of other tools.

Pure: plain values.
"""

from datetime import datetime

from aish.values.named_tuple import NamedTuple
from aish.values.turns import Role, State, ToolCall

THINKING = "thinking"  # the name of the speaker of what a model thought before its answer
OTHERS = "other answers"  # ends the id and the title of a conversation with the other branches of one
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
    branch_of: str = ""  # the conversation that this turn is another branch of

    def aside(self) -> "ImportedTurn":
        """Return this turn as part of another branch: a regenerated answer, an edited question, what was rewound.

        All other branches of a conversation are one conversation of their own. So none of them is sent to a model when
        the first one is continued, and ids do not depend on which branch is the visible one at the time of an export.
        """
        title = f"{self.title} ({OTHERS})".lstrip()
        return self._replace(conversation=f"{self.conversation}/{OTHERS}", title=title, branch_of=self.conversation)


class Skipped(NamedTuple):
    """Something that could not be read, or was skipped because its meaning is unknown."""

    where: str
    why: str
    times: int = 1


ImportedRecord = ImportedTurn | Skipped
