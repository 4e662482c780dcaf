"""Which lines of an answer are offered as commands: only its own words, and unchanged."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.proposals import Proposals, proposals, proposed

pytestmark = pytest.mark.proves("P4")
PROSE = st.sampled_from(
    ["Try this:", "", "> quoted\n", "- a point\n", "CMD: mine", "    CMD: indented\n", "`CMD: code`", "``` `x` ```"]
)
INSIDE = st.sampled_from(["CMD: hers", "", "text", "``", "<pre>", "- ```", "    ```", "    ~~~~~", "> CMD: hers"])


class Fence(NamedTuple):
    """How a code block begins and ends."""

    indent: str
    mark: str
    info: str
    code: list[str]
    end: str

    def lines(self) -> list[str]:
        return [self.indent + self.mark + self.info, *self.code, self.end + self.mark]


FENCES = st.builds(
    Fence,
    st.sampled_from(["", " ", "   "]),
    st.sampled_from(["```", "~~~", "````", "~~~~~"]),
    st.sampled_from(["", "sh", " text"]),
    st.lists(INSIDE, max_size=4),
    st.sampled_from(["", "  "]),
)


def test_each_line_with_the_mark_is_offered_in_its_order() -> None:
    """The text around the lines is the answer."""
    answer = "First look:\n\nCMD: ls -la\n\nThen go there.\nCMD: cd /tmp && pwd\nDone."

    assert proposed(answer) == ["ls -la", "cd /tmp && pwd"]


def test_the_same_command_is_offered_once() -> None:
    """A model that repeats itself asks once."""
    assert proposed("CMD: ls\nCMD: pwd\nCMD: ls\n") == ["ls", "pwd"]


@pytest.mark.parametrize(
    "command", [" ls", "ls  ", "echo 'a  b'\t", "echo CMD: x", "echo \u202e\u200bä", "#", "a\x0bb\x0cc\u2028d"]
)
def test_a_command_is_taken_byte_for_byte(command: str) -> None:
    """What was judged and shown is what runs, even if it looks odd."""
    assert proposed(f"CMD: {command}") == [command]


@pytest.mark.parametrize(
    "line",
    [
        "CMD:ls",
        "cmd: ls",
        "Cmd: ls",
        "CMD : ls",
        "CMD:\tls",
        "CMD:\u00a0ls",
        "CMD: ",
        "CMD:",
        "CMD:   \t",
        "ＣＭＤ: ls",
        "\ufeffCMD: ls",
    ],
)
def test_only_the_mark_as_it_was_agreed_counts(line: str) -> None:
    """`CMD`, a colon, one space, and something after it."""
    assert proposed(f"text\n{line}\ntext") == []


@pytest.mark.parametrize(
    "line",
    [
        "Run CMD: ls",
        " CMD: ls",
        "\tCMD: ls",
        "> CMD: ls",
        ">CMD: ls",
        "- CMD: ls",
        "1. CMD: ls",
        "* CMD: ls",
        "# CMD: ls",
        "`CMD: ls`",
        "**CMD: ls**",
        "| CMD: ls |",
        "\\CMD: ls",
        '"CMD: ls"',
    ],
)
def test_what_is_quoted_listed_indented_or_in_the_middle_of_a_line_is_not_offered(line: str) -> None:
    """The answer talks about it but does not propose it."""
    assert proposed(line) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_may_end_in_both_ways(end: str) -> None:
    """Models and servers differ; the end of a line never becomes part of a command."""
    assert proposed(end.join(["a", "CMD: ls", "```", "CMD: no", "```", "CMD: pwd", ""])) == ["ls", "pwd"]


def test_a_carriage_return_does_not_start_a_line() -> None:
    """On the screen it is a sign in the middle of a line."""
    assert proposed("a\rCMD: ls") == []


@pytest.mark.parametrize(
    "answer",
    [
        "```\nCMD: no\n```",
        "```sh\nCMD: no\n```",
        "~~~\nCMD: no\n~~~",
        "   ```\nCMD: no\n   ```",
        "````\n```\nCMD: no\n```\nCMD: no\n````",
        "~~~\n```\nCMD: no\n~~~",
        "```\n~~~\nCMD: no\n```",
        "```\nCMD: no\n````` ",
        "```\n``\nCMD: no\n```",
        "```\n```sh\nCMD: no\n```",
        "```\n    ```\nCMD: no\n```",
        "~~~ info ~~~ `x`\nCMD: no\n~~~",
        "text\n```\nCMD: no",
        "```\nCMD: no\n~~~\nCMD: no\n",
        "```text``",
    ],
)
def test_nothing_in_a_code_fence_is_offered(answer: str) -> None:
    """Also if it is long, nested or not closed."""
    assert proposed(answer) == []


def test_after_a_fence_commands_are_offered_again() -> None:
    """Each fence ends where Markdown ends it."""
    assert proposed("```\nCMD: no\n```\nCMD: yes") == ["yes"]
    assert proposed("````\n```\n````\nCMD: yes") == ["yes"]
    assert proposed("~~~\nCMD: no\n  ~~~~~~\nCMD: yes") == ["yes"]
    assert proposed("``` `no fence` ```\nCMD: yes") == ["yes"]
    assert proposed("``\n\nCMD: yes") == ["yes"]


@pytest.mark.parametrize(
    ("answer", "offered"),
    [
        ("- ```\nCMD: no\n```\n", []),
        ("1. Do this:\n\n    ```sh\nCMD: no\n    ```\n", []),
        ("\t~~~\nCMD: no\n\t~~~\n", []),
        ("> ```\nCMD: no\n> ```\n", []),
        ("- ```\n  CMD: no\n  ```\nCMD: yes", ["yes"]),
        ("1. x\n\n    ```\n    CMD: no\n    ```\n\nCMD: yes", ["yes"]),
        ("> ```\n> CMD: no\n> ```\nCMD: yes", ["yes"]),
    ],
)
def test_a_fence_in_a_list_or_a_quote_is_a_fence(answer: str, offered: list[str]) -> None:
    """Models indent the fence but not the code; what the user sees as code is not offered, what follows it is."""
    assert proposed(answer) == offered


@pytest.mark.parametrize(
    "before",
    [
        "- a point",
        "  3. a point",
        "- a\n\n  more of it",
        "> quoted",
        "> quoted\nand more of it",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "a | b\n--|--",
        "[1]: https://example.org",
        "[^1]: a footnote",
        '[1]: https://example.org "a title',
        "an `open",
        "``",
        "see <!-- this",
        "<br/>",
        "a <b title='",
        "x $$ y",
        "[a label",
    ],
)
def test_what_goes_on_in_the_next_line_takes_the_command_along(before: str) -> None:
    """A list, a quote, a table or a definition has no line of its own for its end; a blank line ends it."""
    assert proposed(f"{before}\nCMD: no") == []
    assert proposed(f"{before} -->\n\nCMD: yes") == ["yes"]


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("<!--", "-->"),
        ("text <!-- x", "y --> text"),
        ("<pre>", "</pre>"),
        ("see <PRE class='x'>", "</PRE>"),
        ("<details><summary>log</summary>", "</details>"),
        ("<div>", "</div>"),
        ("<div><div>\n</div>", "</div>"),
        ("<script>", "</script>"),
        ("<details/>", "</details>"),
        ("\\`<pre>\\`", "</pre>"),
        ("a ` b\n`<pre>`", "</pre>"),
        ("<style>", "</style>"),
        ("<blockquote>", "</blockquote>"),
        ("<think>", "</think>"),
        ("So <thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
        ("<inner-voice>", "</inner-voice>"),
        ("[THINK]", "[/THINK]"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<![CDATA[", "]]>"),
        ("<?php", "?>"),
        ("$$\nx", "$$"),
        ("\\[", "\\]"),
    ],
)
def test_nothing_between_a_beginning_and_its_end_is_offered(begin: str, end: str) -> None:
    """Neither next to them nor after a blank line; after the end, commands are offered again."""
    assert proposed(f"{begin}\nCMD: no\n\nCMD: no\n\n{end}\n\nCMD: yes") == ["yes"]
    assert proposed(f"{begin}\n\nCMD: no") == []


@pytest.mark.parametrize(
    "begin",
    [
        "```md\n```sh\nmake\n```",
        "~~~\n~~~ text\nmake\n~~~",
        "- ```\n  x\n```",
        "- a\nb\n  ```\nc\n```",
        "1. a\n\n   ```\nx\n```",
    ],
)
def test_a_fence_that_may_still_be_open_offers_nothing(begin: str) -> None:
    """A quoted file with a fence of its own seems to close the fence around it; nobody can say which one ended."""
    assert proposed(f"{begin}\nCMD: no\n\nCMD: no\n```\nCMD: no\n```\nCMD: no") == []


def test_thoughts_without_a_beginning_are_thoughts() -> None:
    """Some models get the opening tag in their prompt, and send only the end."""
    assert proposed("I could try:\n\nCMD: no\n</think>\n\nCMD: yes") == ["yes"]


@pytest.mark.parametrize(
    "before",
    [
        "Compare a < b and List<String>, or use <name> here.",
        "The element `<pre>` and ``<!--``.",
        "# A heading",
        "***",
        "It was in\n1984. A good year.",
        "Costs $5 or $$$.",
        "a | b",
        "<https://example.org>",
        "<a@example.org> wrote:",
        "Done.<br>",
        "Look [here](https://example.org):",
    ],
)
def test_plain_words_before_a_command_do_not_hide_it(before: str) -> None:
    """The answer may explain a command in the line above it."""
    assert proposed(f"{before}\nCMD: yes") == ["yes"]


def test_what_looks_like_a_proposal_but_is_not_offered_can_be_told() -> None:
    """So that the user can be told about it. What is shown as code is clearly not meant."""
    answer = "- first\nCMD: in a list\n\n```\nCMD: code\n```\n<pre>\nCMD: quoted\n</pre>\n\nCMD: own"
    assert proposals(answer) == Proposals(("own",), ("in a list", "quoted"))


def test_a_command_is_no_markdown() -> None:
    """What it contains does not change what follows it."""
    commands = ["grep '<pre>' x", "echo `date`", "sed 's/<!--//' a", "echo '$$'", "cat <<EOF | x\n<pre>\n```\nEOF"]
    assert proposed("".join(f"CMD: {command}\n" for command in commands)) == commands


@given(st.lists(st.tuples(st.lists(PROSE, max_size=3), FENCES), max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_nothing_inside_any_fence_and_everything_outside_is_offered(
    parts: list[tuple[list[str], Fence]], is_open: bool
) -> None:
    """Whatever is around it, and also if the last fence is never closed."""
    lines = [line for prose, fence in parts for line in [*prose, *fence.lines()]]
    mine = any("CMD: mine" in prose for prose, _ in parts)

    assert proposed("\n".join(lines[:-1] if is_open else lines)) == (["mine"] if mine else [])


@given(st.text("CMD: `~\n\r>x", max_size=60))
@settings(max_examples=150, deadline=None)
def test_what_is_offered_stands_in_the_answer_on_a_line_of_its_own(answer: str) -> None:
    """Nothing is invented, and nothing has more than one line."""
    for command in proposed(answer):
        assert f"\nCMD: {command}\n" in f"\n{answer}\n".replace("\r", "\n")
        assert command.strip()
