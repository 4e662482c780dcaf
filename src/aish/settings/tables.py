"""Add and remove tables in the text of a settings file. Comments and the order of everything else stay.

Pure: text in, text out. Each change is checked by parsing both texts: an edit that would change anything else fails.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from aish.settings.layers import parse_toml, split_key
from aish.settings.template import toml_value
from aish.values.errors import BadUsage
from aish.values.patterns import pattern

KEY_HEADER = pattern(r"\s*\[{1,2}((?:\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]|[ \t.])+)\]{1,2}\s*(?:#.*)?")


def add_table(text: str, path: Sequence[str], values: Mapping[str, Any], *, checked: bool = True) -> str:
    """Return the text with a new table at its end. Raises `BadUsage` if the file cannot be changed safely.

    Without `checked`, the caller compares the result with what it wants.
    """
    lines = [f"[{'.'.join(written_key(part) for part in path)}]"]
    lines += [f"{written_key(name)} = {inline(value)}" for name, value in values.items()]
    gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    changed = f"{text}{gap}{chr(10).join(lines)}\n"
    if not checked:
        return changed
    wanted = parse(text)
    _put(wanted, path, dict(values))
    return _checked(changed, wanted)


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return the text without a table and the tables in it. Raises `BadUsage`."""
    wanted = parse(text)
    inner = wanted
    for part in path[:-1]:
        inner = inner.get(part, {})
        if not isinstance(inner, dict):
            raise BadUsage(f"{part} is not a table in the settings file")
    inner.pop(path[-1], None)
    kept, held, inside = list[str](), list[str](), False
    for line in text.splitlines(keepends=True):
        header = KEY_HEADER.fullmatch(line.rstrip("\n"))
        if header:
            inside = split_key(header[1])[: len(path)] == list(path)
            if not inside:
                kept += held  # comments in front of the next table
            held = []
        if not inside:
            kept.append(line)
        elif line.startswith("#"):
            held.append(line)
        elif line.strip():
            held = []
    while not inner and len(path) > 1 and not _same("".join(kept), wanted):  # the tables around it left with it
        path = path[:-1]
        inner = wanted
        for part in path[:-1]:
            inner = inner[part]
        inner.pop(path[-1], None)
    return _checked("".join(kept).rstrip("\n") + "\n" if "".join(kept).strip() else "", wanted)


def parse(text: str) -> dict[str, Any]:
    """Parse the text of a settings file. Raises `BadUsage`."""
    try:
        return parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise BadUsage(f"the settings file has a mistake and was not changed: {error}") from None


def _same(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return parse_toml(text) == wanted
    except (ValueError, RecursionError):
        return False


def _checked(text: str, wanted: Mapping[str, Any]) -> str:
    if not _same(text, wanted):
        raise BadUsage("the settings file is written in a way that cannot be changed safely; edit it by hand")
    return text


def _put(tree: dict[str, Any], path: Sequence[str], value: object) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise BadUsage(f"{part} is not a table in the settings file")
    if path[-1] in tree:
        raise BadUsage(f"there is a {'.'.join(path)} already; remove it first")
    tree[path[-1]] = value


def written_key(name: str) -> str:
    """Return a part of a key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def inline(value: Any) -> str:
    """Return a value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{written_key(name)} = {inline(item)}' for name, item in value.items())}}}"
    return toml_value(value)
