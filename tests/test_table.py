"""Tables fit any window, and without a window nothing is cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from aish.values.replies import Table
from aish.views.table import lay_out

HEAD = ("id", "age", "time", "kind", "content", "source")
LETTERS = st.sampled_from(
    ["a", "word", " ", "-", "ü", "é", "e\u0301", "o\u0308\u0323", "家", "漢字", "한", "🦔", "ﬁ", "Ａ", "\n"]
)
TEXTS = st.lists(LETTERS, max_size=40).map("".join)


def items(*contents: str, source: str = "user") -> Table:
    rows = [(str(id), "3 days", "2026-11-12 09:30", "fact", text, source) for id, text in enumerate(contents, 1)]
    return Table(HEAD, rows, ["fact"] * len(rows), wide=4)


def lines(table: Table, width: int | None) -> list[str]:
    return [line for line, _ in lay_out(table, width)]


@pytest.mark.proves("M34")
def test_a_table_that_fits_is_shown_whole() -> None:
    """Columns are as wide as their content, and lines have no trailing spaces."""
    assert lines(items("rides a tandem", "lives by the sea, with two cats"), 100) == [
        "id  age     time              kind  content                          source",
        "1   3 days  2026-11-12 09:30  fact  rides a tandem                   user",
        "2   3 days  2026-11-12 09:30  fact  lives by the sea, with two cats  user",
    ]


def test_a_long_text_is_wrapped_between_words_in_its_own_column() -> None:
    """This keeps the column of ids readable."""
    assert lines(items("one two three four five six seven eight nine ten"), 70) == [
        "id  age     time              kind  content                     source",
        "1   3 days  2026-11-12 09:30  fact  one two three four five     user",
        "                                    six seven eight nine ten",
    ]


def test_in_a_narrow_window_the_source_goes_first_and_the_id_stays() -> None:
    """The user needs the content, and other commands need the id."""
    table = items("one two three four five six seven eight nine ten")
    heads = [lines(table, width)[0].split() for width in (66, 58, 51, 32, 20)]

    assert heads == [
        ["id", "age", "time", "kind", "content"],
        ["id", "age", "time", "content"],
        ["id", "age", "content"],
        ["id", "content"],
        ["id", "content"],
    ]


def test_a_very_long_text_ends_after_six_lines_and_says_so() -> None:
    """One item must not push all others off the screen. On a pipe it is complete."""
    shown = lines(items("many words " * 100), 60)

    assert len(shown) == 1 + 6
    assert shown[-1].split()[0] == "…"
    assert shown[-1].endswith("more lines")


def test_a_word_longer_than_its_column_is_broken() -> None:
    """A path or an address may have no spaces."""
    shown = lines(items("x" * 60), 40)

    assert "".join(line.split()[-1] for line in shown[1:]) == "x" * 60


@pytest.mark.proves("M34")
def test_a_text_with_line_breaks_and_control_bytes_stays_on_its_line() -> None:
    """An item must not be able to imitate a row or to control the terminal."""
    shown = lines(items("first\n2   now  fake\x1b[2J\r\u2028row"), None)

    assert len(shown) == 2
    assert not any(letter < " " or letter in "\x7f\x9b\u2028" for line in shown for letter in line)


def test_a_table_without_rows_is_its_head() -> None:
    """Such a table is not shown normally, but it must not crash."""
    assert lines(Table(HEAD, [], [], wide=4), 80) == ["id  age  time  kind  content  source"]


def test_each_line_has_the_style_of_its_row() -> None:
    """This includes the lines of wrapped text."""
    table = Table(("id", "text"), [("1", "word " * 20), ("2", "b")], ["fact", "pref"], wide=1)

    assert [style for _, style in lay_out(table, 40)] == ["dim", "fact", "fact", "fact", "pref"]


@settings(max_examples=120, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(2, 200), st.sampled_from(["user", "a conversation", "家"]))
def test_no_line_is_wider_than_the_window(contents: list[str], width: int, source: str) -> None:
    """This holds for wide characters and for combining marks."""
    for line in lines(items(*contents, source=source), width):
        assert get_cwidth(line) <= width, (line, width)


@pytest.mark.parametrize("width", range(1, 26))
def test_a_window_of_a_few_columns_shows_what_it_can(width: int) -> None:
    """A terminal on a phone can be this narrow. Only a wide character does not fit into one column."""
    ascii, wide = lines(items("a tandem and a canoe"), width), lines(items("漢字 한 a e\u0301"), width)

    assert max(map(len, ascii)) <= width
    assert max(map(get_cwidth, wide)) <= max(width, 2)
    assert "a" in "".join(ascii[1:])


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.text("abcü家", max_size=9))
def test_without_a_window_nothing_is_lost(contents: list[str], source: str) -> None:
    """On a pipe the table is complete, one row per line."""
    shown = lines(items(*contents, source=source), None)

    assert len(shown) == 1 + len(contents)
    for line, content in zip(shown[1:], contents, strict=True):
        assert "".join(line.split()).endswith("".join([*content.split(), source]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=12), st.integers(30, 120))
def test_wrapping_loses_no_word(words: list[str], width: int) -> None:
    """This holds up to the maximum number of lines."""
    shown = lines(Table(("id", "text"), [("1", " ".join(words))], [""], wide=1), width)

    assert "".join(" ".join(shown[1:]).split()).removeprefix("1") == "".join(words)
