"""Opens settings, stores and the program on first use. Views are opened by `doors.py`.

Only these two modules, `verbs.py` and `adapters.py` import own modules inside functions. The layers are the
same as for other imports; `tools/watch.py` checks them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar

from aish.places import PROJECT_FILE, find_project, home_directory, model_directories
from aish.settings.layers import (
    Loaded,
    Problem,
    SettingsLayer,
    below,
    flatten,
    has_chosen,
    load,
    read_arguments,
    read_environment,
    read_file,
    read_machine,
)
from aish.values.errors import BadUsage
from aish.views.screen import Bar
from aish.views.start import Start

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from aish.acting.gate import GateTools
    from aish.acting.goal_history import GoalHistory
    from aish.acting.goal_mode import GoalMode
    from aish.acting.server_tools import ServerTools
    from aish.acting.sub_agents import SubAgents
    from aish.acting.surroundings import Surroundings
    from aish.action.project_files import ProjectFiles
    from aish.conversation.library import Library, ShowProgress
    from aish.conversation.recall import TurnRecall
    from aish.conversation.services import Upkeep
    from aish.conversation.skills import Skills
    from aish.memory.curation import Memory
    from aish.memory.finding.vectors import Embedder
    from aish.memory.journal import TurnLog
    from aish.memory.notes.channel_notes import ChannelNotes
    from aish.memory.redaction import Redaction, SecretPatterns
    from aish.model.http import Detours
    from aish.places import Places
    from aish.program import Program
    from aish.settings.options import ServerSettings, Settings
    from aish.values.hits import Finder
    from aish.values.tool_servers import ToolServer

Opened = TypeVar("Opened")


# Stores


def open_settings(places: Places, cwd: Path, given: Sequence[str]) -> Loaded:
    """The settings for this directory out of files, environment and arguments, and the problems in them."""
    user, problems = read_file(places.config_file)
    given_layers: list[SettingsLayer | None] = [user]
    project_file = find_project(cwd) / PROJECT_FILE
    if os.access(project_file, os.R_OK) and project_file.is_file():  # reading a pipe or device would never end
        if _is_trusted(project_file, places):
            project, more = read_file(project_file)
            given_layers.append(project)
            problems += more
        else:
            from shlex import quote  # here, because most directories have no such file

            hint = f"is ignored until you trust it: aish config trust {quote(str(project_file.parent))}"
            problems.append(Problem(origin=str(project_file), message=hint))
    arguments, more = read_arguments(given)
    given_layers += [read_environment(os.environ), arguments]
    layers = [layer for layer in given_layers if layer]
    if not has_chosen({key: layer.origin for layer in layers for key, _ in flatten(layer.values)}):
        machine = read_machine(places.machine_record, _is_trusted_port)
        lowest = below(machine, layers) if machine else None
        layers = [lowest, *layers] if lowest else layers
    loaded = load(layers)
    known = loaded.settings.presets()
    if loaded.settings.model not in known:  # only from the command line: others were reported and replaced
        raise BadUsage(f"there is no model {loaded.settings.model!r}; there are: {', '.join(known)}")
    return Loaded(settings=loaded.settings, origins=loaded.origins, problems=(*problems, *more, *loaded.problems))


def _is_trusted_port(port: int) -> bool:
    from aish.storage.port_owner import is_trusted_port

    return is_trusted_port(port)


def _is_trusted(file: Path, places: Places) -> bool:
    from aish.settings.trust import Trust

    return Trust(places.trusted).holds(file)


def open_redaction(places: Places) -> Redaction:
    """What masks secrets before anything is written."""
    from aish.memory.redaction import Redaction

    return Redaction(places.salt, _secret_patterns)


def _secret_patterns() -> SecretPatterns:
    """Loaded when a text may hold a secret."""
    from aish.memory.fingerprint import fingerprint
    from aish.memory.secret_patterns import redact

    return SimpleNamespace(redact=redact, fingerprint=fingerprint)


def open_memory(
    settings: Settings,
    places: Places,
    redaction: Redaction,
    now: Callable[[], datetime],
    progress: ShowProgress | None = None,
) -> tuple[Memory, str]:
    """Curated memory, and why it cannot be written if that is so. Raises `StoreTrouble`."""
    from aish.memory.curation import open_memory

    path = places.memory_file(settings.memory.path)
    return open_memory(
        path,
        places.memory_index(path),
        redaction,
        now,
        allow_duplicates=settings.memory.allow_duplicates,
        exclusive=settings.memory.exclusive,
        progress=progress("reading memory") if progress else None,
    )


def open_library(start: Start, progress: ShowProgress | None = Bar) -> Library:
    """All conversations, without anything that talks to a model."""
    from aish.conversation.library import Library

    redaction = open_redaction(start.places)
    library = Library(loaded=start.loaded, places=start.places, redaction=redaction, cwd=start.cwd, progress=progress)
    library.open_finder = lambda: _open_finder(library)
    library.open_notes, library.open_recall = _open_notes, _open_recall
    return library


def load_detours() -> Detours:
    """Proxies, certificates and whatever else most connections do not need."""
    from aish.model import detours

    return detours


def open_program(start: Start, progress: ShowProgress | None = Bar) -> Program:
    """The whole program: models, memory and all conversations."""
    from aish.model.http import provide_detours
    from aish.wiring import build

    provide_detours(load_detours)
    program = build(start.loaded, start.places, start.cwd, open_redaction(start.places))
    program.progress = progress
    program.open_finder = lambda: _open_finder(program)
    program.open_notes, program.open_recall, program.open_upkeep = _open_notes, _open_recall, _load_upkeep
    program.open_memory = lambda: open_memory(
        program.settings, program.places, program.redaction, lambda: program.now(), program.progress
    )
    program.load_gate_tools, program.open_files = _load_gate_tools, _open_files
    program.open_agents = _open_agents
    program.open_goals, program.open_goal_mode = _open_goals, _open_goal_mode
    program.export = _export
    program.open_servers = lambda: _open_servers(program)
    program.open_skills = _open_skills
    return program


def _open_skills(program: Program) -> Skills:
    """The skills; opened by the first question where there is a folder with some, or by `:skills`."""
    from aish.acting.skill_hooks import HookRunner
    from aish.conversation.skills import Skills

    runner = HookRunner(program.settings, program.places, program.redaction)
    return Skills(runner.run, runner.fence_for)


def _open_servers(program: Program) -> ServerTools:
    """The MCP servers; opened by the first question or `:mcp`, if there are any."""
    from aish.acting.server_tools import ServerTools
    from aish.mcp.known_tools import KnownTools

    settings, places = program.settings.mcp, program.places
    return ServerTools(
        settings,
        KnownTools(places.known_tools, places.tool_listings),
        lambda name, one, identity: _make_server(program, name, one, identity),
    )


def _make_server(program: Program, name: str, settings: ServerSettings, identity: str) -> ToolServer:
    """A connection to a server. It loads the SDK, which takes most of a second."""
    from aish.acting.server_fences import server_fence
    from aish.mcp.starting import make_server

    def root() -> Path:
        return find_project(program.cwd)

    return make_server(
        name,
        command=settings.command,
        args=settings.args,
        cwd=settings.cwd,
        env=settings.env,
        env_from=settings.env_from,
        url=settings.url,
        headers=settings.headers,
        headers_env=settings.headers_env,
        timeout=settings.timeout_seconds,
        root=root,
        home=home_directory(),
        fence=server_fence(settings, program.settings.commands, program.places, program.redaction, root),
        identity=identity,
        variables=os.environ,
    )


def _load_gate_tools(program: Program, surroundings: Surroundings) -> GateTools:
    """What judges, fences and runs commands of the model; loaded when the first one is proposed."""
    from aish.acting.gate_setup import load

    return load(program.settings, program.places, program.redaction, surroundings, lambda: find_project(program.cwd))


def _open_files(program: Program) -> ProjectFiles:
    """The files of projects for the tools of the model; opened when the first one is read or changed."""
    from aish.action.project_files import ProjectFiles
    from aish.action.undo_store import UndoStore

    places = program.places
    return ProjectFiles(
        UndoStore(places.undo), [places.data, places.state, places.config, places.cache], home_directory()
    )


def _open_agents(program: Program) -> SubAgents:
    """The sub-agents; opened when a model is offered the tool that uses them, or by `:agent`."""
    from aish.acting.sub_agents import SubAgents
    from aish.conversation.agent_files import find_agents
    from aish.prompt.agent import agent_layers

    folder = program.places.agents
    return SubAgents(lambda session: find_agents(folder, session), agent_layers)


def _open_goals(program: Program) -> GoalHistory:
    """The goals that were worked on; opened when somebody wants to see them."""
    from aish.acting.goal_history import GoalHistory
    from aish.memory.goal_records import GoalRecords

    return GoalHistory(GoalRecords(program.places.goals))


def _open_goal_mode(program: Program) -> GoalMode:
    """What works towards a goal; loaded when the first one is started."""
    from aish.acting.goal_mode import GoalMode
    from aish.memory.goal_records import GoalRecords

    return GoalMode(GoalRecords(program.places.goals), lambda: program.now())


def _export(format: str, journal: TurnLog, name: str) -> Iterator[str]:
    """The text of a conversation in a format for other tools, in pieces; loaded by the first `:export`."""
    from aish.memory.exporters import FORMATS, talk_of

    return FORMATS[format].pieces(talk_of(journal, name))


def _open_finder(library: Library) -> Finder:
    """What searches all conversations; opened by the first search."""
    from aish.memory.finding.finder import ConversationFinder
    from aish.memory.journal_feed import JournalFeed

    progress = library.progress
    return ConversationFinder(
        JournalFeed(library.places.sessions),
        library.places.turn_index,
        lambda: open_embedder(library.places) if library.settings.finding.meaning else None,
        now=lambda: library.now(),
        progress=(lambda: progress("indexing")) if progress else None,
    )


def _open_notes(library: Library, channel: str) -> ChannelNotes:
    """The notes of a channel; opened when the first note is read."""
    from aish.memory.notes.channel_notes import ChannelNotes
    from aish.memory.notes.files import NoteFiles
    from aish.storage.lines import open_log

    places, folder = library.places, library.places.channel(channel)
    return ChannelNotes(
        NoteFiles(places.workspace),
        channel,
        log=open_log(folder / "log.jsonl", "changes of notes"),
        context=open_log(folder / "context.jsonl", "turns to consolidate"),
        redaction=library.redaction,
        now=lambda: library.now(),
        refuse=_purged_texts(library),
        place=str(folder),
    )


def _purged_texts(library: Library) -> Callable[[str], str]:
    """A function that says of a text that it was purged. It opens memory on first use."""
    from aish.memory.curation import open_memory

    opened: list[Memory] = []

    def refuse(text: str) -> str:
        if not opened:
            path = library.places.memory_file(library.settings.memory.path)
            index = library.places.memory_index(path)
            opened.append(open_memory(path, index, library.redaction, lambda: library.now())[0])
        return "it was purged" if opened[0].is_purged(text) else ""

    return refuse


def _load_upkeep() -> Upkeep:
    """What keeps the notes up to date; loaded when it is needed first."""
    from aish.conversation import upkeep

    return upkeep


def _open_recall(library: Library) -> TurnRecall:
    """What chooses notes and items for a question; opened by the first question."""
    from aish.conversation.recall import TurnRecall
    from aish.memory.recall.engine import RecallEngine

    return TurnRecall(RecallEngine(open_embedder(library.places) if library.settings.finding.meaning else None))


def open_embedder(places: Places) -> Embedder | None:
    """What compares meanings. None without its weights; then the search uses words only."""
    from aish.memory.finding.embed import StaticEmbedder
    from aish.model.weights import WORDLLAMA, WORDLLAMA_TOKENS, find_here

    path = find_here(WORDLLAMA, model_directories(places, os.environ))
    if path is None:
        return None
    try:
        return StaticEmbedder(path, path.with_name(WORDLLAMA_TOKENS.file))
    except (OSError, ValueError, KeyError, TypeError):  # damaged files
        return None
