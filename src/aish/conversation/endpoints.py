"""What is known about models and their servers: windows, what they refuse, and who calls tools."""

from collections.abc import Callable

from aish.context.auto_budget import Budget, Money, auto_budget, auto_turns
from aish.context.eviction import Limits
from aish.model.backend import Backend
from aish.model.model_cards import ModelCards
from aish.model.window import ContextWindows, is_own_server
from aish.settings.options import Settings
from aish.values.events import Notice, notice

_LEAST_LEFT = 0.1  # of the limits of a prompt, after an eviction
_PROMPTS_IN_CAP = 20  # so many prompts of the largest size should be possible below a cost cap


class Endpoints:
    """The limits of prompts for each model, and what a server refused, which is not repeated."""

    def __init__(self, settings: Settings, cards: ModelCards, windows: ContextWindows | None = None) -> None:
        self.settings, self.cards = settings, cards
        self.windows = windows or ContextWindows(cards)
        self.refuse_tools: set[str] = set()  # by `Backend.identity`: a server may refuse them for some models only
        self.refuse_tool_role: set[str] = set()

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
        """Return whether results of tools are sent in that role. Where commands have a form, it needs them so."""
        if backend.prompt_form == "run":
            return True
        wanted = self.settings.context.use_tool_role and backend.use_tool_role
        return wanted and backend.endpoint not in self.refuse_tool_role

    def known_budget(self, open_backend: Callable[[], Backend]) -> int:
        """Return the token budget; 0 while the server's window is unknown. Opens no backend before that."""
        budget = self.settings.context.token_budget
        if isinstance(budget, int):
            return budget
        return self.expected_limits(open_backend()).token_budget if self.windows.some_known else 0

    def expected_limits(self, backend: Backend) -> Limits:
        """Return the limits as far as they are known without asking the server."""
        return self._limits(self._budget(backend, self.windows.expected(backend)).tokens)

    async def limits(self, backend: Backend) -> Limits:
        """Return the limits of a prompt for this backend."""
        return self._limits((await self.budget(backend)).tokens)

    async def budget(self, backend: Backend) -> Budget:
        """Return the token budget of this backend with its reason. Asks the server for its window if it must be."""
        is_set = self.settings.context.token_budget != "auto"
        return self._budget(backend, 0 if is_set else await self.windows.of(backend))

    async def unknown_window(self, backend: Backend) -> list[Notice]:
        """Return a notice if nobody tells the window of this model, once for each model."""
        if self.settings.context.token_budget != "auto" or not backend.server or await self.windows.of(backend):
            return []
        if not self.windows.was_asked(backend) or not self.cards.says_unknown_window(backend.identity):
            return []
        tokens = self._budget(backend, 0).tokens
        text = (
            f"the context window of {backend.label} is not known, so prompts have at most {tokens:,} tokens; "
            f"to change that, set models.{backend.name}.window to its size in tokens"
        )
        return [notice("context.unknown_window", text, model=backend.name, tokens=tokens)]

    def _budget(self, backend: Backend, window: int) -> Budget:
        budget = self.settings.context.token_budget
        if budget != "auto":
            return Budget(budget, "set by context.token_budget")
        cost, price = self.settings.cost, backend.price
        caps = [cap / _PROMPTS_IN_CAP for cap in (cost.cap_at_dollars, cost.cap_at_dollars_per_day) if cap is not None]
        free = not backend.server or (price is None and is_own_server(backend.endpoint))
        money = None if free else Money(price.input if price else None, min([cost.prompt_dollars, *caps]))
        return auto_budget(window, backend.max_tokens or 0, money)

    def _limits(self, tokens: int) -> Limits:
        options = self.settings.context
        turns = auto_turns(tokens) if options.max_turns == "auto" else options.max_turns
        share = min(max(options.evict_to, _LEAST_LEFT), 1.0)
        return Limits(max_turns=turns, token_budget=tokens, max_bytes=options.max_bytes, evict_to=share)
