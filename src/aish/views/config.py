"""`aish config`: show all settings and their origins, change one, create a settings file, trust project files."""

import sys
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from aish.places import PROJECT_FILE
from aish.settings.layers import FOUND_HERE, read_file
from aish.settings.options import NAMED, Settings, describe, options_of
from aish.settings.preview import preview
from aish.settings.template import template, toml_value
from aish.settings.trust import Trust
from aish.settings.user_file import change_setting, known_key
from aish.storage.files import replace_file
from aish.values.errors import BadUsage, Declined
from aish.values.named_tuple import NamedTuple
from aish.values.person import agrees
from aish.values.text import json_text
from aish.views.arguments import VerbArguments
from aish.views.exit_codes import NOTHING, OK
from aish.views.screen import Screen
from aish.views.start import Start

_ACTIONS = ("show", "get", "set", "unset", "init", "path", "trust", "distrust")
_EXAMPLES = """\
aish config set view.keys vi
aish config set --unset view.keys
aish config get model"""


class ConfigDoors(NamedTuple):
    """What every verb has, and what masks secrets, which takes longer to load than the settings to print."""

    start: Start
    mask: Callable[[str], str]


def run(doors: ConfigDoors, arguments: Sequence[str]) -> int:
    """Run one action of `aish config`."""
    start = doors.start
    parser = VerbArguments(
        "aish config",
        "Show or change the settings, create a settings file, or trust a project.",
        epilog=_EXAMPLES,
        keep_lines=True,
    )
    parser.add_argument("action", nargs="?", default="show", choices=_ACTIONS)
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="KEY VALUE for set, KEY for get and show, DIRECTORY for trust"
    )
    parser.add_argument("--unset", action="store_true", help="with set KEY: return to the default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--yes", action="store_true", help="trust without a question")
    options = parser.parse_intermixed_args(arguments)
    if len(options.words) > 1 and options.action != "set":
        raise BadUsage(f"aish config {options.action} takes one word, got: {' '.join(options.words)}")
    match options.action:
        case "set" | "unset" as action:
            unset = options.unset or action == "unset"
            return _set(doors, options.words, unset=unset, as_json=options.json)
        case "get":
            return _get(start, options.words, as_json=options.json)
        case "init":
            return _init(start.places.config_file)
        case "path":
            print(start.places.config_file)
        case "trust" | "distrust" as action:
            file = Path(*options.words or ".") / PROJECT_FILE
            trust = Trust(start.places.trusted)
            if action == "trust":
                return _trust(doors, trust, file, yes=options.yes)
            trust.take(file)
            Screen().say(f"{file} is no longer trusted")
        case _:
            _show(start, "".join(options.words), as_json=options.json)
            return NOTHING if start.loaded.problems else OK
    return OK


def _set(doors: ConfigDoors, words: Sequence[str], *, unset: bool, as_json: bool) -> int:
    """Write one setting to the user's file, or remove it there."""
    if not words or unset != (len(words) == 1):
        raise BadUsage("expected aish config set KEY VALUE, or aish config set --unset KEY")
    key, start = words[0], doors.start
    typed = None if unset else " ".join(words[1:])
    changed = change_setting(start.places.config_file, key, typed, lambda text: doors.mask(text) != text)
    origin = start.loaded.origins.get(key, "")
    hidden = origin if origin not in ("", FOUND_HERE, str(start.places.config_file)) else ""
    if as_json:
        print(json_text({"key": key, "value": changed.value, "overridden_by": hidden or None}))
        return OK
    screen, what = Screen(), f"{key} is unset" if unset else f"{key} = {toml_value(changed.value)}"
    screen.say(f"{what} in {start.places.config_file}")
    if hidden:
        screen.note(f"{key} is also set by: {hidden}, which counts more here", warning=True)
    return OK


def _get(start: Start, words: Sequence[str], *, as_json: bool) -> int:
    """Print one value: a text as it is, other values as TOML."""
    if len(words) != 1:
        raise BadUsage("expected aish config get KEY")
    known_key(words[0])
    found = dict(values(start.settings))
    value = found.get(words[0])
    print(json_text(value) if as_json else value if isinstance(value, str) else toml_value(value))
    return OK if value is not None else NOTHING


def _trust(doors: ConfigDoors, trust: Trust, file: Path, *, yes: bool) -> int:
    """Trust a settings file after showing what it sets. A person at a terminal is asked; a script has decided."""
    before = trust.digest(file)
    layer, problems = read_file(file)
    shown = "\n".join([f"{file} sets, the next time aish starts there:", *preview(layer, problems, doors.mask)])
    if trust.digest(file) != before:
        raise Declined(f"{file} changed while it was read, so it is not trusted; try again")
    screen = Screen()
    screen.say(shown)
    others = [name for name in doors.start.settings.project.instructions if (file.parent / name).exists()]
    if others:
        screen.say(f"{' and '.join(others)} stays untrusted; `:project trust` shows it and trusts it")
    if not yes and sys.stdin.isatty():
        print("trust this? [y/N] ", end="", file=sys.stderr, flush=True)
        if not agrees(sys.stdin.readline()):
            screen.say("nothing was changed")
            return NOTHING
    trust.give(file, before)  # what was shown; if the file has changed since then, it is not trusted
    screen.say(f"{file} is trusted with its current content")
    return OK


def _init(path: Path) -> int:
    if path.exists():
        raise BadUsage(f"{path} already exists and was not changed")
    replace_file(path, template().encode())
    print(f"written: {path}")
    return OK


def _show(start: Start, wanted: str, *, as_json: bool) -> None:
    """Print all settings, or the one or the table that is wanted. Raises `BadUsage` for an unknown one."""
    rows = [row for row in values(start.settings) if not wanted or f"{row[0]}.".startswith(f"{wanted}.")]
    if not rows and wanted not in NAMED:
        known_key(wanted)  # a preset has more keys than are set
    origins = start.loaded.origins
    if as_json:
        shown = [{"key": key, "value": value, "from": origins.get(key, "default")} for key, value in rows]
        problems = [str(problem) for problem in start.loaded.problems]
        print(json_text({"settings": shown, "problems": problems}))
        return
    width = max((len(key) for key, _ in rows), default=0)
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
