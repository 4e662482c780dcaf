"""Opens the library, and what it needs when that is needed first."""

import os
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aish.conversation.library import Library
from aish.memory.redaction import Redaction, SecretPatterns
from aish.model.weights import SMOLLM2, WORDLLAMA, WORDLLAMA_TOKENS, Weights, find, shared_directory
from aish.places import Places, find_places, find_project
from aish.settings.layers import Loaded
from aish.values.hits import Finder


def open_library(loaded: Loaded, places: Places, cwd: Path) -> Library:
    """The library for this process."""
    library = Library(loaded=loaded, places=places, redaction=Redaction(places.salt, load_secret_patterns), cwd=cwd)
    library.open_finder = lambda: open_finder(library)
    return library


def load_secret_patterns() -> SecretPatterns:
    """What finds secrets; loaded when a text looks as if it held one."""
    redact, fingerprint = import_module("aish.memory.secret_patterns"), import_module("aish.memory.fingerprint")
    return SimpleNamespace(redact=redact.redact, fingerprint=fingerprint.fingerprint)


def load_gate_tools(library: Library, surroundings: Any) -> Any:
    """What judges, fences and runs commands of the model; loaded when one is proposed first."""
    gate_setup = import_module("aish.acting.gate_setup")
    return gate_setup.load(library.settings, library.places, surroundings, lambda: find_project(library.cwd))


def open_finder(library: Library) -> Finder:
    """What finds in all conversations; loaded when something is looked for first."""
    progress = library.progress
    finder: Finder = import_module("aish.memory.finding.finder").ConversationFinder(
        import_module("aish.memory.journal_feed").JournalFeed(library.places.sessions),
        library.places.turn_index,
        lambda: _embedder(library.places) if library.settings.finding.meaning else None,
        now=lambda: library.now(),
        progress=(lambda: progress("indexing")) if progress else None,
    )
    return finder


def _embedder(places: Places) -> Any:
    """What compares meanings, if its weights are installed; otherwise search goes by words only."""
    path = find_search_weights(places)
    if path is None:
        return None
    embed = import_module("aish.memory.finding.embed")
    try:
        return embed.StaticEmbedder(path, path.with_name(WORDLLAMA_TOKENS.file))
    except (OSError, ValueError, KeyError, TypeError):  # files that are not what they were
        return None


def find_weights(chosen: str, places: Places) -> Path:
    """Where the embedded model's weights are, or where `aish models pull` would put them."""
    if chosen:
        return Path(chosen).expanduser()
    return _found(SMOLLM2, places) or places.models / SMOLLM2.file


def find_search_weights(places: Places) -> Path | None:
    """Where the weights for search by meaning are, if they are installed."""
    return _found(WORDLLAMA, places)


def _found(weights: Weights, places: Places) -> Path | None:
    everyones = find_places({name: value for name, value in os.environ.items() if name != "AISH_HOME"}).models
    return find(weights, [places.models, everyones, shared_directory()])
