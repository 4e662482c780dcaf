"""Markdown split into blocks, without losing a byte.

Pure: text in, blocks out. What a list item is follows CommonMark.
"""

import re

from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

ENTRY, HEADING, PROSE, BLANK, HIDDEN, OPEN = "entry", "heading", "prose", "blank", "hidden", "open"

BULLET = pattern(r"( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|(?=[\r\n]|\Z))")
_HEADING = pattern(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_UNDERLINE = pattern(r" {0,3}(=+|-+)[ \t]*\Z")
_FENCE = pattern(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_RULE = pattern(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*\Z")
_COMMENT = pattern(r" {0,3}<!--")
_SPECIAL = frozenset("#`~<>-*+_0123456789")  # the first letters of lines that may end a paragraph


class MarkdownBlock(NamedTuple):
    """A part of the text. `raw` is the text itself; all blocks joined are the whole text.

    entry    a list item at the top level, with everything that belongs to it
    heading  a heading, with its title and level
    prose    a paragraph, a quotation, a table, code
    blank    empty lines
    hidden   front matter, a comment, a horizontal rule
    open     code or a comment that never ends; always the last block
    """

    kind: str
    raw: str
    title: str = ""
    level: int = 0


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends. Only a newline ends a line; `str.splitlines` knows more ends than Markdown."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def split(text: str) -> list[MarkdownBlock]:
    """Split a text into its blocks."""
    lines, found, at = lines_of(text), list[MarkdownBlock](), 0
    if lines and lines[0].startswith("\ufeff"):  # a byte order mark is not part of the first line
        found.append(MarkdownBlock(HIDDEN, "\ufeff"))
        lines = lines_of(text[1:])
    bare = [line.rstrip("\r\n") for line in lines]
    while at < len(lines):
        kind, end, title, level = _front_matter(bare) if at == 0 else ("", 0, "", 0)
        if not end:
            kind, end, title, level = _next(bare, at)
        found.append(MarkdownBlock(kind, "".join(lines[at:end]), title, level))
        at = end
    return found


def _next(lines: list[str], at: int) -> tuple[str, int, str, int]:
    """Return the block that starts at a line: kind, end, title and level."""
    line = lines[at]
    if not line.strip():
        end = at + 1
        while end < len(lines) and not lines[end].strip():
            end += 1
        return BLANK, end, "", 0
    if found := _HEADING.match(line):
        return HEADING, at + 1, _title(line[found.end() :].strip()), len(found[1])
    if found := _FENCE.match(line):
        end, closed = _fence_end(lines, at, found[1])
        return (PROSE if closed else OPEN), end, "", 0
    if _COMMENT.match(line):
        end, closed = _comment_end(lines, at)
        return (HIDDEN if closed else OPEN), end, "", 0
    if _RULE.match(line):
        return HIDDEN, at + 1, "", 0
    if found := BULLET.match(line):
        return ENTRY, _entry_end(lines, at, offset(found)), "", 0
    return _paragraph(lines, at)


def _title(text: str) -> str:
    """Return the title of a heading without the number signs that may end it."""
    bare = text.rstrip("#")
    return bare.rstrip() if bare == "" or bare.endswith((" ", "\t")) else text


def _front_matter(lines: list[str]) -> tuple[str, int, str, int]:
    """Return the block of settings at the start of a file, if there is one."""
    if lines[0].rstrip() == "---":
        for place, line in enumerate(lines[1:], start=1):
            if line.rstrip() in ("---", "..."):
                return HIDDEN, place + 1, "", 0
    return "", 0, "", 0


def _fence_end(lines: list[str], at: int, fence: str) -> tuple[int, bool]:
    """Return the end of a code block, and whether its last line ends it."""
    for place in range(at + 1, len(lines)):
        line = lines[place].strip()
        if len(line) >= len(fence) and not line.strip(fence[0]) and indentation(lines[place]) < 4:
            return place + 1, True
    return len(lines), False


def _comment_end(lines: list[str], at: int) -> tuple[int, bool]:
    start = lines[at].index("<!--") + 2
    for place in range(at, len(lines)):
        if "-->" in lines[place][start:]:
            return place + 1, True
        start = 0
    return len(lines), False


def _paragraph(lines: list[str], at: int) -> tuple[str, int, str, int]:
    """Return the paragraph that starts at a line, or the heading if it is underlined."""
    for end in range(at + 1, len(lines)):
        line = lines[end]
        if not line.strip():
            return PROSE, end, "", 0
        underline = _UNDERLINE.match(line)
        if underline and indentation(lines[at]) < 4 and lines[at].lstrip()[:1] != ">":
            title = " ".join(part.strip() for part in lines[at:end])
            return HEADING, end + 1, title, 1 if underline[1][0] == "=" else 2
        if _interrupts(line):
            return PROSE, end, "", 0
    return PROSE, len(lines), "", 0


def _interrupts(line: str) -> bool:
    """Does this line end the paragraph before it?"""
    first = line.lstrip(" ")[:1]
    if first not in _SPECIAL:
        return False
    if any(rule.match(line) for rule in (_HEADING, _FENCE, _COMMENT, _RULE)):
        return True
    bullet = BULLET.match(line)
    return bullet is not None and line[bullet.end() :].strip() != "" and (bullet[2] in "-*+" or bullet[2][:-1] == "1")


def _entry_end(lines: list[str], at: int, width: int) -> int:
    """Return the end of a list item. Blank lines belong to it only if something of it follows."""
    end, fence, lazy = at + 1, "", True
    inside = _FENCE.match(lines[at][BULLET.match(lines[at]).end() :])  # type: ignore[union-attr]  # the caller matched it
    if inside:
        fence = inside[1]
    elif not BULLET.sub("", lines[at], count=1).strip():
        lazy = False
    for place in range(at + 1, len(lines)):
        line = lines[place]
        if not line.strip():
            if place == at + 1 and not lazy and not fence:
                return end  # an item that starts with a blank line is empty
            lazy = False
            continue
        if indentation(line) >= width:
            content = dedented(line, width)
            if fence:
                text = content.strip()
                if len(text) >= len(fence) and not text.strip(fence[0]):
                    fence, lazy = "", False
            elif opened := _FENCE.match(content):
                fence = opened[1]
            else:
                lazy = not _HEADING.match(content) and not _COMMENT.match(content)
        elif fence or not lazy or _ends_item(line):
            return end
        end = place + 1
    return end


def _ends_item(line: str) -> bool:
    """Does this line, which is not indented, end the list item before it?"""
    first = line.lstrip(" ")[:1]
    if indentation(line) > 3:
        return False
    return first in _SPECIAL and (
        first in "<>" or BULLET.match(line) is not None or any(rule.match(line) for rule in (_HEADING, _FENCE, _RULE))
    )


def offset(bullet: re.Match[str]) -> int:
    """Return the column where the content of a list item starts."""
    lead = len(bullet[1]) + len(bullet[2])
    blanks = indentation(" " * lead + bullet[3] + ".") - lead
    return lead + (blanks if 1 <= blanks <= 4 else 1)


def indentation(line: str) -> int:
    """Return the number of columns before the first letter. A tab goes to the next multiple of four."""
    if line[:1] not in (" ", "\t"):
        return 0
    columns = 0
    for letter in line:
        if letter == " ":
            columns += 1
        elif letter == "\t":
            columns += 4 - columns % 4
        else:
            break
    return columns


def dedented(line: str, width: int) -> str:
    """Return the line without up to `width` columns of blanks."""
    columns = place = 0
    while place < len(line) and columns < width and line[place] in " \t":
        columns += 4 - columns % 4 if line[place] == "\t" else 1
        place += 1
    return line[place:]
