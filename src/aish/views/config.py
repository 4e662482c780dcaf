"""`aish config`: show all settings and their origins, create a settings file, trust project files."""

import json
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from aish.places import PROJECT_FILE
from aish.settings.options import NAMED, Settings, describe, options_of
from aish.settings.template import template, toml_value
from aish.settings.trust import Trust
from aish.storage.files import replace_file
from aish.values.errors import BadUsage
from aish.views.arguments import make_parser
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start


def run(start: Start, arguments: Sequence[str]) -> int:
    """Run one action of `aish config`."""
    parser = make_parser("aish config", "Show the current settings, create a settings file, or trust a project.")
    parser.add_argument("action", nargs="?", default="show", choices=("show", "init", "path", "trust", "distrust"))
    parser.add_argument("directory", nargs="?", default=".", help="the project, for trust and distrust")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    match options.action:
        case "init":
            return _init(start.places.config_file)
        case "path":
            print(start.places.config_file)
        case "trust" | "distrust" as action:
            file = Path(options.directory) / PROJECT_FILE
            trust = Trust(start.places.trusted)
            trust.give(file) if action == "trust" else trust.take(file)
            Screen().say(
                f"{file} is {'trusted with its current content' if action == 'trust' else 'no longer trusted'}"
            )
        case _:
            _show(start, as_json=options.json)
            return NOTHING if start.loaded.problems else OK
    return OK


def _init(path: Path) -> int:
    if path.exists():
        raise BadUsage(f"{path} already exists and was not changed")
    replace_file(path, template().encode())
    print(f"written: {path}")
    return OK


def _show(start: Start, *, as_json: bool) -> None:
    rows = list(values(start.settings))
    origins = start.loaded.origins
    if as_json:
        shown = [{"key": key, "value": value, "from": origins.get(key, "default")} for key, value in rows]
        problems = [str(problem) for problem in start.loaded.problems]
        print(json.dumps({"settings": shown, "problems": problems}, ensure_ascii=False))
        return
    width = max(len(key) for key, _ in rows)
    for key, value in rows:
        Screen().say(f"{key:<{width}}  {toml_value(value):<24}  {origins.get(key, 'default')}")


def values(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Yield every setting with its value, including presets and prices."""
    for key, _, _ in describe(Settings):
        value: Any = settings
        for part in key.split("."):
            value = getattr(value, part)
        yield key, value
    for table in NAMED:
        for name, entry in attrgetter(table)(settings).items():
            for key, declared in options_of(NAMED[table]).items():
                value = getattr(entry, key)
                if value != declared.default:
                    quoted = name if name.replace("-", "").replace("_", "").isalnum() else f'"{name}"'
                    yield f"{table}.{quoted}.{key}", value
