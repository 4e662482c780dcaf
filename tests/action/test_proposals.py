"""Which lines of an answer are offered as commands: only its own words, and unchanged."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.proposals import proposed

pytestmark = pytest.mark.proves("P4")
PROSE = st.sampled_from(
    ["Try this:", "", "> quoted", "- a point", "CMD: mine", "    CMD: indented", "`CMD: code`", "``` `x` ```"]
)
INSIDE = st.sampled_from(
    ["CMD: hers", "", "text", "``", "```sh", "~~~ x", "``` not the end", "    ```", "    ~~~~~", "> CMD: hers"]
)


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
    "command", [" ls", "ls  ", "echo 'a  b'\t", "echo CMD: x", "echo \u202e\u200bä", "ls \\", "#", "a\x0bb\x0cc\u2028d"]
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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(end: str) -> None:
    """Models and servers differ; a carriage return never becomes part of a command."""
    assert proposed(end.join(["a", "CMD: ls", "```", "CMD: no", "```", "CMD: pwd", ""])) == ["ls", "pwd"]


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
    assert proposed("``\nCMD: yes") == ["yes"]


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
