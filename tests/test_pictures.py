"""Pictures of the screen: what a terminal shows is what the SVG says, cell for cell."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]


def load(path: Path) -> ModuleType:
    """Import a script that is part of no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


svg = load(ROOT / "tools" / "pictures_svg.py")
BAR, CELL, LINE, MARGIN = svg.BAR, svg.CELL, svg.LINE, svg.MARGIN
INK, PAPER, COLORS = svg.INK, svg.PAPER, svg.COLORS
SVG = "{http://www.w3.org/2000/svg}"


def screen_with(text: str, columns: int = 20, rows: int = 6) -> Any:
    screen = svg.Display(columns, rows)
    pyte.Stream(screen).feed(text)
    return screen


def draw(text: str, columns: int = 20) -> ElementTree.Element:
    return ElementTree.fromstring(svg.picture(screen_with(text, columns), "a title"))


def lines_of(drawn: ElementTree.Element) -> dict[int, str]:
    """The lines of a picture by their number; the title of the window is none."""
    lines = {}
    for text in drawn.iter(f"{SVG}text"):
        if text.find(f"{SVG}tspan") is not None:
            assert text.attrib["{http://www.w3.org/XML/1998/namespace}space"] == "preserve"
            lines[(int(text.attrib["y"]) - BAR - MARGIN) // LINE] = "".join(text.itertext())
    return lines


def look_of(drawn: ElementTree.Element, words: str) -> dict[str, Any]:
    """How a piece of text looks, without where it stands."""
    piece = next(span for span in drawn.iter(f"{SVG}tspan") if span.text == words)
    return {name: value for name, value in piece.attrib.items() if name not in ("x", "textLength", "lengthAdjust")}


def place_of(drawn: ElementTree.Element, words: str) -> tuple[float, float]:
    """The first column of a piece of text, and how many it takes."""
    piece = next(span for span in drawn.iter(f"{SVG}tspan") if span.text == words)
    assert piece.attrib["lengthAdjust"] == "spacingAndGlyphs"
    return (int(piece.attrib["x"]) - MARGIN) / CELL, int(piece.attrib["textLength"]) / CELL


def boxes(drawn: ElementTree.Element) -> list[tuple[float, float, float, str, str]]:
    """What is painted behind and over the text: column, line, columns, colour and how much of it."""
    return [
        (
            (int(box.attrib["x"]) - MARGIN) / CELL,
            (int(box.attrib["y"]) - BAR - MARGIN) / LINE,
            int(box.attrib["width"]) / CELL,
            box.attrib["fill"],
            box.attrib.get("fill-opacity", "1"),
        )
        for box in drawn.iter(f"{SVG}rect")
        if "rx" not in box.attrib
    ]


@given(text=st.text(st.sampled_from("ab <>&\"'│é日本語\n"), max_size=60))
@settings(deadline=None, max_examples=60)
def test_the_text_of_a_picture_is_the_text_of_the_screen(text: str) -> None:
    """It can be selected, searched and copied with its blanks, and no character of it is taken for markup."""
    screen = screen_with(text.replace("\n", "\r\n"))

    drawn = lines_of(ElementTree.fromstring(svg.picture(screen, "")))

    assert drawn == {number: line.rstrip() for number, line in enumerate(screen.display) if line.strip()}


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("", {}),
        ("31", {"fill": COLORS["red"]}),
        ("1;33", {"fill": COLORS["brown"], "font-weight": "bold"}),
        ("95", {"fill": COLORS["brightmagenta"]}),
        ("38;2;1;3;2", {"fill": "#010302"}),
        ("38;5;2", {"fill": "#00cd00"}),
        ("2", {"fill-opacity": "0.6"}),
        ("0;38;5;241;2", {"fill": "#626262", "fill-opacity": "0.6"}),
        ("2;22", {}),
        ("2;0", {}),
        ("5", {}),
        ("3;4", {"font-style": "italic", "text-decoration": "underline"}),
        ("4;9", {"text-decoration": "underline line-through"}),
        ("7", {"fill": PAPER}),
        ("7;34;41", {"fill": COLORS["red"]}),
    ],
)
def test_text_looks_as_it_did_on_the_terminal(codes: str, look: dict[str, str]) -> None:
    """Colours by name and by number, bold, faint and slanted; a 2 inside a colour is not the 2 for faint."""
    assert look_of(draw(f"\x1b[31;1mother \x1b[0;{codes}mwords"), "words") == look


def test_every_piece_stands_in_the_columns_it_had() -> None:
    """Whatever font the reader has: without it, a table falls apart. Chinese and Japanese take two columns a letter."""
    drawn = draw("日本 \x1b[31mred\x1b[0m 語│")

    assert place_of(drawn, "日本") == (0, 4)
    assert place_of(drawn, " ") == (4, 1)
    assert place_of(drawn, "red") == (5, 3)
    assert place_of(drawn, "語") == (9, 2)
    assert place_of(drawn, "│") == (11, 1)


@pytest.mark.parametrize(
    ("text", "lines"),
    [("one", 1), ("one\r\ntwo\r\n", 3), ("one\r\ntwo\r\n\x1b[?25l", 2), ("one\x1b[4;1Hfour\x1b[1;1H", 4)],
    ids=["one line", "the cursor on the next", "a hidden cursor", "a menu below the cursor"],
)
def test_a_picture_is_as_high_as_what_is_on_the_screen(text: str, lines: int) -> None:
    """A terminal of thirty lines with three of them used makes a small picture; its width is always the same."""
    drawn = draw(text)

    assert int(drawn.attrib["height"]) == BAR + 2 * MARGIN + lines * LINE
    assert int(drawn.attrib["width"]) == 2 * MARGIN + 20 * CELL
    assert drawn.attrib["viewBox"] == f"0 0 {drawn.attrib['width']} {drawn.attrib['height']}"


def test_what_is_behind_the_text_is_painted_in_one_piece() -> None:
    """A menu has no seams between its words, and swapped colours show as they do on the terminal."""
    drawn = draw("\r\na \x1b[44mb \x1b[1mc \x1b[0m\x1b[7md\x1b[0m e\x1b[?25l")

    assert boxes(drawn) == [(2, 1, 4, COLORS["blue"], "1"), (6, 1, 1, INK, "1")]


def test_the_cursor_is_a_block_that_hides_nothing() -> None:
    """It stands where the next key goes, also when that is beyond the last column."""
    assert boxes(draw("one\r\ntwo")) == [(3, 1, 1, INK, "0.5")]
    assert boxes(draw("four", columns=4)) == [(3, 0, 1, INK, "0.5")]
    assert boxes(draw("one\x1b[?25l")) == []


def test_a_bright_background_that_the_terminal_misspells_is_a_colour() -> None:
    """The emulator has a name of its own for bright magenta behind a text."""
    assert boxes(draw("\x1b[105mx\x1b[0m\x1b[?25l")) == [(0, 0, 1, COLORS["brightmagenta"], "1")]


def test_the_window_has_its_title_and_no_title_is_markup() -> None:
    """It is the name of the picture too, for those who cannot see it."""
    drawn = ElementTree.fromstring(svg.picture(screen_with("x"), "<a> & b"))

    assert drawn.findtext(f"{SVG}title") == "<a> & b"
    assert [text.text for text in drawn.findall(f"{SVG}text") if text.text] == ["<a> & b"]


def test_a_program_that_asks_where_the_cursor_is_gets_an_answer() -> None:
    """The line editor asks, and complains when no answer comes."""
    answers: list[str] = []
    screen = svg.Display(20, 6, reply=answers.append)

    pyte.Stream(screen).feed("one\r\ntwo\x1b[6n")

    assert answers == ["\x1b[2;4R"]


@pytest.mark.parametrize(
    "name", ["first", "waiting", "found", "small", "offline", "prompt", "answer", "gate", "memory"]
)
def test_the_pictures_of_the_documentation_can_be_shown(name: str) -> None:
    """Whole, of one width, and without a path of the machine they were made on."""
    drawn = ElementTree.parse(ROOT / "docs" / "pictures" / f"{name}.svg").getroot()
    text = "\n".join(lines_of(drawn).values())

    assert "~/notes-app main" in text
    assert not re.search(r"/(tmp|home|root|var|Users|private)\b", text)
    assert drawn.attrib["width"] == str(2 * MARGIN + 84 * CELL)
