"""What a model says while it answers, and what a turn tells the person who waits for it."""

from dataclasses import dataclass
from typing import Literal

from aish.values.turns import Message, State, ToolCall

Trouble = Literal["unreachable", "refused", "roles", "options", "broken", "missing"]
"""Why an answer failed: no server, the server said no, it cannot take our roles, it does not
know an option we sent, it broke off or spoke garbage, or the model is not installed."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A piece of what the model thinks before it answers; shown, never sent back."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolPiece:
    """A fragment of a tool call; fragments with one `index` belong together."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the server says it has read and written. `cached` is the part of the prompt it knew already."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Switched:
    """Another model goes on, because the first could not be had."""

    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is whole; `reason` is the server's word for why it ended."""

    reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer stopped short; `reason` is fit to show to the user."""

    reason: str
    trouble: Trouble = "broken"


ModelEvent = TextPiece | ReasoningPiece | ToolPiece | Usage | Switched | Finished | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked: messages, tools it may call, and how to answer."""

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """One line the user should see, beside the answer."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDone:
    """The turn is over and recorded. `trouble` is set when the model could not answer."""

    text: str
    state: State
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    dollars: float | None = None
    trouble: Failed | None = None


TurnEvent = TextPiece | ReasoningPiece | Notice | TurnDone
