"""Render a `pyte` terminal screen as SVG.

Text stays text, so that it can be selected, searched and read aloud. Each run of text is stretched to the width of its
cells on the screen, so that columns line up in any monospace font.

Pure: no disk, no clock, no font files.
"""

from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import groupby
from typing import NamedTuple

import pyte

CELL, LINE, FONT = 9, 18, 15  # cell width, cell height, font size
MARGIN, BAR = 16, 34  # space around the text, and height of the title bar
PAPER, FRAME, EDGE, INK, FAINT = "#1c2128", "#2d333b", "#545d68", "#d5dbe2", "#8b949e"
LIGHTS = ("#f47067", "#daaa3f", "#57ab5a")
FONTS = "ui-monospace, 'SF Mono', SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

# `brown` is pyte's name for yellow. All colours are readable on the background; bright ones are lighter.
COLORS = {
    "black": "#6e7681",
    "red": "#f47067",
    "green": "#6bc46d",
    "brown": "#daaa3f",
    "blue": "#6cb6ff",
    "magenta": "#dcbdfb",
    "cyan": "#56d4dd",
    "white": "#d5dbe2",
    "brightblack": "#8b949e",
    "brightred": "#ff938a",
    "brightgreen": "#8ddb8c",
    "brightbrown": "#eac55f",
    "brightblue": "#96d0ff",
    "brightmagenta": "#eedcff",
    "brightcyan": "#76e3ea",
    "brightwhite": "#ffffff",
}
_DIM, _NOT_BOLD, _BLINK, _NO_BLINK = 2, 22, 5, 25
_COLOR_CODES = (38, 48)  # codes that are followed by a colour
_COLOR_LENGTH = {2: 4, 5: 2}


class Display(pyte.Screen):
    """A screen that answers cursor position requests, as terminals do, and supports faint text.

    pyte has no attribute for faint text, so it is stored as blinking text, which nothing uses.
    """

    def __init__(self, columns: int, rows: int, reply: Callable[[str], object] = str) -> None:
        self._reply = reply
        super().__init__(columns, rows)

    def write_process_input(self, data: str) -> None:
        self._reply(data)

    def select_graphic_rendition(self, *codes: int) -> None:
        super().select_graphic_rendition(*_faint_as_blinking(list(codes)))


def _faint_as_blinking(codes: list[int]) -> Iterator[int]:
    while codes:
        code = codes.pop(0)
        if code in _COLOR_CODES and codes:
            length = _COLOR_LENGTH.get(codes[0], 0)
            yield from (code, *codes[:length])
            del codes[:length]
        elif code == _NOT_BOLD:
            yield from (_NOT_BOLD, _NO_BLINK)
        elif code != _BLINK:
            yield _BLINK if code == _DIM else code


class Style(NamedTuple):
    """How cells look; `paper` is empty where the window background is visible."""

    ink: str
    paper: str
    bold: bool
    faint: bool
    italic: bool
    lines: str  # underline, line-through, both or none


class Cell(NamedTuple):
    """A character and its width in columns."""

    text: str
    columns: int
    style: Style


def picture(screen: pyte.Screen, title: str) -> str:
    """Draw a screen in a window that is as high as its content."""
    rows = [list(_cells(screen, number)) for number in range(_height(screen))]
    width = screen.columns * CELL + 2 * MARGIN
    height = BAR + 2 * MARGIN + LINE * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{FONTS}" font-size="{FONT}" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        *_window(width, height, title),
    ]
    for number, row in enumerate(rows):
        top = BAR + MARGIN + LINE * number
        parts += [*_papers(row, top), *_text(row, top)]
    return "\n".join([*parts, *_cursor(screen), "</svg>"]) + "\n"


def _height(screen: pyte.Screen) -> int:
    """Return the number of used lines, including the one with the cursor."""
    used = [number for number, line in enumerate(screen.display, start=1) if line.strip()]
    return max([*used, 0 if screen.cursor.hidden else screen.cursor.y + 1])


def _cells(screen: pyte.Screen, number: int) -> Iterator[Cell]:
    """Yield the characters of a line. A wide character is followed by an empty cell, which is skipped."""
    line = [screen.buffer[number][column] for column in range(screen.columns)]
    for char, after in zip(line, [*line[1:], None], strict=True):
        if char.data:
            yield Cell(char.data, 2 if after and not after.data else 1, _style(char))


def _style(char: pyte.screens.Char) -> Style:
    ink, paper = _color(char.fg) or INK, _color(char.bg)
    if char.reverse:
        ink, paper = paper or PAPER, ink
    lines = [name for name, there in (("underline", char.underscore), ("line-through", char.strikethrough)) if there]
    return Style(ink, paper, char.bold, char.blink, char.italics, " ".join(lines))


def _color(name: str) -> str:
    """Convert a pyte colour (a name or six digits) to SVG; empty for the default colour."""
    if name == "default":
        return ""
    name = name.replace("bfight", "bright")  # a typo in pyte's colour names
    return COLORS.get(name) or f"#{name}"


def _window(width: int, height: int, title: str) -> Iterator[str]:
    """Draw the frame. Its edge is visible on light and on dark pages."""
    yield f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9" fill="{FRAME}" stroke="{EDGE}"/>'
    yield f'<path d="M1 {BAR}H{width - 1}V{height - 9}q0 8-8 8H9q-8 0-8-8Z" fill="{PAPER}"/>'
    for place, color in enumerate(LIGHTS):
        yield f'<circle cx="{20 + 20 * place}" cy="{BAR // 2}" r="6" fill="{color}"/>'
    yield f'<text x="{width // 2}" y="{BAR // 2 + 5}" text-anchor="middle" fill="{FAINT}">{escape(title)}</text>'


def _papers(row: Iterable[Cell], top: int) -> Iterator[str]:
    """Draw the backgrounds of selected entries, toolbars and code."""
    for column, columns, cells in _pieces(row, lambda cell: cell.style.paper):
        if cells[0].style.paper:
            x, width = MARGIN + column * CELL, columns * CELL
            yield f'<rect x="{x}" y="{top}" width="{width}" height="{LINE}" fill="{cells[0].style.paper}"/>'


def _text(row: list[Cell], top: int) -> Iterator[str]:
    """Draw a line as one text element, with a span for each run of cells with the same style."""
    while row and row[-1].text == " ":
        row = row[:-1]
    spans = [
        f'<tspan x="{MARGIN + column * CELL}" textLength="{columns * CELL}" lengthAdjust="spacingAndGlyphs"'
        f"{_attributes(cells[0].style)}>{escape(''.join(cell.text for cell in cells), quote=False)}</tspan>"
        for column, columns, cells in _pieces(row, lambda cell: (cell.style, cell.columns))
    ]
    if spans:
        yield f'<text y="{top + LINE - 5}" xml:space="preserve">{"".join(spans)}</text>'


def _pieces(row: Iterable[Cell], key: Callable[[Cell], object]) -> Iterator[tuple[int, int, list[Cell]]]:
    """Group neighbours with the same key: yield the first column, the number of columns and the cells."""
    column = 0
    for _, group in groupby(row, key):
        cells = list(group)
        columns = sum(cell.columns for cell in cells)
        yield column, columns, cells
        column += columns


def _attributes(style: Style) -> str:
    """Return the SVG attributes that differ from the defaults."""
    wanted = {
        "fill": style.ink if style.ink != INK else "",
        "font-weight": "bold" if style.bold else "",
        "font-style": "italic" if style.italic else "",
        "fill-opacity": "0.6" if style.faint else "",
        "text-decoration": style.lines,
    }
    return "".join(f' {name}="{value}"' for name, value in wanted.items() if value)


def _cursor(screen: pyte.Screen) -> Iterator[str]:
    """Draw the cursor as a transparent block."""
    if not screen.cursor.hidden:
        x, y = MARGIN + min(screen.cursor.x, screen.columns - 1) * CELL, BAR + MARGIN + screen.cursor.y * LINE
        yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{LINE}" fill="{INK}" fill-opacity="0.5"/>'
