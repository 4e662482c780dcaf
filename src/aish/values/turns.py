"""Turns: who said what, and which tools were called for it."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

Role = Literal["user", "assistant", "tool"]
State = Literal["complete", "interrupted", "failed"]
EXEC_MARK = "[exec output]"  # in front of what the user's own commands printed
INPUT_MARK = "[standard input]"  # in front of what was piped in
SUMMARIZER_META = "summarize"  # the `meta` of turns between the summarizer and its model; not part of the conversation
Message = dict[str, Any]  # one message in the shape of the OpenAI chat API; made in context/messages.py only


class ToolCall(NamedTuple):
    """A call the model asked for; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = ""


class Turn(NamedTuple):
    """One message of a conversation.

    A tool turn answers the call `call_id`. `state` says whether an answer came to its end.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    state: State = "complete"

    def with_content(self, content: str) -> "Turn":
        return self._replace(content=content)


class JournalEntry(NamedTuple):
    """A turn as it is stored: with its number in the conversation, its time and its metadata."""

    number: int
    time: datetime
    turn: Turn
    meta: dict[str, Any]
