"""The program as a whole: settings, places, models and stores, opened when they are needed first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aish.acting.table import TOOLS
from aish.agent.tool import Tool
from aish.conversation.enabled_tools import GrowingTools
from aish.conversation.endpoints import Endpoints
from aish.conversation.layer import Layer
from aish.conversation.library import Library
from aish.conversation.recorder import Recorder
from aish.conversation.services import Services, Upkeep
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.memory.curation import Memory
from aish.memory.journal import TurnLog
from aish.memory.redaction import Redaction
from aish.model.backend import Backend
from aish.model.cost import CostBook
from aish.model.estimate import Estimates
from aish.model.machine import installed
from aish.model.model_cards import ModelCards
from aish.model.weights import CATALOGUE
from aish.model.window import ContextWindows
from aish.places import Places, model_directories
from aish.prompt.table import LAYERS
from aish.settings.layers import Loaded
from aish.settings.options import EMBEDDED, Preset
from aish.settings.trust import Trust
from aish.values.errors import NotFound

if TYPE_CHECKING:  # a gate is needed by few doors, and takes long to load
    from aish.acting.gate import GateTools
    from aish.acting.goal_history import GoalHistory
    from aish.acting.goal_mode import GoalMode
    from aish.acting.server_tools import ServerTools
    from aish.acting.sub_agents import SubAgents
    from aish.acting.surroundings import Surroundings
    from aish.action.project_files import ProjectFiles
    from aish.conversation.skills import Skills

MakeBackend = Callable[["Program", str, Preset], Backend]


class Program(Library):
    """What all views and commands share. `make_backend` is given by wiring, so that adapters load on first use."""

    def __init__(
        self,
        *,
        loaded: Loaded,
        places: Places,
        redaction: Redaction,
        cwd: Path,
        make_backend: MakeBackend,
        find_weights: Callable[[Preset], Path],
    ) -> None:
        super().__init__(loaded=loaded, places=places, redaction=redaction, cwd=cwd)
        self.make_backend, self.find_weights = make_backend, find_weights
        self.layers: Sequence[Callable[[], Layer]] = LAYERS
        self.tools: Sequence[Tool[TurnContext]] = TOOLS
        self.open_memory: Callable[[], tuple[Memory, str]] | None = None
        self.memory_trouble = ""  # why it cannot be written by this process
        self.load_gate_tools: Callable[[Program, Surroundings], GateTools] | None = None
        self.export: Callable[[str, TurnLog, str], Iterator[str]]  # format, journal and name of a conversation
        self.open_upkeep: Callable[[], Upkeep]
        self.open_servers: Callable[[], ServerTools]
        self.open_goals: Callable[[Program], GoalHistory]
        self.open_goal_mode: Callable[[Program], GoalMode]
        self.open_files: Callable[[Program], ProjectFiles] | None = None
        self.open_skills: Callable[[Program], Skills] | None = None
        self.open_agents: Callable[[Program], SubAgents] | None = None
        self._backends: dict[str, Backend] = {}
        self._estimates: Estimates | None = None
        self.cards = ModelCards(places.model_cards)
        self.windows = ContextWindows(self.cards)
        self._memory: Memory | None = None
        self._servers: ServerTools | None = None
        self._files: ProjectFiles | None = None
        self._goal_mode: GoalMode | None = None
        self._skills: Skills | None = None
        self._agents: SubAgents | None = None
        self._costs = CostBook(places.costs)
        self.is_script = False  # then sub-agents are offered only if there are definitions; loading them takes 5 ms

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
    def servers(self) -> ServerTools:
        """The MCP servers of the settings, opened on first use and closed with the program."""
        if self._servers is None:
            self._servers = self.open_servers()
        return self._servers

    @property
    def files(self) -> ProjectFiles:
        """The files of projects, and what they were before the model changed them; opened on first use."""
        if self._files is None:
            assert self.open_files
            self._files = self.open_files(self)
        return self._files

    @property
    def goals(self) -> GoalHistory:
        """The goals that were worked on."""
        return self.open_goals(self)

    @property
    def goal_mode(self) -> GoalMode:
        """What works towards a goal; loaded when the first one is started."""
        if self._goal_mode is None:
            self._goal_mode = self.open_goal_mode(self)
        return self._goal_mode

    @property
    def skills(self) -> Skills:
        """The skills of the user and of projects; opened when there is a folder with some."""
        if self._skills is None:
            assert self.open_skills
            self._skills = self.open_skills(self)
        return self._skills

    @property
    def agents(self) -> SubAgents:
        """The sub-agents of all conversations, opened on first use."""
        if self._agents is None:
            assert self.open_agents
            self._agents = self.open_agents(self)
        return self._agents

    @property
    def memory_file(self) -> Path:
        """Where the ledger is, or will be. Raises `StoreTrouble`."""
        return self.places.memory_file(self.settings.memory.path)

    def presets(self) -> dict[str, Preset]:
        """Every preset by name; `embedded` is always there."""
        return self.settings.presets()

    def stand_ins(self, name: str) -> list[str]:
        """The installed weights that are smaller than those of a preset for which the machine chooses, by name."""
        preset = self.presets().get(name)
        if preset is None or preset.kind != EMBEDDED or preset.model or preset.file(self.settings.embedded.path):
            return []
        present = installed(model_directories(self.places, os.environ))
        names = [one.file for one in present]
        used = self.find_weights(preset).name
        return [one.name for one in present[names.index(used) + 1 :]] if used in names else []

    def backend(self, name: str) -> Backend:
        """The preset made ready, once; installed weights have one by their name. Raises `NotFound`."""
        if name not in self._backends:
            presets = self.presets()
            if name not in presets and name in CATALOGUE and CATALOGUE[name].chats:
                presets = {**presets, name: Preset(kind=EMBEDDED, model=name)}
            if name not in presets:
                raise NotFound(f"there is no model {name!r}; there are: {', '.join(presets)} (see: aish models)")
            self._backends[name] = self.make_backend(self, name, presets[name])
        return self._backends[name]

    async def close_backend(self, name: str) -> None:
        """Stop a preset whose settings have changed; the next question makes it ready again."""
        backend = self._backends.pop(name, None)
        if backend:
            await backend.model.close()

    @property
    def services(self) -> Services:
        """What all conversations share."""
        return Services(
            settings=self.settings,
            conversations=self.conversations,
            costs=self._costs,
            estimates=self.estimates,
            redaction=self.redaction,
            trust=Trust(self.places.trusted),
            open_backend=self.backend,
            stand_ins=self.stand_ins,
            open_memory=lambda: (self.memory, self.memory_trouble),
            open_finder=lambda: self.finder,
            channels=self.channels,
            open_notes=self.notes,
            present_notes=self.present_notes,
            open_upkeep=self.open_upkeep,
            open_recall=lambda: self.recall,
            forget_recall=self.forget_recall,
            open_files=lambda: self.files,
            skill_folders=self.places.skill_folders,
            open_skills=lambda: self.skills,
            new_session=self.session,
            now=self.now,
        )

    def session(
        self,
        *,
        remembers: bool = True,
        model: str = "",
        tools: Sequence[Tool[TurnContext]] | None = None,
        about: Mapping[str, object] | None = None,
        layers: Sequence[Layer] | None = None,
    ) -> Session:
        """A new conversation. `tools` are all that its model can be offered; by default the whole table."""
        services = self.services
        session = Session(
            services=services,
            model=model or self.settings.model,
            cwd=self.cwd,
            layers=[make() for make in self.layers] if layers is None else layers,
            tools=self.tools if tools is None else tools,
            recorder=Recorder(
                services.conversations, services.redaction, services.now, remembers=remembers, about=about
            ),
            endpoints=Endpoints(self.settings, self.cards, self.windows),
        )
        if tools is None and (self.settings.mcp.servers or self.settings.agents.tool):
            session.tools = GrowingTools(self.tools, lambda: self._more_tools(session))
        return session

    def _more_tools(self, session: Session) -> Sequence[Tool[TurnContext]]:
        """Return the tools that are known only while the program runs."""
        wanted = self.settings.agents.tool and (not self.is_script or self.places.agent_folders(session.cwd))
        delegating = self.agents.tools(session) if wanted else ()
        return [*delegating, *(self.servers.offered() if self.settings.mcp.servers else ())]

    def load_gate(self, surroundings: Surroundings) -> GateTools:
        """What a gate works with, loaded when a command is proposed first."""
        assert self.load_gate_tools
        return self.load_gate_tools(self, surroundings)

    async def close(self) -> None:
        """Stop what was started, and let go of what is held."""
        if self._servers:
            await self._servers.close()
        if self._memory:
            self._memory.close()
        await self.windows.close()
        for backend in self._backends.values():
            await backend.model.close()
