"""Events of a model while it answers, and events of a turn for the view.

Named tuples, because they are defined at every start: a frozen dataclass takes six times as long.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from aish.values.named_tuple import NamedTuple
from aish.values.turns import Message, State
from aish.values.verdicts import Verdict

Trouble = Literal["unreachable", "refused", "roles", "tools", "options", "broken", "missing", "declined"]
"""Why an answer failed: the server is unreachable, refused the request, does not support our roles, our tools or an
option, sent an incomplete or invalid answer, the model is not installed, or the user declined."""


class TextPiece(NamedTuple):
    """A piece of the answer, as it arrives."""

    text: str


class ReasoningPiece(NamedTuple):
    """A piece of the model's reasoning before the answer; kept apart from it, and never sent back."""

    text: str


class ThoughtSoFar(NamedTuple):
    """All text of this answer so far was reasoning: the model closed it without having opened it."""


class ToolPiece(NamedTuple):
    """A fragment of a tool call; fragments with the same `place` belong together."""

    place: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Usage(NamedTuple):
    """The tokens that the server reports. `cached_tokens` is the part of the prompt from its cache."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class Timing(NamedTuple):
    """How long an answer took, in milliseconds. `load_ms` is None for models on servers."""

    load_ms: int | None
    first_word_ms: int | None
    total_ms: int


class Switched(NamedTuple):
    """Another model takes over, because the first one is not available."""

    old: str
    new: str
    reason: str


class Finished(NamedTuple):
    """The server finished the answer; `reason` is its finish reason."""

    reason: str = "stop"


class Failed(NamedTuple):
    """The answer failed or is incomplete; `reason` can be shown to the user."""

    reason: str
    trouble: Trouble = "broken"


ModelEvent = TextPiece | ReasoningPiece | ThoughtSoFar | ToolPiece | Usage | Switched | Finished | Failed


class ChatRequest(NamedTuple):
    """A request to a model: the messages, the tools it may call, and the form of the answer.

    `grammar` restricts the answer, in the grammar format of llama.cpp, and `stop` are texts that end it; only for
    servers that support both. `remembers`: if False, only text that is the same for every user may be written to disk.
    """

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] = ()
    max_tokens: int | None = None
    grammar: str = ""
    stop: tuple[str, ...] = ()
    remembers: bool = True


class Notice(NamedTuple):
    """One line for the user, apart from the answer.

    `code` and `fields` say the same to views with their own texts, or in another language.
    """

    text: str
    warning: bool = False
    code: str = ""
    fields: Mapping[str, object] = MappingProxyType({})


def notice(code: str, text: str, *, warning: bool = False, **fields: object) -> Notice:
    """Create a notice. All notices are created here, so that each has a code."""
    return Notice(text, warning, code, fields)


class ToolProgress(NamedTuple):
    """The progress of a running tool, in one line."""

    call_id: str
    text: str


class ToolUsed(NamedTuple):
    """A tool was called and has returned. Arguments and result are as the model wrote and read them."""

    name: str
    arguments: str
    result: str


class CommandProposed(NamedTuple):
    """A command of the model has a verdict, and will now run, ask or be refused.

    A `folded` one runs unasked, and its output is not shown as it comes: `Surroundings.folded` shows both.
    """

    command: str
    verdict: Verdict
    folded: bool = False


class Remark(NamedTuple):
    """Text of a model apart from its answer, such as the explanation of a command."""

    text: str


class TurnDone(NamedTuple):
    """The turn is over and recorded. `trouble` is set when the model could not answer.

    `thinking` is the reasoning of the last answer, apart from its text.
    """

    text: str
    state: State
    model: str
    usage: Usage | None = None
    dollars: float | None = None
    trouble: Failed | None = None
    thinking: str = ""
    timing: Timing | None = None


GateEvent = Notice | CommandProposed | Remark
TurnEvent = TextPiece | ReasoningPiece | ThoughtSoFar | Notice | ToolProgress | ToolUsed | TurnDone
