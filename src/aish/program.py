"""The program as a whole: settings, places, models and stores, opened when they are needed first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aish.acting.gate import GateTools
from aish.acting.surroundings import Surroundings
from aish.acting.table import TOOLS
from aish.agent.tool import Tool
from aish.conversation.endpoints import Endpoints
from aish.conversation.layer import Layer
from aish.conversation.library import Library
from aish.conversation.recorder import Recorder
from aish.conversation.services import Services
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.jobs.scheduler import Job, Scheduler
from aish.jobs.table import JOBS
from aish.memory.curation import Memory
from aish.model.backend import Backend
from aish.model.cost import CostBook
from aish.model.estimate import Estimates
from aish.prompt.table import LAYERS
from aish.settings.options import Preset
from aish.settings.trust import Trust
from aish.values.errors import NotFound

MakeBackend = Callable[["Program", str, Preset], Backend]


@dataclass(slots=True, kw_only=True)
class Program(Library):
    """What all views and commands share. `make_backend` is given by wiring, so that adapters load on first use."""

    make_backend: MakeBackend
    layers: Sequence[Callable[[], Layer]] = LAYERS
    tools: Sequence[Tool[TurnContext]] = TOOLS
    jobs: Sequence[Job] = JOBS
    find_weights: Callable[[], Path]
    _backends: dict[str, Backend] = field(default_factory=dict)
    _estimates: Estimates | None = None
    open_memory: Callable[[], tuple[Memory, str]] | None = None
    memory_trouble: str = ""  # why it cannot be written by this process
    _memory: Memory | None = None
    load_gate_tools: Callable[["Program", Surroundings], GateTools] | None = None

    @property
    def estimates(self) -> Estimates:
        if self._estimates is None:
            self._estimates = Estimates(self.places.token_ratios)
        return self._estimates

    @property
    def memory(self) -> Memory:
        """Curated memory, opened on first use and closed with the program."""
        if self._memory is None:
            assert self.open_memory
            self._memory, self.memory_trouble = self.open_memory()
        return self._memory

    @property
    def memory_file(self) -> Path:
        """Where the ledger is, or will be. Raises `StoreTrouble`."""
        return self.places.memory_file(self.settings.memory.path)

    def presets(self) -> dict[str, Preset]:
        """Every preset by name; `embedded` is always there."""
        return self.settings.presets()

    def backend(self, name: str) -> Backend:
        """The preset made ready, once. Raises `NotFound`."""
        if name not in self._backends:
            presets = self.presets()
            if name not in presets:
                raise NotFound(f"there is no model {name!r}; there are: {', '.join(presets)} (see: aish models)")
            self._backends[name] = self.make_backend(self, name, presets[name])
        return self._backends[name]

    @property
    def services(self) -> Services:
        """What all conversations share."""
        return Services(
            settings=self.settings,
            conversations=self.conversations,
            costs=CostBook(self.places.costs),
            estimates=self.estimates,
            redaction=self.redaction,
            trust=Trust(self.places.trusted),
            open_backend=self.backend,
            open_memory=lambda: (self.memory, self.memory_trouble),
            open_finder=lambda: self.finder,
            now=self.now,
        )

    def session(self, *, remembers: bool = True, model: str = "") -> Session:
        """A new conversation."""
        services = self.services
        return Session(
            services=services,
            model=model or self.settings.model,
            cwd=self.cwd,
            layers=[make() for make in self.layers],
            tools=self.tools,
            recorder=Recorder(services.conversations, services.redaction, services.now, remembers=remembers),
            endpoints=Endpoints(self.settings),
        )

    def load_gate(self, surroundings: Surroundings) -> GateTools:
        """What a gate works with, loaded when a command is proposed first."""
        assert self.load_gate_tools
        return self.load_gate_tools(self, surroundings)

    def scheduler(self) -> Scheduler:
        """What runs background jobs for one door."""
        return Scheduler(self.jobs)

    async def close(self) -> None:
        """Stop what was started, and let go of what is held."""
        if self._memory:
            self._memory.close()
        for backend in self._backends.values():
            await backend.model.close()
