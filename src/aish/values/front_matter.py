"""Read Markdown files with front matter, as people write them: fields between two lines `---`, and the text below.

Pure: text in, fields, text and problems out; nothing here raises. The fields are the usual part of YAML: mappings,
lists, quoted, plain and block texts over several lines, `[a, b]` and `{a: b}`. There are no anchors and no tags. What
is not valid YAML but clear (a colon in a plain text, `paths: *.py`) is read as text, and a field that cannot be read
does not take the others with it.
"""

import re
from typing import Any

from aish.values.flow_text import closing_quote, plain_value, read_flow, unquoted
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

MOST_CHARS = 1 << 16  # of the front matter; nothing longer is written for a person
_DEEPEST = 20
_LONGEST_NAME = 200
_MOST_PROBLEMS = 10
_BLOCK = pattern(r"([|>])(?:([1-9])?([+-])?|([+-])([1-9]))\s*(?:#.*)?")


class FrontMatter(NamedTuple):
    """What a file says about itself, and its text.

    Names of fields are in lower case with underscores: `allowed-tools` is `allowed_tools`. Values are texts (numbers
    too), booleans, None, lists and mappings. Each problem is one line that says what to do.
    """

    fields: dict[str, Any]
    body: str
    problems: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """Return a field as one text; "" if it is missing or not a text."""
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) else ""

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list, or a text with commas or blanks between words; `Tool(a, b)` is one word."""
        value = self.fields.get(name)
        if isinstance(value, str):
            value = _split_words(value)
        if not isinstance(value, list):
            return ()
        return tuple(one.strip() for one in value if isinstance(one, str) and one.strip())


def read_front_matter(text: str) -> FrontMatter:
    """Read a file. Without front matter, all of it is the body."""
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != "---":
        return FrontMatter({}, text, ("no front matter: begin the file with a line ---, fields, and a line ---",))
    ends = (at for at in range(start + 1, len(lines)) if lines[at].rstrip() in ("---", "..."))
    end = next(ends, None)
    if end is None:
        return FrontMatter({}, text, ("the front matter has no end: add a line --- after its fields",))
    head, body = lines[start + 1 : end], "\n".join(lines[end + 1 :]).lstrip("\n")
    if sum(map(len, head)) > MOST_CHARS:
        problem = f"the front matter is too long to be read: shorten it to {MOST_CHARS:,} characters"
        return FrontMatter({}, body, (problem,))
    reader = _Reader(head, start + 2)
    fields = reader.fields()
    problems = reader.problems
    if len(problems) > _MOST_PROBLEMS:
        problems = [*problems[:_MOST_PROBLEMS], f"{len(problems) - _MOST_PROBLEMS} more problems in the front matter"]
    return FrontMatter(fields, body, tuple(problems))


class _Unreadable(Exception):
    """Why a field cannot be read."""


class _Reader:
    """The lines of the front matter, and the current position."""

    def __init__(self, lines: list[str], first: int) -> None:
        self._lines, self._first = lines, first
        self._at = 0
        self.problems: list[str] = []

    def fields(self) -> dict[str, Any]:
        """Read all top-level fields; a field that cannot be read is a problem."""
        found: dict[str, Any] = {}
        while self._at < len(self._lines):
            line, number = self._lines[self._at], self._first + self._at
            key = None if line[:1] in (" ", "\t") else _split_key(line.rstrip())
            self._at += 1
            if _is_blank(line):
                continue
            if key is None:
                self.problems.append(f"line {number} is not a field: write it as name: value")
                continue
            name = key[0].strip().lower().replace("-", "_")
            if name in found:
                self.problems.append(f"line {number}: {_short(key[0])} is there twice, and the last one counts")
            try:
                found[name] = self._value(key[1], 0, 0)
            except _Unreadable as error:
                self.problems.append(f"line {number}: {_short(key[0])} cannot be read: {error}")
                self._skip_below()
        return found

    def _skip_below(self) -> None:
        """Go to the next line that starts in the first column."""
        while self._at < len(self._lines) and self._lines[self._at][:1] in (" ", "\t", "", "-", "#"):
            self._at += 1

    def _value(self, rest: str, indent: int, depth: int) -> Any:
        """Read the value of a key or list item in this column: `rest` of its line, or the lines below."""
        rest = rest.strip()
        if block := _BLOCK.fullmatch(rest):
            return self._block_text(block, indent)
        if rest and not rest.startswith("#"):
            return self._inline(rest, indent, depth)
        at = self._next()
        if at is None:
            return None
        column = _indent(self._lines[at])
        is_list = _is_item(self._lines[at][column:])
        if column > indent or (column == indent and is_list):
            self._at = at
            return self._node(column, depth + 1)
        return None

    def _node(self, column: int, depth: int) -> Any:
        """Read the list, mapping or text that starts in this column of the current line."""
        if depth > _DEEPEST:
            raise _Unreadable("it is nested too deeply")
        line = self._lines[self._at][column:].rstrip()
        if _is_item(line):
            return self._list(column, depth)
        if line[:1] not in "[{" and _split_key(line) is not None:
            return self._mapping(column, depth)
        self._at += 1
        return self._inline(line, column - 1, depth)

    def _list(self, column: int, depth: int) -> list[Any]:
        found = []
        while (at := self._next()) is not None and _indent(self._lines[at]) == column:
            line = self._lines[at][column:].rstrip()
            if not _is_item(line):
                break
            self._at = at
            rest = line[1:].lstrip(" ")
            inner = column + len(line) - len(rest)
            if _is_item(rest) or (rest[:1] not in "[{" and _split_key(rest) is not None):
                self._lines[at] = " " * inner + rest  # read on as if the dash were not there
                found.append(self._node(inner, depth + 1))
            else:
                self._at += 1
                found.append(self._value(rest, column, depth))
        return found

    def _mapping(self, column: int, depth: int) -> dict[str, Any]:
        found = {}
        while (at := self._next()) is not None and _indent(self._lines[at]) == column:
            key = _split_key(self._lines[at][column:].rstrip())
            if key is None:
                raise _Unreadable(f"line {self._first + at} is not name: value")
            self._at = at + 1
            found[key[0].strip()] = self._value(key[1], column, depth)
        if at is not None and _indent(self._lines[at]) > column:
            raise _Unreadable(f"line {self._first + at} has more blanks in front than the lines above")
        return found

    def _next(self) -> int | None:
        """Return the next line that is not blank."""
        return next((at for at in range(self._at, len(self._lines)) if not _is_blank(self._lines[at])), None)

    def _inline(self, rest: str, indent: int, depth: int) -> Any:
        """Read a value that starts on this line and may go on below."""
        if rest[0] in "\"'" and (quoted := self._quoted(rest)) is not None:
            return quoted
        if rest[0] in "[{" and (flow := self._flow(rest, indent, depth)) is not None:
            return flow[0]
        return plain_value(self._plain(rest, indent))

    def _plain(self, rest: str, indent: int) -> str:
        """Read a text without quotes: lines further to the right belong to it."""
        parts, blanks = [_without_comment(rest)], 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                blanks += 1
            elif _indent(line) <= indent:
                break
            elif not line.lstrip().startswith("#"):
                parts += ["\n" * blanks if blanks else " ", _without_comment(line.strip())]
                blanks = 0
            self._at += 1
        return "".join(parts).strip()

    def _quoted(self, rest: str) -> str | None:
        """Read a text in quotes, which may go on below; None if the quotes do not enclose all of it."""
        mark, at = rest[0], self._at
        parts, position = [rest], closing_quote(rest, 1, mark)
        while position is None and at < len(self._lines):
            parts.append(self._lines[at].strip())
            position = closing_quote(parts[-1], 0, mark)
            at += 1
        if position is None:
            return None
        after = parts[-1][position + 1 :].strip()
        if after and not after.startswith("#"):
            return None
        self._at = at
        parts[-1] = parts[-1][:position]
        parts[0] = parts[0][1:]
        text = parts[0] if len(parts) == 1 else _folded(parts)
        return unquoted(text, mark)

    def _flow(self, rest: str, indent: int, depth: int) -> tuple[Any] | None:
        """Read `[a, b]` or `{a: b}`, also over several lines; None if it is a text that only starts so."""
        parts = [rest]
        for at in range(self._at, len(self._lines)):
            line = self._lines[at]
            if line.strip() and _indent(line) <= indent and line.lstrip()[0] not in "]}":
                break
            parts.append(_without_comment(line.strip()))
        flow = read_flow(" ".join(parts), _DEEPEST - depth)
        if flow is None:
            raise _Unreadable("it is nested too deeply")
        value, end = flow
        if end < 0:
            return None
        used = 0
        while end > len(parts[used]):
            end -= len(parts[used]) + 1
            used += 1
        after = parts[used][end:].strip()
        if after and not after.startswith("#"):
            return None
        self._at += used
        return (value,)

    def _block_text(self, block: re.Match[str], indent: int) -> str:
        """Read a text after | or >."""
        start, column = self._at, indent + int(block[2] or block[5]) if block[2] or block[5] else 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip():
                column = column or max(_indent(line), indent + 1)
                if _indent(line) < column:
                    break
            self._at += 1
        lines = [line[column:].rstrip() for line in self._lines[start : self._at]]
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(lines) if block[1] == "|" else _folded_block(lines)


def _split_key(line: str) -> tuple[str, str] | None:
    """Split `name: value`; None if the line does not start with a name and a colon."""
    if not line or line[0] in "#,[]{}|>%@`&*!?" or line.startswith("- "):
        return None
    if line[0] in "\"'":
        end = closing_quote(line, 1, line[0])
        if end is None or line[end + 1 : end + 2] != ":" or line[end + 2 : end + 3].strip():
            return None
        return line[1:end], line[end + 2 :]
    at = line.find(":")
    while at >= 0 and line[at + 1 : at + 2].strip():
        at = line.find(":", at + 1)
    return (line[:at], line[at + 1 :]) if 0 < at <= _LONGEST_NAME else None


def _folded(parts: list[str]) -> str:
    """Join the lines of a quoted text: one line break is a blank, each further one stays."""
    text, breaks = parts[0].rstrip(), 0
    for part in parts[1:]:
        breaks += 1
        if part:
            text += ("\n" * (breaks - 1) or " ") + part
            breaks = 0
    return text + (" " if breaks else "")


def _folded_block(lines: list[str]) -> str:
    """Join the lines of a text after >: indented lines keep their line breaks."""
    parts: list[str] = []
    breaks, before = 0, ""
    for line in lines:
        if line and parts:
            free = line[0] in " \t" or before[:1] in (" ", "\t")
            parts.append("\n" * (breaks + 1) if free else "\n" * breaks or " ")
        if line:
            parts.append(line)
            breaks, before = 0, line
        else:
            breaks += 1
    return "".join(parts)


def _split_words(text: str) -> list[str]:
    """Split at commas and blanks outside of parentheses."""
    words, depth = [""], 0
    for letter in text:
        depth = max(depth + (letter == "(") - (letter == ")"), 0)
        if depth == 0 and (letter == "," or letter.isspace()):
            words.append("")
        else:
            words[-1] += letter
    return words


def _without_comment(text: str) -> str:
    at = 0 if text.startswith("#") else text.find(" #")
    return text if at < 0 else text[:at].rstrip()


def _is_blank(line: str) -> bool:
    bare = line.strip()
    return not bare or bare.startswith("#")


def _is_item(line: str) -> bool:
    return line.startswith("- ") or line == "-"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
