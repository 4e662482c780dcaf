"""A backend: a preset with its model, tokenizer and price."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from aish.model.cost import Price
from aish.model.port import Model
from aish.model.tokenizer import FindServer, Tokenizer
from aish.model.weights import PromptForm
from aish.values.events import ChatRequest, Failed, ModelEvent, Switched
from aish.values.named_tuple import NamedTuple


class Backend:
    """Everything that a turn needs from one preset. `price` is None when it is unknown.

    `prepare` lets the model read a prompt before the question is there. `load_seconds`: seconds spent loading the model
    so far. Both are None for models on servers.
    """

    def __init__(
        self,
        *,
        name: str,
        model_name: str,
        endpoint: str,
        model: Model,
        tokenizer: Tokenizer,
        price: Price | None = None,
        max_tokens: int | None = None,
        server: FindServer | None = None,
        use_tool_role: bool = True,
        tools: bool | None = None,  # the user's setting
        offers_tools: bool = True,  # if there is no setting, and nothing is known about the model
        takes_grammar: bool = False,
        window: int = 0,  # in tokens; 0: the server is asked
        identity: str = "",  # see `model_identity`
        prompt_form: PromptForm = "full",
        prepare: Callable[[ChatRequest], Awaitable[None]] | None = None,
        load_seconds: Callable[[], float] | None = None,
    ) -> None:
        self.name, self.model_name, self.endpoint = name, model_name, endpoint
        self.model, self.tokenizer, self.server = model, tokenizer, server
        self.price, self.max_tokens, self.window = price, max_tokens, window
        self.use_tool_role, self.takes_grammar = use_tool_role, takes_grammar
        self.tools, self.offers_tools = tools, offers_tools
        self.prompt_form, self.prepare, self.load_seconds = prompt_form, prepare, load_seconds
        self.identity = identity or f"{endpoint} {model_name}"

    @property
    def is_small(self) -> bool:
        """Does it read slowly, so that its prompts are short, and it is asked nothing besides questions?"""
        return self.prompt_form != "full"

    @property
    def label(self) -> str:
        """The name of the preset, with the model name if it differs."""
        return self.name if self.model_name in ("", self.name) else f"{self.name} ({self.model_name})"


class Answering(NamedTuple):
    """The events that follow come from this backend."""

    backend: Backend


async def stream_with_fallback(
    backends: list[str],
    open_backend: Callable[[str], Backend],
    request_for: Callable[[Backend], ChatRequest],
) -> AsyncGenerator[ModelEvent | Answering]:
    """Stream the answer of the first backend that is available; each switch is an event.

    The next one is tried only when the previous one was unreachable and sent nothing.
    """
    for place, name in enumerate(backends):
        backend = open_backend(name)
        yield Answering(backend)
        silent = True
        following = backends[place + 1] if place + 1 < len(backends) else ""
        async with aclosing(backend.model.stream(request_for(backend))) as events:
            async for event in events:
                if isinstance(event, Failed) and silent and following and event.trouble in ("unreachable", "missing"):
                    yield Switched(name, following, event.reason)
                    break
                silent = False
                yield event
            else:
                return
