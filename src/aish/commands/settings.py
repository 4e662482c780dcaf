"""The command about settings: show them, and change them in the settings file."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments, CommandOption
from aish.intake.completion import Suggestion
from aish.program import Program
from aish.settings.effects import IN_WORDS, takes_effect
from aish.settings.layers import FOUND_HERE, split_key
from aish.settings.options import NAMED, Settings, describe, options_of
from aish.settings.template import toml_value
from aish.settings.user_file import adopt, change_setting, choices, file_settings, known_key
from aish.values.errors import BadUsage
from aish.values.text import one_line

_UNSET = CommandOption("unset")
_NAMED_BY = ("model", "fallback", "memory.summarizer_model", "notes.model")  # settings that name a preset


@COMMANDS.add("set", argument="[--unset] [KEY [VALUE]]", options=(_UNSET,))
async def set_option(shell: Shell, arguments: Arguments) -> str:
    """Show or change a setting: `:set view.keys vi`.

    Without a value it shows the setting, without a key all that you have changed. `:set --unset KEY` returns to the
    default. The change is checked, written to the settings file, where your comments stay, and counts at once where
    that is possible; otherwise the reply says from when. Tab completes keys and values.
    """
    key, _, typed = arguments.text.strip().partition(" ")
    if not key:
        if arguments.has("unset"):
            raise BadUsage("expected :set --unset KEY")
        return "\n".join(_changed(shell.program)) or "all settings have their defaults; :set KEY VALUE changes one"
    removed = arguments.has("unset") or typed.strip() == "--unset"
    if not typed.strip() and not removed:
        return _shown(shell.program, key)
    return await _change(shell, key, None if removed else typed.strip())


async def _change(shell: Shell, key: str, typed: str | None) -> str:
    program = shell.program
    path, mask = program.places.config_file, program.redaction.reading().mask
    changed = change_setting(path, key, typed, lambda text: bool(mask(text).kinds))
    what = f"{key} = {_value(changed.value)}" if typed is not None else f"{key} is unset"
    origin = program.loaded.origins.get(key, "")
    if origin not in ("", FOUND_HERE, str(path)):
        return f"{what} in {path}, but {_source(origin)} sets it to {_value(_current(program, key))} here"
    await _adopt(shell, key, removed=typed is None)
    when = takes_effect(key)
    return f"{what}, {IN_WORDS[when]}; kept in {path}"


async def _adopt(shell: Shell, key: str, *, removed: bool) -> None:
    """Let the running shell use the new value."""
    program, path = shell.program, shell.program.places.config_file
    adopt(program.settings, file_settings(path), key)
    origins = {one: of for one, of in program.loaded.origins.items() if one != key and not one.startswith(f"{key}.")}
    origins |= {} if removed else {key: str(path)}
    program.loaded = program.loaded._replace(origins=origins)
    if key == "model":
        shell.session.model = program.settings.model
    parts = split_key(key)
    if parts[0] == "models":
        await program.close_backend(parts[1])
        if shell.session.model not in program.presets():
            shell.session.model = program.settings.model
    shell.on_setting(key)


def _source(origin: str) -> str:
    return f"the {origin}" if origin in ("environment", "command line") else origin


def _current(program: Program, key: str) -> Any:
    value: Any = program.settings
    for part in split_key(key):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value


def _value(value: Any) -> str:
    return one_line(toml_value(value), 120)


def _shown(program: Program, key: str) -> str:
    """Show one setting: its value, where it comes from, and what it is for."""
    parts, wanted = known_key(key)
    about = {name: text for name, _, text in describe(Settings)}
    kind = next((NAMED[table] for table in NAMED if parts[:-2] == table.split(".")), None)
    told = about.get(key) or (options_of(kind)[parts[-1]].about if kind else "")
    value = _current(program, key)
    if kind is None and any(parts[:-1] == table.split(".") for table in NAMED):
        entry = value or wanted()
        given = [f"{key}.{name} = {_value(getattr(entry, name))}" for name in options_of(wanted)]
        return "\n".join(given) if value else f"there is no {key}; its keys: {', '.join(options_of(wanted))}"
    origin = program.loaded.origins.get(key, "default")
    possible = ", ".join(choices(wanted))
    lines = [f"{key} = {_value(value)}  ({origin})", told, f"can be: {possible}" if possible else ""]
    return "\n".join(line for line in [*lines, f"a change counts {IN_WORDS[takes_effect(key)]}"] if line)


def _changed(program: Program) -> Iterator[str]:
    """Yield the settings that are not defaults, with their origins."""
    for key, origin in sorted(program.loaded.origins.items()):
        yield f"{key} = {_value(_current(program, key))}  ({origin})"


def complete_setting(program: Program, typed: str) -> list[Suggestion]:
    """Suggest keys, and after a key its values."""
    first, space, rest = typed.partition(" ")
    if first == "--unset" and space:
        return [one for one in complete_setting(program, rest) if " " not in rest]
    if not space and typed.startswith("-"):
        return [("--unset", len(typed), "return to the default")]
    if not space:
        found = [(key, len(typed), about) for key, about in _keys(program) if key.startswith(typed)]
        return found or [(key, len(typed), about) for key, about in _keys(program) if typed and typed in key]
    return [(word, len(rest), "") for word in _words(program, first) if word.startswith(rest)]


def _keys(program: Program) -> Iterator[tuple[str, str]]:
    yield from ((key, about) for key, _, about in describe(Settings))
    for table, kind in NAMED.items():
        for name in attrgetter(table)(program.settings):
            yield from ((f"{table}.{name}.{key}", option.about) for key, option in options_of(kind).items())


def _words(program: Program, key: str) -> list[str]:
    if key in _NAMED_BY:
        return list(program.presets())
    try:
        found = choices(known_key(key)[1])
    except BadUsage:
        return []
    return found or [toml_value(_current(program, key))]
