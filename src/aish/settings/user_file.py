"""The user's settings file: read it, and change one setting in it."""

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from aish.settings.key_lines import set_key, unset_key
from aish.settings.layers import SettingsLayer, load, mismatch, parse_value, split_key, type_of, unknown_key
from aish.settings.options import NAMED, Section, Settings, options_of
from aish.settings.tables import parse
from aish.storage.files import locked, replace_file
from aish.values.errors import BadUsage, NotFound
from aish.values.named_tuple import NamedTuple

_LARGEST_FILE = 64 << 20
_INSTEAD = "keep a key in a variable and name it with api_key_env"
_YES_AND_NO = {"on": True, "yes": True, "off": False, "no": False}


class Changed(NamedTuple):
    """A setting that was changed in the file: its key and the value that the file gives it now."""

    key: str
    value: Any


def read_settings_file(path: Path, *, must_exist: bool = False) -> str:
    """Return the text of the file, nothing if it does not exist. Raises `BadUsage` and `NotFound`."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise BadUsage(f"{path} is too large")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if must_exist:
            raise NotFound(f"there is no file {path}") from None
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(f"{path} cannot be read: {error}") from None


def edit_settings_file(path: Path, edit: Callable[[str], str]) -> str:
    """Change the file under its lock, and return the new text. Raises `BadUsage` and `StoreTrouble`.

    A link stays one: many people keep their settings in a repository elsewhere. Line ends and the mark of a byte order
    stay, too.
    """
    with locked(path.with_name("config.lock")):
        text = edit(read_settings_file(path))
        before = path.read_bytes() if path.exists() else b""
        ends = "\r\n" if 2 * before.count(b"\r\n") > before.count(b"\n") else "\n"
        mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
        replace_file(Path(os.path.realpath(path)), mark + text.replace("\n", ends).encode())
    return text


def change_setting(path: Path, key: str, typed: str | None, has_secret: Callable[[str], bool]) -> Changed:
    """Set a key to what was typed, or unset it. The file is written only if the value is right. Raises `BadUsage`."""
    parts, wanted = known_key(key)
    value = None if typed is None else read_value(key, typed, wanted)
    if isinstance(value, str) and has_secret(f"{parts[-1]} = {value}"):
        raise BadUsage(f"{key} looks like a secret, which does not belong into settings; {_INSTEAD}")
    if value is not None and _is_table(wanted):
        raise BadUsage(f"{key} is a table; set one of its keys: {', '.join(options_of(wanted))}")

    def edit(text: str) -> str:
        changed = unset_key(text, parts) if value is None else set_key(text, parts, value)
        if value is not None:
            _check(key, text, changed)
        return changed

    return Changed(key, _value_at(load([_layer(edit_settings_file(path, edit))]).settings, parts))


def known_key(key: str) -> tuple[list[str], Any]:
    """Return the parts of a key and the type of its value. Raises `BadUsage`."""
    parts = split_key(key)
    wanted = type_of(key) if parts else None
    named = any(parts[:-1] == table.split(".") for table in NAMED)
    if wanted is None or (_is_table(wanted) and not named):
        raise BadUsage(f"{key}: {unknown_key(key)}")
    return parts, wanted


def read_value(key: str, typed: str, wanted: Any) -> Any:
    """Return the value that was typed for a key: TOML, or a word or words without quotes. Raises `BadUsage`."""
    value = parse_value(typed.strip())
    kinds = get_args(wanted) or (wanted,)
    if mismatch(value, wanted):
        if bool in kinds and typed.strip().lower() in _YES_AND_NO:
            value = _YES_AND_NO[typed.strip().lower()]
        elif get_origin(wanted) is list and isinstance(value, str):
            value = [word.strip() for word in value.split(",") if word.strip()]
        elif str in kinds:
            value = typed  # a name that looks like a number
    if value == typed.strip() and not mismatch(typed, wanted):
        value = typed  # without quotes, blanks around it count: a prompt ends with one
    wrong = mismatch(value, wanted)
    if wrong:
        raise BadUsage(f"{key}: {wrong}; nothing was changed")
    if isinstance(value, bool) and bool not in kinds:  # one of several words
        value = str(value).lower()
    return value


def choices(wanted: Any) -> list[str]:
    """Return the words that a setting of this type can have, for completion."""
    kinds = get_args(wanted) if get_origin(wanted) is not list else ()
    words = [word for kind in (wanted, *kinds) for word in get_args(kind) if isinstance(word, str)]
    words += [kind for kind in kinds if isinstance(kind, str)]
    return list(dict.fromkeys([*words, *(("true", "false") if bool in (wanted, *kinds) else ())]))


def adopt(settings: Settings, fresh: Settings, key: str) -> None:
    """Take over one setting, or one entry of a table of names, from other settings."""
    parts = split_key(key)
    table = next((one for one in NAMED if parts[: one.count(".") + 1] == one.split(".")), "")
    *above, last = table.split(".") if table else parts[:2]
    mine, theirs = settings, fresh
    for part in above:
        mine, theirs = getattr(mine, part), getattr(theirs, part)
    if not table:
        setattr(mine, last, getattr(theirs, last))
        return
    name, entries, given = parts[table.count(".") + 1], getattr(mine, last), getattr(theirs, last)
    if name in given:
        entries[name] = given[name]
    else:
        entries.pop(name, None)


def file_settings(path: Path) -> Settings:
    """Return the settings that the file gives, without those of other sources. Raises `BadUsage`."""
    return load([_layer(read_settings_file(path))]).settings


def _check(key: str, before: str, after: str) -> None:
    """Refuse a value that other settings do not fit, such as the name of a model that does not exist."""
    known = {str(problem) for problem in load([_layer(before)]).problems}
    for problem in load([_layer(after)]).problems:
        if problem.key == key and str(problem) not in known:
            raise BadUsage(f"{key}: {problem.message.partition(';')[0]}; nothing was changed")


def _layer(text: str) -> SettingsLayer:
    return SettingsLayer(origin="", values=parse(text))


def _value_at(settings: Settings, parts: list[str]) -> Any:
    value: Any = settings
    for part in parts:
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
    return None if isinstance(value, Section) else value


def _is_table(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Section)
