"""What is known about models and their servers: windows, what they refuse, and who calls tools."""

from collections.abc import Callable

from aish.context.eviction import Limits
from aish.model.backend import Backend
from aish.model.model_cards import ModelCards
from aish.model.tokenizer import find_window
from aish.settings.options import Settings
from aish.values.errors import AishError

_BUDGET_WITHOUT_WINDOW = 4096  # tokens


class Endpoints:
    """Ask each server once for its window, and do not repeat what it refused."""

    def __init__(self, settings: Settings, cards: ModelCards) -> None:
        self.settings, self.cards = settings, cards
        self.refuse_tools: set[str] = set()  # by `Backend.identity`: a server may refuse them for some models only
        self.refuse_tool_role: set[str] = set()
        self._windows: dict[str, int] = {}

    def takes_tools(self, backend: Backend) -> bool:
        """Return whether to offer tools: the setting decides, then what is known about the model."""
        if backend.identity in self.refuse_tools:  # in this run: it would refuse them again
            return False
        if backend.tools is not None:
            return backend.tools
        known = self.cards.takes_tools(backend.identity)
        return backend.offers_tools if known is None else known

    def refused_tools(self, backend: Backend) -> None:
        """Remember that a server does not accept tools for this model."""
        self.refuse_tools.add(backend.identity)
        self.cards.saw_tools(backend.identity, "the server refuses tools", able=False)

    def called(self, backend: Backend, tool: str) -> None:
        """Remember that a model called a tool that there is."""
        if backend.tools is None:
            self.cards.saw_tools(backend.identity, f"called {tool}", able=True, certain=False)

    def wrote_call(self, backend: Backend, tool: str) -> bool:
        """Remember that a model wrote a call as text, and return whether it gets no tools because of that."""
        text = f"wrote a call of {tool} as text instead of making it"
        return backend.tools is None and self.cards.saw_tools(backend.identity, text, able=False, certain=False)

    def takes_tool_role(self, backend: Backend) -> bool:
        wanted = self.settings.context.use_tool_role and backend.use_tool_role
        return wanted and backend.endpoint not in self.refuse_tool_role

    def known_budget(self, open_backend: Callable[[], Backend]) -> int:
        """Return the token budget; 0 while the server's window is unknown. Opens no backend before that."""
        budget = self.settings.context.token_budget
        if isinstance(budget, int):
            return budget
        return _share(self._windows.get(open_backend().endpoint, 0)) if self._windows else 0

    async def limits(self, backend: Backend) -> Limits:
        """Return the limits of a prompt for this backend."""
        options = self.settings.context
        budget = options.token_budget
        if budget == "auto":
            if backend.endpoint not in self._windows:
                window = await _ask_for_window(backend)
                if window:  # a server that was unreachable is asked again next time
                    self._windows[backend.endpoint] = window
            budget = _share(self._windows.get(backend.endpoint, 0)) or _BUDGET_WITHOUT_WINDOW
        return Limits(max_turns=options.max_turns, token_budget=budget, max_bytes=options.max_bytes)


def _share(window: int) -> int:
    """Return the part of a window for the prompt: a quarter is left for the answer."""
    return window - window // 4


async def _ask_for_window(backend: Backend) -> int | None:
    try:
        return await find_window(await backend.server(), backend.model_name) if backend.server else None
    except AishError:  # the server cannot be started; the question will fail with the reason
        return None
