"""The port of servers that offer tools, and its values. What a server says is text of a stranger.

Pure: contracts and values only.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from aish.values.errors import AishError
from aish.values.named_tuple import NamedTuple

LOOK_UP = "mcp_tools"  # the tool with which a model reads the schemas of a server
Hint = Literal["", "read", "destroy"]
"""What a server says about the effect of a tool. It may lie."""


class ServerTrouble(AishError):
    """A server could not be used. The message says why, and is safe to show."""


class ServerTool(NamedTuple):
    """A tool as its server describes it, cleaned and bounded. `name` is how the server calls it."""

    name: str
    about: str
    parameters: dict[str, Any]
    hint: Hint = ""
    digest: str = ""  # of everything that the server said about it, before it was bounded


Value = str | int | float | bool | list[str]


class FormField(NamedTuple):
    """A value that a server asks the user for."""

    name: str
    title: str
    kind: Literal["text", "number", "integer", "boolean"]
    choices: tuple[str, ...] = ()
    many: bool = False  # several of the choices
    required: bool = False
    default: Value | None = None


class ServerQuestion(NamedTuple):
    """A question of a server to the user: a form, or an address to visit."""

    message: str
    fields: tuple[FormField, ...] = ()
    url: str = ""


Answer = Mapping[str, Value]


class ServerReply(NamedTuple):
    """The result of a call: the text for the model, and whether the tool says that it failed."""

    text: str
    failed: bool = False


class CallListener(Protocol):
    """Hears what happens during a call."""

    def progress(self, text: str) -> None:
        """The call has made progress. Must return at once."""

    async def ask(self, question: ServerQuestion) -> Answer | Literal["decline", "cancel"]:
        """The server asks the user something."""


class ToolServer(Protocol):
    """A server that offers tools. It is connected on first use.

    1. `tools` and `call` return or raise `ServerTrouble` within a limited time, whatever the server does.
    2. What they return is bounded and has no control characters.
    3. A failed or lost connection is made again by the next use, with growing pauses between attempts that fail.
    4. Cancelling a call tells the server, and leaves the connection usable.
    5. After `close` nothing of it runs, and it may be used again.
    """

    @property
    def connected(self) -> bool: ...

    @property
    def revision(self) -> int:
        """Changes when the tools may have changed."""

    async def connect(self) -> None:
        """Connect now, without the pause after failed attempts."""

    async def tools(self) -> tuple[ServerTool, ...]:
        """Return the tools. Connects if necessary."""

    async def call(self, tool: str, arguments: Mapping[str, Any], listener: CallListener) -> ServerReply:
        """Call a tool. Connects if necessary."""

    def log(self) -> str:
        """Return what the server wrote to its log, the newest part."""

    async def close(self) -> None: ...
