"""What is quoted in an answer: the renderer and the search for proposals see the same lines as commands."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from aish.action.proposals import proposed
from aish.values.answer_lines import AnswerLines, quotes
from aish.views.markdown import MarkdownStream

pytestmark = pytest.mark.proves("P4")
STARTS = ["", "", "", "> ", ">", "- ", "  ", "    ", "1. ", "2) ", "| ", "\t", "* [ ] ", "> > ", "   > - "]
PARTS = [
    *["CMD: one", "CMD: two", "CMD: three", "CMD: a | b", "CMD: `x", "CMD: ", "CMD:", "text", "", "", ""],
    *["```", "```sh", "~~~", "````", "~~~~ x", "```x`", "``", "`", "`a`", "$$", "$$ x", "$$$", "\\[", "\\]"],
    *["<!--", "-->", "<pre>", "</pre>", "<details>", "</details>", "<div>", "</div>", "<br>", "<b x='", "a<b>c"],
    *["<think>", "<x>", "</x>", "<a@b.cc>", "<?x", "?>", "---", "***", "===", "# head", "a | b", "--|--", "|---|"],
    *["[1]: x", "[^1]: y", "[z", ": d", "1984. year", "1. x", "+ y", "\u00a0", "\x0b", "x\r", "\rCMD: no"],
]
LINES = st.builds("{}{}".format, st.sampled_from(STARTS), st.sampled_from(PARTS))
ANSWERS = st.lists(LINES, max_size=14).map("\n".join)


def shown(answer: str, size: int) -> list[str]:
    """Return the commands that the renderer shows as such, if the answer comes in pieces of this size."""
    out: list[str] = []
    stream = MarkdownStream(out.append, width=lambda: 200, height=lambda: 40, color=True, live=False)
    for place in range(0, len(answer), size):
        stream.feed(answer[place : place + size])
    stream.finish()
    joined = re.sub(r"\x1b\[0m\x1b\[2m", "", "".join(out))  # the pieces of one line
    return re.findall(r"^\x1b\[2mCMD: (.*)\x1b\[0m$", joined, re.MULTILINE)


@given(ANSWERS, st.integers(1, 30))
@settings(max_examples=400, deadline=None)
def test_what_is_offered_is_what_is_shown_as_a_command(answer: str, size: int) -> None:
    """In any mix of blocks, and in whatever pieces it comes."""
    assert list(dict.fromkeys(shown(answer, size))) == proposed(answer)


@given(st.lists(LINES.filter(lambda line: not re.search("[\r\x0b\xa0]|CMD: .*[`|]", line)), max_size=14))
@settings(max_examples=400, deadline=None)
def test_what_is_offered_is_text_of_the_answer_itself_for_others_too(lines: list[str]) -> None:
    """Another parser of Markdown puts it into a paragraph that is in no list and no quote."""
    try:
        tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    except IndexError:  # a bug of that parser
        return
    kinds = ("paragraph_open", "heading_open", "table_open")  # the next line can make it a heading or a head
    own = {line for token in tokens if token.type in kinds and not token.level for line in range(*token.map or (0, 0))}
    reader = AnswerLines()
    for number, line in enumerate(lines):
        assert number in own or not reader.proposes(line)
        reader.read(line)


@given(ANSWERS, st.sampled_from(["```", "~~~~", "<pre>", "<!--", "<think>"]))
@settings(max_examples=200, deadline=None)
def test_nothing_is_offered_after_a_beginning_without_an_end(answer: str, begin: str) -> None:
    """Whatever follows that does not end it."""
    mark = {"<pre>": "</pre>", "<!--": "-->", "<think>": "</think>"}.get(begin, begin[0])
    rest = "\n".join(line for line in answer.split("\n") if mark not in line)
    assert proposed(f"{begin}\n{rest}") == shown(f"{begin}\n{rest}", 100) == []


def test_an_example_of_each_kind_is_shown_as_it_is_offered() -> None:
    """The random answers do contain commands of both kinds."""
    text = "Try:\nCMD: yes\n\n- point\nCMD: no\n\n<pre>\nCMD: no\n</pre>\n\n> x\nCMD: no\n\nCMD: also"
    assert shown(text, 5) == proposed(text) == ["yes", "also"]


def test_a_line_that_is_too_long_to_wait_for_can_still_open_a_fence() -> None:
    """Its start is shown as text, and the lines below it are code."""
    text = f"``` {'x' * 5000}\nCMD: no\n```\nCMD: yes"
    assert shown(text, 700) == proposed(text) == ["yes"]


def test_code_in_a_quote_keeps_the_marks_that_belong_to_it() -> None:
    assert (quotes("> > x"), quotes("> > x", 1), quotes(">> x", 1), quotes("> x", 0)) == ("> > ", "> ", ">", "")


@pytest.mark.parametrize(
    "text",
    [
        "`a ``b ```c " * 20_000,
        "<a " * 80_000,
        "<a>" * 80_000,
        "".join(f"<t{n}>\n" for n in range(4_000)) + "CMD: x\n" * 20_000,
        "<!-- " * 50_000,
        "- " * 100_000,
        "> " * 100_000,
        "- a\n" * 50_000,
        ("    " * 50 + "- a\n") * 1000,
        "".join(" " * n + "- a\n" for n in range(600)),
        "```x\n" * 50_000,
        "<div>\n" * 40_000,
        "|-" * 100_000,
        "[" * 200_000,
        "`" * 200_000,
    ],
    ids=lambda text: text[:6],
)
def test_no_answer_takes_long_to_read(text: str) -> None:
    """The time is linear in its length, for any text."""
    began = time.process_time()
    proposed(f"{text}\nCMD: x")
    assert time.process_time() - began < 2
