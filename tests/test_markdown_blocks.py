"""Single blocks of an answer: wrapping, tables, inline marks, and code highlighting."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.views.blocks import MarkdownTable, Prose, Verbatim, Window, split_row
from aish.views.highlight import Highlighter
from aish.views.inline import inline, is_settled, provisional
from aish.views.region import Region
from aish.views.spans import StyledLine, StyledSpan, cells, exact, harmless, paint, redrawable, rows, size_of, wrap

WINDOW = Window(width=31, height=24, color=False)


def texts(lines: list[StyledLine]) -> list[str]:
    return [line.text for line in lines]


def wrapped(text: str, width: int) -> list[str]:
    return [paint(line) for line in wrap([StyledSpan(text)], width)]


def plain(source: str) -> str:
    return paint(inline(source, color=False), color=False)


def styled(source: str) -> dict[str, str]:
    return {span.text.strip(): span.style for span in inline(source, color=True) if span.text.strip()}


WORDS = st.text(st.sampled_from("abcdefgh  é日本か。\u0301🚀\n"), max_size=120)


@settings(max_examples=100, deadline=None)
@given(WORDS, st.integers(4, 30))
def test_lines_fit_and_keep_every_letter_in_order(text: str, width: int) -> None:
    """Only spaces at the end of a line may be dropped."""
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cells(line) <= width for line in lines if len(line) > 1)


@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS)
def test_lines_before_the_last_do_not_depend_on_what_comes(text: str, more: str) -> None:
    """So a line can be final before the paragraph ends."""
    before, after = wrapped(text, 12), wrapped(text + more, 12)
    assert after[: len(before) - 1] == before[:-1]


def test_words_break_between_wide_letters_and_not_before_what_closes() -> None:
    assert wrapped("日本語です。", 10) == ["日本語で", "す。"]
    assert wrapped("ab日本 cd", 6) == ["ab日本", "cd"]


def test_a_style_that_changes_inside_a_word_does_not_break_it() -> None:
    lines = wrap([StyledSpan("a "), StyledSpan("bold", "1"), StyledSpan("er, c")], 8)
    assert [paint(line, color=False) for line in lines] == ["a", "bolder,", "c"]


def test_bullets_and_indents_count() -> None:
    lines = wrap([StyledSpan("one two three")], 9, [StyledSpan("• ", "2")], [StyledSpan("  ")])
    assert [paint(line) for line in lines] == ["\x1b[2m• \x1b[0mone two", "  three"]


def test_rows_are_counted_as_terminals_wrap() -> None:
    """Tabs stop at the last column, and a wide character needs two cells."""
    assert [rows(text, 10) for text in ("", "x" * 10, "x" * 11, "日本語日本語", "\t\t\t\tx", "\tabc")] == [
        1,
        1,
        2,
        2,
        1,
        2,
    ]
    assert [rows("x" * 9 + "日", 10), rows("x" * 8 + "日", 10)] == [2, 1]


def test_a_line_with_a_picture_is_not_drawn_again_beyond_its_row() -> None:
    """Terminals disagree on its width, and a wrong row count would erase another line."""
    assert redrawable("x" * 100, 20) == 40
    assert redrawable("🚀" + "x" * 100, 20) < 20
    assert redrawable("日本" + "x" * 100, 20) == 40


def test_what_hides_is_made_visible() -> None:
    assert harmless("a\u200bb\u2066c\u00add\ufeff\x9b\U000e0041\u3164") == "a�b�c�d����"
    assert exact("ls \u200b\u202ex") == [StyledSpan("ls "), StyledSpan("\\u200b\\u202e", "7"), StyledSpan("x")]
    assert exact("größer 日本") == [StyledSpan("größer 日本")]


def test_marks_inside_a_line() -> None:
    assert styled("**b** *i* `c` ~~s~~ ***x***") == {"b": "1", "i": "3", "c": "36", "s": "9", "x": "3;1"}
    assert paint(inline("2 * 3 * 4 and \\*no\\*", color=True)) == "2 * 3 * 4 and *no*"


def test_links_are_text_and_address() -> None:
    """This includes addresses that other programs refuse: nothing here can be clicked."""
    assert plain("[a **b**](http://x/ü?q=%20)") == "a b (http://x/ü?q=%20)"
    assert plain("<http://x.org/> <a@b.cc>") == "http://x.org/ a@b.cc"
    assert plain("[http://x.org](http://evil.org)") == "http://x.org (http://evil.org)"
    assert plain("[x](javascript:a) ![alt](pic.png)") == "x (javascript:a) alt (pic.png)"


def test_entities_cannot_bring_back_what_was_made_harmless() -> None:
    text = plain("&#27;[31m&#x202e;&#8203;&shy;&NewLine;&Tab;x [l](a&#x202e;b)")
    assert text.isprintable() and "\u202e" not in text and "\n" not in text


@pytest.mark.parametrize(
    "source", ["a **b", "a `b", "see [the", "$x and", "a *b", "say _so", "one ~~two", "\\(x + ", "end\\"]
)
def test_an_open_mark_is_not_settled(source: str) -> None:
    """If the text were cut there, the mark could never be closed."""
    assert not is_settled(source)


@pytest.mark.parametrize("source", ["plain", "a **b** c", "`x` snake_case y", "2 * 3", "[t](u) done", "a_b c_d"])
def test_closed_marks_are_settled(source: str) -> None:
    assert is_settled(source)


def test_open_marks_look_closed_while_they_come() -> None:
    for source in ("a `co", "a **bo", "a ~~st"):
        assert [span.style for span in inline(provisional(source), color=True)][-1], source
    for source in ("a `", "a **", "a *", "a ~~"):
        assert not plain(provisional(source)).strip("a *"), source


def test_emphasis_over_a_step_is_kept() -> None:
    """With long bold text in a long paragraph, the cut comes after its end."""
    prose = Prose(WINDOW._replace(color=True), [], [])
    final = prose.append("start **" + "strong words " * 9 + "end** and so on " + "x " * 80)
    text = "".join(texts([*final, *prose.close()]))
    assert "**" not in text.split("and so on")[0]


def test_a_table_fits_its_columns_to_the_window() -> None:
    table = MarkdownTable(WINDOW, "| Name | What it does | N |", "|:--|:-:|--:|")
    table.add("| `ls` | lists all the files that there are | 1 |")
    table.add("| 日本 | a \\| b | 22 |")
    assert texts(table.close()) == [
        "Name │    What it does    │  N",
        "─────┼────────────────────┼───",
        "`ls` │   lists all the    │  1",
        "     │  files that there  │",
        "     │        are         │",
        "日本 │       a | b        │ 22",
    ]


def test_a_row_with_too_few_or_too_many_cells_loses_nothing() -> None:
    table = MarkdownTable(WINDOW, "a | b", "--- | ---")
    for row in ("| 1 |", "| 1 | 2 | 3 |"):
        table.add(row)
    assert texts(table.close())[2:] == ["1 │", "1 │ 2 | 3"]


def test_where_columns_do_not_fit_each_cell_has_a_line() -> None:
    table = MarkdownTable(Window(20, 24, False), "Directory | Description | Owner", "---|---|---")
    table.add("/usr/share | documentation | root")
    assert texts(table.close()) == ["Directory:", "  /usr/share", "Description:", "  documentation", "Owner: root", ""]


def test_bars_inside_code_and_after_a_backslash_do_not_split() -> None:
    assert split_row("| `a | b` | c \\| d | `` x ` | y `` |") == ["`a | b`", "c | d", "`` x ` | y ``"]
    assert split_row("a | ` b") == ["a", "` b"]


@pytest.mark.parametrize(
    ("language", "lines", "inside"),
    [
        ("python", ['x = """a', "def inside", 'end"""', "def outside"], [1]),
        ("js", ["/* a", "return inside", "*/", "return outside"], [1]),
        ("js", ["x = `a ${b} c", "return inside", "`", "return outside"], [1]),
        ("c", ["/* a", " * return", " */", "return 1;"], [1, 2]),
        ("html", ["<!-- a", "<b>", "-->", "<b>"], [1]),
        ("bash", ["echo 'a", "for inside", "'", "for x in y"], [1]),
    ],
)
def test_strings_and_comments_over_many_lines_keep_their_colour(
    language: str, lines: list[str], inside: list[int]
) -> None:
    """Each line is highlighted when it arrives, and continues a string or comment from above."""
    highlighter = Highlighter(language)
    styles = []
    for line in lines:
        styles.append({span.style for span in highlighter.spans(line) if span.text.strip()})
        highlighter.line_done(line)
    for place in inside:
        assert len(styles[place]) == 1 and styles[place] <= {"32", "2;3"}, (place, styles)
    assert not styles[-1] & {"32", "2;3"}


def test_a_string_of_very_many_lines_stays_one() -> None:
    """Only the line that opened it is remembered."""
    highlighter = Highlighter("python")
    for line in ['x = """', *["return words that fill a line of the text"] * 300]:
        highlighter.line_done(line)
    assert {span.style for span in highlighter.spans("return")} == {"32"}
    highlighter.line_done('"""')
    assert {span.style for span in highlighter.spans("return")} == {"35"}


def test_a_line_looks_the_same_in_the_end_however_it_came() -> None:
    """What looks like a keyword may be the start of a name."""
    highlighter = Highlighter("python")
    highlighter.spans("def", live=True)
    assert highlighter.spans("default") == Highlighter("python").spans("default")
    for end in range(1, 20):
        highlighter.spans("default = format(1)"[:end], live=True)
    assert highlighter.spans("default = format(1)") == Highlighter("python").spans("default = format(1)")
    assert paint(highlighter.spans("default = format(1)"), color=False) == "default = format(1)"


@settings(max_examples=40, deadline=None)
@given(
    st.text(st.sampled_from("ab \"'`/*#{}()\\\t日:<>-"), max_size=40),
    st.sampled_from(["python", "js", "css", "yaml", "nope", ""]),
)
def test_colours_change_no_letter(line: str, language: str) -> None:
    highlighter = Highlighter(language)
    for _ in range(3):
        assert "".join(span.text for span in highlighter.spans(line)) == line
        highlighter.line_done(line)


def test_a_theme_is_a_style_of_pygments_and_an_unknown_one_is_ours() -> None:
    assert {span.style for span in Highlighter("python", "monokai").spans("def f")} != {
        span.style for span in Highlighter("python").spans("def f")
    }
    assert Highlighter("python", "no such theme").spans("def f") == Highlighter("python").spans("def f")


def test_a_very_long_line_is_coloured_at_its_start_and_only_added_to_after_that() -> None:
    code = Verbatim(Window(20, 10, True), Highlighter("python"))
    final = code.append("x = 1; " * 30)
    assert [line.end for line in final] == ["", ""] and not code.live()
    assert [line.text for line in code.append("more")] == ["\x1b[36mmore\x1b[0m"]
    assert code.newline() == [StyledLine()]


def test_the_region_writes_as_little_as_it_can() -> None:
    region = Region(live=True)
    assert region.update([], [StyledLine("one"), StyledLine("two")], 8) == "one\ntwo"
    assert region.update([], [StyledLine("one"), StyledLine("two three")], 8) == " three"
    assert region.update([], [StyledLine("one"), StyledLine("TWO")], 8) == "\r\x1b[JTWO"
    assert region.update([StyledLine("one")], [StyledLine("TWO")], 8) == ""
    assert region.update([StyledLine("TWO"), StyledLine("x")], [], 8) == "\nx\n"
    assert region.update([], [], 8) == ""


def test_the_region_goes_up_by_rows_and_shows_only_what_fits() -> None:
    region = Region(live=True)
    assert region.update([], [StyledLine("long", 3), StyledLine("b")], 8) == "long\nb"
    assert region.update([], [StyledLine("LONG", 3), StyledLine("b")], 8) == "\r\x1b[3A\x1b[JLONG\nb"
    assert region.update([], [StyledLine("a"), StyledLine("b"), StyledLine("c")], 2) == "\r\x1b[3A\x1b[Jb\nc"
    assert region.hidden
    assert region.update([StyledLine("a"), StyledLine("b")], [StyledLine("c")], 2) == "\r\x1b[1A\x1b[Ja\nb\nc"
    assert region.update([], [StyledLine("x"), StyledLine("y")], 2) == "\r\x1b[Jx\ny"
    assert region.update([], [StyledLine("x")], 2) == "\r\x1b[1A\x1b[Jx"
    assert region.update([], [], 2) == "\r\x1b[J"
    assert size_of([StyledSpan("a"), StyledSpan("日")]) == 3
