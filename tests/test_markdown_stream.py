"""The stream of an answer on a pipe: lines become the right blocks, and no control sequence gets through."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.views.markdown import MarkdownStream


def written(*pieces: str, width: int = 60, color: bool = False, live: bool = False) -> str:
    out: list[str] = []
    stream = MarkdownStream(out.append, width=lambda: width, height=lambda: 24, color=color, live=live)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return "".join(out)


def lines(*pieces: str, width: int = 60) -> list[str]:
    return written(*pieces, width=width).splitlines()


def test_blocks_are_laid_out_one_below_the_other() -> None:
    """The whole output without colours."""
    text = """\
# Big *files*

Use `du` and **sort**, see [the manual](https://example.org/du).
Second line.
1. Count:
   ```sh
   du -s .
   ```
2. Look:
   - one
     * two
   - [ ] open
   - [x] done

> Mind
>
> the ~~gap~~.

Old style
=========
Name | Size
---- | ---:
a | 1
bb | 22
***
The end.
"""
    assert (
        written(text)
        == """\
# Big files

Use `du` and sort, see the manual (https://example.org/du).
Second line.
1. Count:

```sh
du -s .
```

2. Look:
   ◦ one
     ▪ two
   ◦ ☐ open
   ◦ ☑ done

│ Mind
│
│ the ~~gap~~.

Old style

Name │ Size
─────┼─────
a    │    1
bb   │   22

────────────────────────────────────────
The end.
"""
    )


def test_nothing_is_written_for_an_empty_answer() -> None:
    assert written() == written("") == written("\n\n") == ""


@pytest.mark.parametrize(
    "text", ["word", "# head", "- item", "```\ncode", "| a |\n|---|\n| 1", "CMD: ls", "`", "-", "$$\nx"]
)
def test_an_answer_that_is_cut_off_is_shown_whole_and_ends_its_line(text: str) -> None:
    """Ctrl-C can come at any point."""
    out = written(text)
    assert out.endswith("\n") and not out.endswith("\n\n")
    shown = "".join(filter(str.isalnum, out))
    assert shown == "".join(filter(str.isalnum, text))


def test_a_fence_ends_with_its_own_kind_and_length() -> None:
    """Code may contain other fences."""
    assert lines("````md\n```py\nx\n```\n~~~\n````\nafter") == [
        "````md",
        "```py",
        "x",
        "```",
        "~~~",
        "````",
        "",
        "after",
    ]
    assert lines("~~~\n```\n~~~\nafter") == ["~~~", "```", "~~~", "", "after"]
    assert lines("```\n    ```\n```\nafter") == ["```", "    ```", "```", "", "after"]


def test_code_keeps_its_blank_lines_tabs_and_marks() -> None:
    """Nothing inside is Markdown or a command to run."""
    code = ["all:", "\tmake **x**", "", "", "# no heading", "| a | b |", "CMD: rm x", "1. no list"]
    assert lines("```make\n" + "\n".join(code) + "\n```\n") == ["```make", *code, "```"]


def test_a_quote_that_ends_takes_its_code_along() -> None:
    assert lines("> ```\n> x\nafter") == ["```", "x", "", "after"]


def test_formulas_are_left_alone() -> None:
    """Stars, underscores and backslashes have another meaning there."""
    text = [
        "Let $a_i * b_j * c$ and \\(x_1\\) be \\[y*z*\\] and $$p_q_r$$.",
        "",
        "$$",
        "a_1 *b* \\\\",
        "  c",
        "$$",
        "",
        "Costs $5 or $6.",
    ]
    assert lines("\n".join(text)) == text
    assert lines("$$$ is *money*\n\nand *more*") == ["$$$ is money", "", "and more"]


def test_html_is_text() -> None:
    assert lines("<b>x</b> <!-- y --> a < b &amp; c") == ["<b>x</b> <!-- y --> a < b & c"]


def test_a_command_stands_on_a_line_of_its_own_exactly_as_it_is() -> None:
    """It is never wrapped, its stars are not emphasis, and invisible characters are shown as escapes."""
    command = 'CMD: find . -name "*a*" -o -name "_b_"   | xargs  grep -l `pwd` # ' + "x" * 80
    assert lines(f"Try *this*:\n{command}\nor\n{command}", width=30) == ["Try this:", command, "or", command]
    assert lines("CMD: ls \u202egpj\u200b.\x1b[2J\ta\u00a0e\u0301") == [
        "CMD: ls \\u202egpj\\u200b.\\x1b[2J\\ta\\xa0e\\u0301"
    ]
    assert written("CMD: ls -l\n", color=True) == "\x1b[2mCMD: ls -l\x1b[0m\n"


@pytest.mark.parametrize("line", ["CMD:ls -*a*", " CMD: ls -*a*", "> CMD: ls -*a*", "- CMD: ls -*a*", "cmd: ls -*a*"])
def test_what_only_looks_like_a_command_is_prose(line: str) -> None:
    """Only the exact prefix counts, so that text styled as a command is also offered as one."""
    assert "*" not in written(line)
    assert "\x1b[2mCMD" not in written(line, color=True)


def test_a_number_that_starts_a_line_of_text_is_no_list() -> None:
    assert lines("It was in\n1984. A good year.") == ["It was in", "1984. A good year."]
    assert lines("It was in\n1984. A good year for all", width=20) == ["It was in", "1984. A good year", "for all"]
    assert lines("Steps:\n1. one\n2. two") == ["Steps:", "1. one", "2. two"]


def test_lists_nest_by_their_indent_also_by_two_spaces_below_a_number() -> None:
    """Models do not indent exactly as the standard requires."""
    assert lines("1. a\n  - b\n    more\n  - c\n\n  text\n2. d\n- - e") == [
        *["1. a", "   ◦ b", "     more", "   ◦ c", "", "   text", "2. d", "• ◦ e"],
    ]


def test_an_item_of_many_lines_has_one_bullet() -> None:
    first, *others = lines("- " + "many words " * 40, width=30)
    assert first.startswith("• many") and len(others) > 10
    assert all(line.startswith("  ") and line[2].isalpha() for line in others)


def test_a_fence_names_its_language_and_nothing_else() -> None:
    """Text after the name is for other programs."""
    assert lines("```python title=x\n1\n```") == lines("``` {.python}\n1\n```") == ["```python", "1", "```"]
    assert lines("```\x1b[31m\u202e\n1") == ["```", "1"]


@pytest.mark.parametrize(
    "text", ["- [ ] ```x\n# h\n", "- [x] ~~~\n", "1. [ ] | a | b |\n|---|---|\n", "- [", "> - [ ] a"]
)
def test_what_follows_a_box_is_text_in_whatever_pieces(text: str) -> None:
    assert written(*text) == written(text)


def test_bars_in_text_are_no_table() -> None:
    assert lines("| not a table |\nreally") == ["| not a table |", "really"]
    assert lines("a | b\nc | d") == ["a | b", "c | d"]
    assert lines("a | b\n--- | --- | ---\n") == ["a | b", "--- | --- | ---"]


def test_an_ascii_drawing_by_indent_stays_as_it_is() -> None:
    assert lines("See:\n\n    a  *b*\n      c\n\nafter") == ["See:", "", "a  *b*", "  c", "", "after"]


@pytest.mark.proves("N23")
@pytest.mark.parametrize(("live", "color"), [(True, True), (False, False)])
@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"\x1b[]m\x07\x00\x9b\x08\r\n\x7f;2JH \u202e\u2066\u200b\ufeff\U000e0041\ud800ab`*|-\t", "&#27;", "&#x9b;"]
        )
    ),
    st.lists(
        st.sampled_from(
            ["```\n", "\nCMD: ", "\n| a | b |\n|---|---|\n| ", "\n# ", "\n- ", "[x](", ")", "&#x202e;", "\x1b", "&zwj;"]
        )
    ),
)
def test_no_control_of_the_model_reaches_the_terminal(
    live: bool, color: bool, some: list[str], more: list[str]
) -> None:
    """In any block and any split into pieces, the output has only our own sequences."""
    out = written(*(piece for pair in zip(some, more, strict=False) for piece in pair), *some, color=color, live=live)
    rest = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\d*A|\x1b\[J|\r(?=\x1b)", "", out) if live else out
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2060-\u2069\u200b\ufeff\ud800-\udfff\U000e0000-\U000e0fff]", rest
    )


def test_half_an_escape_in_each_of_two_pieces_is_still_none() -> None:
    assert written("a\x1b", "[31mb\x1b]0;t\x07c") == "a␛[31mb␛]0;t␇c\n"


def test_an_end_of_line_in_two_pieces_is_one_end() -> None:
    assert written("a\r", "\nb") == written("a\r\nb") == "a\nb\n"
    assert written("a\r", "b") == "a␍b\n"


def test_joiners_stay_where_a_script_needs_them_and_nowhere_else() -> None:
    """Between ASCII letters they only hide differences."""
    assert written("می\u200cخواهم 👩\u200d👧 1\ufe0f\u20e3") == "می\u200cخواهم 👩\u200d👧 1\ufe0f\u20e3\n"
    assert written("```\n👩", "\u200d👧", "\n```") == "```\n👩\u200d👧\n```\n", "also when they come in two pieces"
    family = "👩\u200d👧" * 300
    assert "".join(lines(family, width=50)) == family, "a long word is not cut between them"
    assert written("ad\u200dmin pass\ufe0fword \u200e x") == "ad�min pass�word � x\n"


def test_without_colours_there_are_no_sequences_and_marks_that_matter_stay() -> None:
    assert written("**b** *i* `c` ~~s~~ [l](u)\n\n## h") == "b i `c` ~~s~~ l (u)\n\n## h\n"


def test_a_long_paragraph_streams_line_by_line_into_a_pipe() -> None:
    """Output must not wait for the end of a long answer."""
    out: list[str] = []
    stream = MarkdownStream(out.append, width=lambda: 40, height=lambda: 24, color=False, live=False)
    for number in range(200):
        stream.feed(f"word{number} ")
    assert len("".join(out).split()) > 150


@pytest.mark.parametrize(
    "text",
    [
        "word " * 40_000,
        "x" * 20_000,
        "*a " * 7_000,
        "[" * 20_000,
        "`a " * 7_000,
        "- " * 10_000,
        "> " * 1_900 + "a " * 10_000,
        "|" * 20_000,
        "| a " * 5_000 + "\n" + "|---" * 5_000,
        "```\n" + "code " * 40_000,
        "```py\n" + "x = '''a\n" * 1_000,
        "1. " * 7_000,
        "日本" * 10_000,
    ],
    ids=lambda text: text[:8],
)
def test_no_text_takes_long(text: str) -> None:
    """CPU time grows linearly with the length, for any text."""
    began = time.process_time()
    out = written(text, color=True, live=True)
    assert time.process_time() - began < 4
    assert len(out) > len(text) / 10


def test_the_cost_of_a_piece_does_not_grow_with_the_answer() -> None:
    """The last hundred pieces of a long paragraph take about as long as the first hundred."""
    stream = MarkdownStream(lambda text: None, width=lambda: 80, height=lambda: 24, color=True)

    def seconds(pieces: int) -> float:
        began = time.process_time()
        for number in range(pieces):
            stream.feed(f"and **w{number}** ")
        return time.process_time() - began

    first = seconds(300)
    seconds(3000)
    assert min(seconds(300), seconds(300)) < 4 * first
