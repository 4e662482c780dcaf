"""An answer on a terminal: what the user sees, in the window and when scrolling back, for any split into pieces."""

import re
from typing import Any

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import wcwidth

from aish.views.markdown import MarkdownStream

CELL = tuple[str, str, bool, bool]


class Paper(pyte.HistoryScreen):
    """A screen that wraps wide characters at the edge as terminals do, and ignores zero-width characters."""

    def draw(self, data: str) -> None:
        for letter in data if not data.isascii() else [data]:
            if len(letter) == 1 and wcwidth(letter) == 0:
                continue
            if len(letter) == 1 and wcwidth(letter) == 2 and self.cursor.x == self.columns - 1:
                self.carriage_return()
                self.linefeed()
            super().draw(letter)


class Window:
    """A window that shows an answer."""

    def __init__(self, width: int = 40, height: int = 10, *, color: bool = True) -> None:
        self.paper: Any = Paper(width, height, history=100_000, ratio=0.5)
        self._feed = pyte.Stream(self.paper).feed
        self.width, self.height = width, height
        self.writes: list[str] = []
        self.stream = MarkdownStream(self.write, width=lambda: self.width, height=lambda: self.height, color=color)

    def write(self, text: str) -> None:
        self.writes.append(text)
        self._feed(text.replace("\n", "\r\n"))  # as the terminal driver does

    def resize(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.paper.resize(height, width)

    def cells(self) -> list[list[CELL]]:
        """Return all rows with their colours, including those that scrolled out of the window."""
        rows = [*self.paper.history.top, *(self.paper.buffer[row] for row in range(self.paper.lines))]
        found = [[self._cell(row[column]) for column in range(self.paper.columns)] for row in rows]
        while found and all(cell[0] == " " for cell in found[-1]):
            found.pop()
        return found

    @staticmethod
    def _cell(letter: Any) -> CELL:
        return letter.data, letter.fg, letter.bold, letter.italics

    @property
    def lines(self) -> list[str]:
        return ["".join(cell[0] for cell in row).rstrip() for row in self.cells()]


def shown(*pieces: str, width: int = 40, height: int = 10, color: bool = True) -> Window:
    window = Window(width, height, color=color)
    for piece in pieces:
        window.stream.feed(piece)
    window.stream.finish()
    return window


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({place % (len(text) + 1) for place in places})
    return [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]


PARTS = [
    *[
        "word ",
        "snake_case ",
        "**",
        "*",
        "_",
        "`",
        "~~",
        "\n",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "7) ",
        "> ",
        "# ",
        "#### ",
        "|",
    ],
    *[
        "```\n",
        "```py\n",
        "```",
        "~~~",
        "| a | b |\n",
        "|---|--:|\n",
        "x | y\n",
        "--- | ---\n",
        "---\n",
        "===\n",
        "CMD: ls\n",
    ],
    *[
        "CMD",
        " ",
        "    ",
        "$$",
        "$x_1$",
        "\\[",
        "\\]",
        "[t](http://u)",
        "[ ] ",
        "日本",
        "かな",
        "é",
        "🚀",
        "1️⃣",
        "y" * 50,
        "\\",
    ],
    *[
        "\x1b[31m",
        "\x1b",
        "\u202e",
        "\u200b",
        "\t",
        "\r\n",
        "\r",
        "&lt;",
        "&#x202e;",
        "<b>",
        "def f(): pass\n",
        '"""',
        "/*",
    ],
]
ANSWERS = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


@pytest.mark.proves("P3")
@settings(max_examples=60, deadline=None)
@given(ANSWERS, st.lists(st.integers(0, 2000), max_size=60), st.sampled_from([(20, 5), (33, 10), (80, 24)]))
def test_the_pieces_an_answer_comes_in_leave_no_trace(text: str, places: list[int], size: tuple[int, int]) -> None:
    """Text, colours and positions are the same as for the whole answer at once, also in the scrollback."""
    width, height = size
    assert (
        shown(*cut(text, places), width=width, height=height).cells() == shown(text, width=width, height=height).cells()
    )


@settings(max_examples=40, deadline=None)
@given(ANSWERS, st.lists(st.integers(0, 2000), max_size=40))
def test_a_live_window_ends_with_what_a_pipe_would_get(text: str, places: list[int]) -> None:
    """Redrawing neither leaves ghost lines nor loses lines: the text is the same as without cursor movements."""
    wrapped = Window(33, 8, color=False)
    flat = MarkdownStream(wrapped.write, width=lambda: 33, height=lambda: 8, color=False, live=False)
    flat.feed(text)
    flat.finish()

    assert shown(*cut(text, places), width=33, height=8, color=False).lines == wrapped.lines
    assert "\x1b" not in "".join(wrapped.writes)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["{} ", "**{}** ", "`{}` ", "{}\n", "{}\n\n", "\n- {}\n", "\n> {}\n", "\n# {}\n"])),
    st.integers(1, 9),
)
def test_no_word_is_lost_or_doubled(shapes: list[str], size: int) -> None:
    """Every word of the answer appears once and in order."""
    text = "".join(shape.format(f"w{number}w") for number, shape in enumerate(shapes))
    window = shown(*(text[place : place + size] for place in range(0, len(text), size)), width=24, height=6)
    words = [word.strip("•│_") for line in window.lines for word in line.split()]
    assert [word for word in words if word] == [f"w{number}w" for number in range(len(shapes))]


def test_a_long_answer_is_whole_when_scrolling_back() -> None:
    """A thousand paragraphs in a window of ten rows: each appears once."""
    text = "".join(f"Paragraph number {number} is **here**.\n\n" for number in range(1000))
    window = shown(*(text[place : place + 7] for place in range(0, len(text), 7)))
    assert [line for line in window.lines if line] == [f"Paragraph number {n} is here." for n in range(1000)]


def test_what_is_final_is_never_touched_again() -> None:
    """No output moves the cursor above the open block."""
    window = Window(40, 10)
    for piece in [
        "First **block**.\n",
        "\n",
        "Second ",
        "**bl",
        "ock** of ",
        "`words`",
        " that wraps into a second row",
    ]:
        window.stream.feed(piece)
    ups = [write for write in window.writes if "A" in write and "\x1b[" in write]
    assert all("First" not in write for write in window.writes[1:])
    assert not any(f"\x1b[{rows}A" in write for write in ups for rows in range(2, 10))


def test_plain_words_are_only_added() -> None:
    """To avoid flicker, a word that fits is written without erasing anything."""
    window = Window()
    for piece in ["Plain", " words", " come", " in."]:
        window.stream.feed(piece)
    assert window.writes == ["Plain", " words", " come", " in."]


def test_each_piece_is_one_write() -> None:
    """A partial update is never visible."""
    window = Window(30, 8)
    text = "# Title\n\nSome `code` and **more**.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n"
    for letter in text:
        before = len(window.writes)
        window.stream.feed(letter)
        assert len(window.writes) <= before + 1


def test_a_change_of_the_window_leaves_no_ghost_lines() -> None:
    """Shown text stays unchanged; later words continue below, in the new width."""
    window = Window(40, 10)
    window.stream.feed("One two three four five six seven eight nine ten")
    window.resize(60, 12)
    window.stream.feed(" eleven **twelve** thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
    window.stream.finish()
    assert window.lines == [
        "One two three four five six seven eight",
        "nine ten",
        "eleven twelve thirteen fourteen fifteen sixteen seventeen",
        "eighteen nineteen",
    ]


def test_a_window_that_gets_lower_than_the_open_block_is_no_trouble() -> None:
    """Rows that scrolled out of the window cannot be redrawn, so they are left alone."""
    window = Window(40, 24)
    window.stream.feed("| N | Name |\n|---|---|\n" + "".join(f"| {n} | x |\n" for n in range(8)))
    window.resize(40, 4)
    window.writes.clear()
    window.stream.feed("| 8 | a much wider cell |\n")
    window.stream.finish()
    assert "".join(re.sub(r"\x1b\[\d*m", "", text) for text in window.writes) == "\n8 │ a much wider cell\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("One two three.", 5),
        ("```py\nabc = 1\n```\n", 8),
        ("a **bold** word", 6),
        ("- item one", 7),
        ("CMD: ls -la", 8),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", 30),
    ],
)
def test_a_notice_in_between_stands_on_lines_of_its_own(text: str, place: int) -> None:
    """A notice may come in the middle of a word, code, a table or a mark; the text shown before it stays."""
    window = Window()
    window.stream.feed(text[:place])
    window.stream.pause()
    window.write("NOTICE\n")
    window.stream.feed(text[place:])
    window.stream.finish()
    before, after = ("".join(filter(str.isalnum, part)) for part in (text[:place], text[place:]))
    assert "NOTICE" in window.lines
    assert "".join(filter(str.isalnum, "".join(window.lines))) == before.removeprefix("py") + "NOTICE" + after


@pytest.mark.parametrize(
    "text", ["One two", "- one", "> one", "# one", "CMD: one", "```py\none", "| a |\n|---|\n| one |\n"]
)
def test_a_notice_at_the_end_is_followed_by_nothing(text: str) -> None:
    """Two pauses leave no empty lines either."""
    window = Window()
    window.stream.feed(text)
    window.stream.pause()
    window.stream.pause()
    window.write("NOTICE\n")
    window.stream.finish()
    assert window.lines[-1] == "NOTICE" and "" not in window.lines
    assert window.paper.cursor.y == len(window.lines)


def test_a_line_of_code_with_pictures_does_not_erase_the_one_above() -> None:
    """Terminals may disagree with our count of their width."""
    text = "Above.\n```py\n" + "x = '" + "1️⃣" * 12 + " and more'\n```\n"
    assert shown(*text, width=20).cells() == shown(text, width=20).cells()


def test_a_table_taller_than_the_window_keeps_its_columns() -> None:
    """Its first rows scroll out of the window before the last ones arrive."""
    rows = "".join(f"| row {number} | {number * number} |\n" for number in range(50))
    text = "| Name | Square |\n|---|---:|\n" + rows
    window = shown(*(text[place : place + 5] for place in range(0, len(text), 5)))
    assert window.lines[0] == "Name      │     Square", "with room for rows that are not known yet"
    assert [line.replace("│", " ").split() for line in window.lines[2:]] == [
        ["row", str(number), str(number * number)] for number in range(50)
    ]
    assert {line.index("│") for line in [window.lines[0], *window.lines[2:]]} == {10}


def test_code_comes_in_colours_and_copies_as_it_is() -> None:
    """It has no border, line numbers or indent, so selecting with the mouse copies only the code, also in a list."""
    code = ["def f(x):", '    """Many', "    lines.", '    """', "    return x  # done"]
    text = "1. Do this:\n   ```python\n" + "".join(f"   {line}\n" for line in code) + "   ```\n2. Then that.\n"
    window = shown(*text)
    start = window.lines.index("def f(x):")
    assert window.lines[start : start + 5] == code
    colors = [{cell[1] for cell in row if cell[0] != " "} for row in window.cells()[start : start + 5]]
    assert colors[1] == colors[2] == colors[3] == {"green"}, "a string over many lines is one string"
    assert "magenta" in colors[0] and "magenta" in colors[4]


def test_a_long_line_of_code_is_not_broken_by_us() -> None:
    """The terminal wraps it, so it is copied as one line."""
    line = "echo " + " ".join(f"argument{number}" for number in range(40))
    window = shown(*f"```sh\n{line}\n```\n", width=30, height=8)
    assert "".join(row.ljust(30) for row in window.lines).rstrip() == line


@pytest.mark.parametrize("width", [20, 21, 40])
def test_narrow_windows_show_everything(width: int) -> None:
    """Twenty columns are enough for lists, quotes, tables and words of any length."""
    text = (
        "# A heading that wraps\n\n- one\n  - two\n    - three is longer than that\n\n> quoted words here\n\n"
        "| Name | What it does | Since |\n|---|---|---|\n| first | something useful | 1999 |\n\n" + "z" * 70 + "\n"
    )
    window = shown(*text, width=width, height=6)
    joined = "".join("".join(window.lines).split())
    for word in ["heading", "three", "quoted", "something", "1999", "z" * 70]:
        assert word in joined.replace("│", "").replace("\u25aa", ""), word
