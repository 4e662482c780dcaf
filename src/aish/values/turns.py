"""Turns: who said what, and which tools were called for it."""

from dataclasses import dataclass, replace
from typing import Any, Literal

Role = Literal["user", "assistant", "tool"]
State = Literal["complete", "interrupted", "failed"]
Message = dict[str, Any]  # one message in the shape of the OpenAI chat API; made in context/messages.py only


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call the model asked for; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation.

    A tool turn answers the call `call_id`. `state` says whether an answer came to its end.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    state: State = "complete"

    def with_content(self, content: str) -> "Turn":
        return replace(self, content=content)
