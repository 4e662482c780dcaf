"""What a model says while it answers, and what a turn tells the person who waits for it.

Named tuples, because they are made at every start: a frozen dataclass takes six times as long to define.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from aish.values.turns import Message, State
from aish.values.verdicts import Verdict

Trouble = Literal["unreachable", "refused", "roles", "tools", "options", "broken", "missing", "declined"]
"""Why an answer failed: no server, the server said no, it cannot take our roles or our tools, it does not
know an option we sent, it broke off or spoke garbage, the model is not installed, or the user said no."""


class TextPiece(NamedTuple):
    """A piece of the answer, as it arrives."""

    text: str


class ReasoningPiece(NamedTuple):
    """A piece of what the model thinks before it answers; shown, never sent back."""

    text: str


class ToolPiece(NamedTuple):
    """A fragment of a tool call; fragments with one `place` belong together."""

    place: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Usage(NamedTuple):
    """What the server says it has read and written. `cached` is the part of the prompt it knew already."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class Switched(NamedTuple):
    """Another model goes on, because the first could not be had."""

    old: str
    new: str
    reason: str


class Finished(NamedTuple):
    """The answer is whole; `reason` is the server's word for why it ended."""

    reason: str = "stop"


class Failed(NamedTuple):
    """The answer stopped short; `reason` is fit to show to the user."""

    reason: str
    trouble: Trouble = "broken"


ModelEvent = TextPiece | ReasoningPiece | ToolPiece | Usage | Switched | Finished | Failed


class ChatRequest(NamedTuple):
    """What a model is asked: messages, tools it may call, and how to answer.

    `grammar` binds the answer to a form, in the language of llama.cpp; only for servers that are known to take it.
    """

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] = ()
    max_tokens: int | None = None
    grammar: str = ""


class Notice(NamedTuple):
    """One line the user should see, beside the answer.

    `code` and `fields` say the same to doors that have their own words, or another language.
    """

    text: str
    warning: bool = False
    code: str = ""
    fields: Mapping[str, object] = MappingProxyType({})


def notice(code: str, text: str, *, warning: bool = False, **fields: object) -> Notice:
    """A notice. Every one is made here, so that none goes without a code."""
    return Notice(text, warning, code, fields)


class ToolProgress(NamedTuple):
    """How far a tool is, in a line that may be shown while it works."""

    call_id: str
    text: str


class CommandProposed(NamedTuple):
    """A command of the model was judged, and is about to be run, asked for, or refused."""

    command: str
    verdict: Verdict


class Remark(NamedTuple):
    """Words of a model beside its answer, such as the explanation of a command."""

    text: str


class TurnDone(NamedTuple):
    """The turn is over and recorded. `trouble` is set when the model could not answer."""

    text: str
    state: State
    model: str
    usage: Usage | None = None
    dollars: float | None = None
    trouble: Failed | None = None


GateEvent = Notice | CommandProposed | Remark
TurnEvent = TextPiece | ReasoningPiece | Notice | ToolProgress | TurnDone
