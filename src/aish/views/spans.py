"""Styled text: neutralise it, measure it in cells, wrap it to a width, and paint it for a terminal.

Pure: text in, lines out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from wcwidth import wcwidth

from aish.values.named_tuple import NamedTuple
from aish.values.text import OWN_SIGNS, for_terminal, foreign

# Characters without width or glyph, which can hide what a text says.
_UNSEEN = [0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x180F), 0x200B, 0x2028, 0x2029]
_UNSEEN += [*range(0x2060, 0x2066), *range(0x206A, 0x2070), 0x2800, 0x3164, 0xFEFF, 0xFFA0, *range(0xFFF0, 0xFFFC)]
_UNSEEN += range(0xE0000, 0xE1000)
_REPLACED = dict.fromkeys(_UNSEEN, 0xFFFD)
# Joiners, direction marks and variation selectors belong to some scripts and emoji; after ASCII they can hide text.
_MISPLACED = r"(?<![^\x00-\x7f\ufffd])(?<![0-9#*](?=\ufe0f))[\u061c\u200c-\u200f\ufe00-\ufe0f]"
_UNSURE = r"[\u0300-\u036f\u0483-\u0489\u0590-\u1fff\u200c-\u200f\u20d0-\u20ff\ufe00-\ufe0f\U0001f000-\U0010ffff]"
_CLOSING = frozenset("、。，．！？：；）」』】〉》”’")  # closing punctuation; a line must not start with it


class StyledSpan(NamedTuple):
    """Text in one style: the parameters of an SGR sequence such as `1;36`, or ""."""

    text: str
    style: str = ""


class StyledLine(NamedTuple):
    """A line that takes `rows` rows of the window. An unfinished line has an empty `end`."""

    text: str = ""
    rows: int = 1
    end: str = "\n"


def harmless(text: str) -> str:
    """Make characters visible that could control the terminal, reverse the text direction, hide text or forge it."""
    if text.isascii():
        return for_terminal(text)
    return re.sub(_MISPLACED, "\ufffd", foreign(text).translate(_REPLACED))


def exact(text: str) -> list[StyledSpan]:
    """Return a command exactly as it is, with invisible characters as highlighted escapes."""
    if text.isascii() and text.isprintable():
        return [StyledSpan(text)]
    marked = "".join(
        "\0" + letter.encode("unicode_escape").decode("ascii") + "\0" if _is_odd(letter) else letter for letter in text
    )
    parts = marked.replace("\0\0", "").split("\0")
    return [StyledSpan(part, "7" if place % 2 else "") for place, part in enumerate(parts) if part]


def _is_odd(letter: str) -> bool:
    return not letter.isprintable() or ord(letter) in _REPLACED or letter in OWN_SIGNS or _cells_of(letter) == 0


@lru_cache(maxsize=4096)
def _cells_of(letter: str) -> int:
    """Return the cells of one character. The emoji selector counts as one, because many terminals draw emoji wide."""
    return 1 if letter == "\ufe0f" else max(wcwidth(letter), 0)


def cells(text: str) -> int:
    """Return the maximum number of columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def rows(text: str, width: int) -> int:
    """Return the number of rows of a text that the terminal wraps, with tabs and wide characters."""
    if text.isascii() and "\t" not in text:
        return max(-(-len(text) // width), 1)
    return max((row for row, _ in _positions(text, width)), default=1)


def redrawable(text: str, width: int) -> int:
    """Return how many characters from the start of a line can be redrawn, because their row count is certain.

    Terminals disagree on the width of combining marks and emoji: a line with one of these must stay on one row.
    """
    if not text.isascii() and (unsure := re.search(_UNSURE, text)):
        for place, (row, column) in enumerate(_positions(text, width)):
            if place >= unsure.start() and (row > 1 or column > width - 2):
                return min(place, 2 * width)
    return min(len(text), 2 * width)


def _positions(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the row and column after each character, as the terminal wraps the text."""
    row, column = 1, 0
    for letter in text:
        if letter == "\t":
            column = max(min(column + 8 - column % 8, width - 1), column)
        else:
            size = _cells_of(letter)
            if column + size > width:
                row, column = row + 1, 0
            column += size
        yield row, column


def paint(spans: Iterable[StyledSpan], *, color: bool = True) -> str:
    """Join the spans into one text. Neighbours with the same style share one escape sequence, which is closed."""
    out: list[str] = []
    joined: list[StyledSpan] = []
    for span in spans:
        if joined and joined[-1].style == span.style:
            joined[-1] = StyledSpan(joined[-1].text + span.text, span.style)
        else:
            joined.append(span)
    for text, style in joined:
        out.append(f"\x1b[{style}m{text}\x1b[0m" if style and color and text else text)
    return "".join(out)


def wrap(
    spans: Sequence[StyledSpan], width: int, first: Sequence[StyledSpan] = (), rest: Sequence[StyledSpan] = ()
) -> list[list[StyledSpan]]:
    """Wrap the spans between words into lines of at most `width` cells. `first` and `rest` are the line prefixes.

    A line never depends on text after the first word of the next line, so finished lines stay stable.
    """
    text = "".join(span.text for span in spans)
    places = _lines(text, max(width - size_of(first), 2), max(width - size_of(rest), 2))
    lines: list[list[StyledSpan]] = []
    number, before = 0, 0  # the current span, and the number of characters before it
    for start, end in places:
        line = list(rest if lines else first)
        while number < len(spans) and before < end:
            text, style = spans[number]
            if part := text[max(start - before, 0) : end - before]:
                line.append(StyledSpan(part, style))
            if before + len(text) > end:
                break  # the rest of the span goes to the next line
            number, before = number + 1, before + len(text)
        lines.append(line)
    return lines


def _lines(text: str, room: int, more: int) -> list[tuple[int, int]]:
    """Return where lines start and end. The first has `room` cells, the others `more`. Outer spaces are dropped."""
    lines: list[tuple[int, int]] = []
    start = end = used = 0
    for match in re.finditer(r"\n| +|[^ \n]+", text):
        chunk, at = match[0], match.start()
        if chunk == "\n":
            lines.append((start, end))
            start, end, used, room = match.end(), match.end(), 0, more
        if chunk[0] in " \n":
            continue
        for unit in [chunk] if chunk.isascii() else _units(chunk):
            size = cells(unit)
            if end > start and used + at - end + size > room:
                lines.append((start, end))
                start, end, used, room = at, at, 0, more
            if end == start:
                start = end = at
            while size > room:  # longer than a line
                fitting = _fitting(unit, room)
                lines.append((at, at + fitting))
                start = end = at = at + fitting
                unit, size, room = unit[fitting:], size - cells(unit[:fitting]), more
            used += at - end + size
            end = at = at + len(unit)
    return [*lines, (start, end)]


def _units(chunk: str) -> Iterator[str]:
    """Yield unbreakable units: a run of narrow characters, or a wide one with its combining characters."""
    unit, wide = "", False
    for letter in chunk:
        size = _cells_of(letter)
        combines = size == 0 or letter == "\ufe0f" or letter in _CLOSING or unit.endswith("\u200d")
        if unit and not combines and (wide or size == 2):
            yield unit
            unit = ""
        wide = size == 2 or (wide and combines)
        unit += letter
    yield unit


def _fitting(unit: str, room: int) -> int:
    """Return how many characters fit, with the combining ones after the last; at least one."""
    used = place = 0
    for place, letter in enumerate(unit):
        used += _cells_of(letter)
        if used > room and place:
            return place
    return place + 1


def size_of(spans: Iterable[StyledSpan]) -> int:
    """Return how many columns the spans take together."""
    return sum(cells(span.text) for span in spans)
