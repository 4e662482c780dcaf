"""Read YAML as programs write it: block lists and mappings of plain, quoted and literal texts.

Pure: lines in, values out. This is not a full YAML reader: it has no anchors, no tags, and only literal texts may span
lines. A full reader would hold the whole file in memory; this one holds one list item.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from aish.memory.importers.fields import Oddities, parsed

_ESCAPES = dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_DEEPEST = 40


class Odd(Exception):
    """A form of YAML that is not supported."""


def block_lists(lines: Iterable[str], names: tuple[str, ...], most: int, odd: Oddities) -> Iterator[Any]:
    """Yield the items of the top-level lists with these names; items may have at most `most` characters."""
    inside, item, size = False, list[str](), 0
    for line in lines:
        is_top = bool(line[:1].strip()) and not line.startswith(("- ", "#"))
        begins = inside and line.lstrip(" ").startswith("- ") and (not item or _indent(line) <= _indent(item[0]))
        if begins or is_top:
            yield from _item(item, size > most, odd)
            item, size = [], 0
        if is_top:
            inside = line.partition(":")[0] in names
        elif begins or item:
            size += len(line) + 100  # an empty line takes memory, too
            if size <= most or not item:
                item.append(line)
    yield from _item(item, size > most, odd)


def _item(lines: list[str], too_long: bool, odd: Oddities) -> Iterator[Any]:
    if too_long:
        odd.add("a message that is too long")
    elif lines:
        try:
            yield from _Block(lines).node(_indent(lines[0]))
        except (Odd, ValueError, OverflowError):
            odd.add("a message in unsupported YAML")


class _Block:
    """The lines of one item, and the current position."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._depth = 0

    def node(self, indent: int) -> Any:
        """Read the list, mapping or text that starts in this column of the line."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Odd
        line = self._lines[self._at][indent:]
        if line.startswith("- ") or line == "-":
            value: Any = self._list(indent)
        elif _key().fullmatch(line):
            value = self._mapping(indent)
        else:
            self._at += 1
            value = self._text(line, indent - 2)
        self._depth -= 1
        return value

    def _list(self, indent: int) -> list[Any]:
        found = []
        while (line := self._line(indent)) is not None and (line.startswith("- ") or line == "-"):
            rest = line[1:].lstrip(" ")
            if rest:
                # Text after the dash is parsed as if the dash were not there.
                self._lines[self._at] = " " * (indent + len(line) - len(rest)) + rest
                found.append(self.node(indent + len(line) - len(rest)))
            else:
                self._at += 1
                found.append(self._below(indent, indent))
        return found

    def _mapping(self, indent: int) -> dict[str, Any]:
        found = {}
        while (line := self._line(indent)) is not None and (key := _key().fullmatch(line)):
            self._at += 1
            rest = key[2] or ""
            value = self._text(rest, indent) if rest else self._below(indent, indent - 1)
            found[str(_scalar(key[1]))] = value
        if line is not None and not line.startswith("-"):
            raise Odd
        return found

    def _below(self, indent: int, least: int) -> Any:
        """Read the value in the following lines, if they belong to it; a list may have the same indent as its key."""
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1
        if self._at == len(self._lines):
            return None
        line = self._lines[self._at]
        column = _indent(line)
        is_list = column > least and line[column:].startswith("-")
        return self.node(column) if column > indent or is_list else None

    def _line(self, indent: int) -> str | None:
        """Return the next line that is not empty, if it starts in this column."""
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1
        if self._at == len(self._lines) or _indent(self._lines[self._at]) < indent:
            return None
        if _indent(self._lines[self._at]) > indent:
            raise Odd
        return self._lines[self._at][indent:].rstrip()

    def _text(self, text: str, indent: int) -> Any:
        """Read a text on this line, or the literal text below it."""
        literal = _literal().fullmatch(text)
        return self._literal_text(literal, indent) if literal else _scalar(text)

    def _literal_text(self, literal: re.Match[str], indent: int) -> str:
        folded, hint, chomp = literal.groups()
        rest = self._lines[self._at :]
        column = indent + int(hint) if hint else next((_indent(line) for line in rest if line.strip()), 0)
        if column <= indent:
            column = indent + 1
        size = next((n for n, line in enumerate(rest) if line.strip() and _indent(line) < column), len(rest))
        self._at += size
        body = "\n".join(line[column:] for line in rest[:size])
        if folded == ">":
            body = re.sub(r"(?<=\S)\n(?=\S)", " ", body)
        return body if chomp == "+" else body.rstrip("\n")


def _scalar(text: str) -> Any:
    text = text.strip()
    if text.startswith('"'):
        if not re.fullmatch(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"\s*(?:#.*)?', text):
            raise Odd
        return re.sub(_ESCAPE, _character, text[1 : text.rindex('"')])
    if text.startswith("'"):
        if not re.fullmatch(r"'[^']*+(?>(?:''[^']*+)*)'\s*(?:#.*)?", text):
            raise Odd
        return text[1 : text.rindex("'")].replace("''", "'")
    if text.startswith(("[", "{")):
        return parsed(text) if parsed(text) is not None else text
    if text.startswith(("&", "*", "!", "|", ">")):
        raise Odd
    return _WORDS.get(text, text)


_ESCAPE = r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@functools.cache
def _key() -> re.Pattern[str]:
    """Match a key, and the text after its colon."""
    return re.compile(
        r"""("[^"\\]*+(?>(?:\\.[^"\\]*+)*)"|'[^']*+(?>(?:''[^']*+)*)'|[^\s"'#\-\[{&*!|>][^:]{0,200})\s*:(?:\s+(.*))?\s*"""
    )


@functools.cache
def _literal() -> re.Pattern[str]:
    return re.compile(r"([|>])([1-9]?)([+-]?)\s*(?:#.*)?")
