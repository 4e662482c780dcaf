"""What is quoted in an answer: the renderer and the search for proposals see the same lines as commands."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from aish.action.proposals import proposals, proposed
from aish.values.answer_lines import AnswerLines, quotes
from aish.views.markdown import MarkdownStream

pytestmark = pytest.mark.proves("P4")
STARTS = ["", "", "", "> ", ">", "- ", "  ", "    ", "1. ", "2) ", "| ", "\t", "* [ ] ", "> > ", "   > - "]
PARTS = [
    *["CMD: one", "CMD: two", "CMD: three", "CMD: a | b", "CMD: `x", "CMD: ", "CMD:", "text", "", "", ""],
    *["CMD: cat <<end", "end", "CMD: if a; then", "fi", "CMD: say 'a", "b'", "CMD: c |", "CMD: d \\"],
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
    commands: list[str] = []
    for line in joined.split("\n"):
        text = re.sub(r"\x1b\[\d*m", "", line)
        for odd, name in {"\r": "\\r", "\x0b": "\\x0b", "\u00a0": "\\xa0"}.items():
            text = text.replace(name, odd)
        if line.startswith("\x1b[2mCMD: "):
            commands.append(text.removeprefix("CMD: "))
        elif line.startswith("\x1b[2m   > "):
            commands[-1] += "\n" + text.removeprefix("   > ")
    return commands


@given(ANSWERS, st.integers(1, 30))
@settings(max_examples=400, deadline=None)
def test_what_is_offered_is_what_is_shown_as_a_command(answer: str, size: int) -> None:
    """In any mix of blocks, and in whatever pieces it comes."""
    found = proposals(answer)
    last = [found.unfinished] if found.unfinished else []
    assert list(dict.fromkeys(shown(answer, size))) == list(dict.fromkeys([*found.offered, *last]))


@given(st.lists(LINES.filter(lambda line: not re.search("[\r\x0b\xa0]|CMD: .*[`|<;'\\\\]", line)), max_size=14))
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


HERE = "cat > a.md <<'EOF'\n# **no** heading\n\nCMD: no\n```\n| a |\n|---|\nEOF"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_lines_that_a_command_needs_belong_to_it(size: int) -> None:
    """They are no Markdown and no other command; after the last one the answer goes on."""
    text = f"Try:\nCMD: {HERE}\n- point\n\nCMD: for f in *; do\n  wc $f\ndone\n```\nCMD: no\n```\nCMD: last"
    assert shown(text, size) == proposed(text) == [HERE, "for f in *; do\n  wc $f\ndone", "last"]


@pytest.mark.parametrize("before", ["```", "- point", "> quoted", "<pre>", "text\n- point"])
def test_the_lines_of_a_command_that_is_not_offered_are_no_commands_either(before: str) -> None:
    """Also after a blank line, where a command could be offered again."""
    text = f"{before}\nCMD: cat <<EOF\n\nCMD: no\n\nEOF\n"
    assert shown(text, 5) == proposed(text) == []
    end = {"```": "```\n", "<pre>": "</pre>\n\n"}.get(before, "\n")
    assert proposed(f"{text}{end}CMD: yes") == ["yes"]


def test_a_command_that_the_model_only_thought_of_takes_the_ones_before_along() -> None:
    """The end of the thoughts may be inside its text."""
    assert proposed("CMD: no\n\nCMD: echo 'no\n</think>\n'\n\nCMD: yes") == ["yes"]
    assert proposed("<think>\nCMD: echo 'no\n</think>\n\nCMD: yes") == ["yes"]


def test_no_line_of_a_command_looks_like_text_of_the_answer() -> None:
    """Each has a mark in front, also without colours; what cannot be seen is written out."""
    out: list[str] = []
    stream = MarkdownStream(out.append, width=lambda: 40, height=lambda: 40, color=False)
    stream.feed("CMD: cat <<EOF\n\n[aish] safe\u202e\nEOF\n*done*")
    stream.finish()
    assert "".join(out) == "CMD: cat <<EOF\n   > \n   > [aish] safe\\u202e\n   > EOF\ndone\n"


def test_a_line_that_is_too_long_to_wait_for_can_still_open_a_fence() -> None:
    """Its start is shown as text, and the lines below it are code."""
    text = f"``` {'x' * 5000}\nCMD: no\n```\nCMD: yes"
    assert shown(text, 700) == proposed(text) == ["yes"]


def test_a_line_of_a_command_is_one_line_however_long_it_is() -> None:
    """It gets one mark, although it is shown before it is complete."""
    text = f"cat <<EOF\n{'x ' * 5000}y\nEOF"
    assert shown(f"CMD: {text}\n\nCMD: last", 700) == proposed(f"CMD: {text}\n\nCMD: last") == [text, "last"]


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
        "CMD: a 'b\n" * 20_000,
        "- a\nCMD: a 'b\n" * 20_000,
        "CMD: " + "$(a " * 50_000,
        "CMD: a \\\n" * 20_000,
    ],
    ids=lambda text: text[:6],
)
def test_no_answer_takes_long_to_read(text: str) -> None:
    """The time is linear in its length, for any text."""
    began = time.process_time()
    proposed(f"{text}\nCMD: x")
    assert time.process_time() - began < 2
