"""Set and unset one key in the text of a settings file. Comments and the order of everything else stay.

Pure: text in, text out. There are several ways to write a key in TOML, so there are several ways to change it; the
first one whose result, parsed, differs in nothing but this key is taken.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from aish.settings.layers import parse_toml, split_key
from aish.settings.tables import KEY_HEADER, add_table, inline, parse, remove_table, written_key
from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

_SETTING = pattern(r"""(\s*)((?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-]|[ \t])+?)\s*=""")
_LONGEST = 2000  # lines of one value


class _Statement(NamedTuple):
    """A key with its value: where it stands, and which setting it is."""

    begin: int  # lines
    end: int
    path: list[str]


class _Text(NamedTuple):
    """The lines of a file, its statements, and its tables with the lines after their headers."""

    lines: list[str]
    statements: list[_Statement]
    tables: list[tuple[list[str], int, int]]


def set_key(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a key set. Raises `BadUsage` if the file cannot be changed safely."""
    wanted = parse(text)
    inner = wanted
    for part in path[:-1]:
        inner = inner.setdefault(part, {})
        if not isinstance(inner, dict):
            raise BadUsage(f"{part} is not a table in the settings file")
    inner[path[-1]] = value
    return _first_good(_ways_to_set(text, list(path), value, wanted), wanted)


def unset_key(text: str, path: Sequence[str]) -> str:
    """Return the text without a key or a table. Raises `BadUsage`."""
    wanted = parse(text)
    inner = wanted
    for part in path[:-1]:
        inner = inner.get(part, {})
        if not isinstance(inner, dict):
            return text
    if path[-1] not in inner:
        return text
    was = inner.pop(path[-1])
    return _first_good(_ways_to_unset(text, list(path), was, wanted), wanted)


def _first_good(ways: Iterator[str], wanted: dict[str, Any]) -> str:
    for changed in ways:
        try:
            if _without_empty(parse_toml(changed)) == _without_empty(wanted):
                return changed
        except (ValueError, RecursionError):
            continue
    raise BadUsage("the settings file is written in a way that cannot be changed safely; edit it by hand")


def _without_empty(tree: dict[str, Any]) -> dict[str, Any]:
    """Leave out empty tables, which set nothing."""
    kept = {key: _without_empty(value) if isinstance(value, dict) else value for key, value in tree.items()}
    return {key: value for key, value in kept.items() if value != {}}


def _ways_to_set(text: str, path: list[str], value: Any, wanted: dict[str, Any]) -> Iterator[str]:
    if text and not text.endswith("\n"):
        text += "\n"
    read = _read(text)
    for one in read.statements:
        if one.path == path:
            yield _replaced(read.lines, one, value)
        elif one.path == path[: len(one.path)]:  # an inline table
            yield _replaced(read.lines, one, _at(wanted, one.path))
    line = f"{written_key(path[-1])} = {inline(value)}\n"
    for table, begin, end in read.tables:
        if table == path[:-1]:
            yield _inserted(read.lines, _place(read, begin, end, path[-1]), line)
    for one in read.statements:  # beside a dotted key
        if len(one.path) > 1 and one.path[:-1] == path[:-1]:
            dotted = ".".join(written_key(part) for part in path)
            yield _inserted(read.lines, one.end, f"{dotted} = {inline(value)}\n")
    if len(path) == 1:
        yield line + text
    else:
        yield add_table(text, path[:-1], {path[-1]: value}, checked=False)


def _ways_to_unset(text: str, path: list[str], was: Any, wanted: dict[str, Any]) -> Iterator[str]:
    read = _read(text)
    for one in read.statements:
        if one.path == path:
            yield "".join([*read.lines[: one.begin], *read.lines[one.end :]])
        elif one.path == path[: len(one.path)]:
            yield _replaced(read.lines, one, _at(wanted, one.path))
    if isinstance(was, dict):
        yield remove_table(text, path)


def _at(tree: dict[str, Any], path: Sequence[str]) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _read(text: str) -> _Text:
    """Find the statements and tables. A value may have several lines."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # `splitlines` also splits at characters that a value may have
    statements, tables = list[_Statement](), [(list[str](), 0, len(lines))]
    place = 0
    while place < len(lines):
        header = KEY_HEADER.fullmatch(lines[place].rstrip("\r\n"))
        setting = _SETTING.match(lines[place])
        end = place + 1
        if header and not setting:
            tables[-1] = (*tables[-1][:2], place)
            tables.append((split_key(header[1]), end, len(lines)))
        elif setting:
            while not _is_whole(lines[place:end]) and end < min(len(lines), place + _LONGEST):
                end += 1
            statements.append(_Statement(place, end, tables[-1][0] + split_key(setting[2])))
        place = end
    return _Text(lines, statements, tables)


def _is_whole(lines: Sequence[str]) -> bool:
    try:
        parse_toml("".join(lines))
    except (ValueError, RecursionError):
        return False
    return True


def _replaced(lines: list[str], one: _Statement, value: Any) -> str:
    """Replace the value of a statement; its key and the comment after it stay as they are."""
    whole = "".join(lines[one.begin : one.end])
    setting = _SETTING.match(whole)
    assert setting
    comment = ""
    for mark in re.finditer(r"[ \t]*#", whole):  # a # before the end of the value is part of it
        if mark.start() >= setting.end() and _is_whole([whole[: mark.start()]]):
            comment = whole[mark.start() :].rstrip("\r\n")
            break
    return "".join([*lines[: one.begin], f"{setting[0]} {inline(value)}{comment}\n", *lines[one.end :]])


def _place(read: _Text, begin: int, end: int, name: str) -> int:
    """Return the line for a new key of a table: after its commented default, else after the last key."""
    shown = re.compile(rf"\s*#\s*{re.escape(name)}\s*=")
    for place in range(begin, end):
        if shown.match(read.lines[place]) and not any(one.begin <= place < one.end for one in read.statements):
            return place + 1
    inside = [one.end for one in read.statements if begin <= one.begin < end]
    if inside or read.tables[0][2] != end or begin:
        return max(inside, default=begin)
    while end > 0 and read.lines[end - 1].startswith("#"):  # comments that belong to the first table
        end -= 1
    return end


def _inserted(lines: list[str], place: int, line: str) -> str:
    return "".join([*lines[:place], line, *lines[place:]])
