"""Proposals are left out of an answer on the screen, and nothing else is."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aish.action.proposals import proposals
from aish.views.proposal_filter import ProposalFilter


def shown(*pieces: str, complete: bool = True) -> str:
    """What the screen has in the end."""
    answer, filter = "".join(pieces), ProposalFilter()
    text = "".join(map(filter.feed, pieces))
    return text + filter.end(proposals(answer if complete else answer.rpartition("\n")[0]).offered)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Look:\n\nCMD: ls -l\n", "Look:\n\n"),
        ("CMD: ls", ""),
        ("Certainly.\nCMD: cat <<E\nx\nE\nDone.", "Certainly.\nDone."),
        ("```\nCMD: ls\n```\n", "```\nCMD: ls\n```\n"),
        ("- CMD: ls\n> CMD: ls\n", "- CMD: ls\n> CMD: ls\n"),
        ("CMD:\nCMD: \n", "CMD:\nCMD: \n"),
        ("a CMD: ls\nCM", "a CMD: ls\nCM"),
        ("CMD: ls\r\nso\r\n", "so\r\n"),
        ("hm\nCMD: rm x\n</think>\n\nCMD: ls\n", "hm\n</think>\n\n\nCMD: rm x"),
    ],
)
def test_what_the_gate_offers_is_left_out_and_all_else_is_shown(answer: str, expected: str) -> None:
    """Whether the answer comes at once or letter by letter."""
    assert shown(answer) == expected
    assert shown(*answer) == expected


def test_a_command_that_is_not_offered_is_shown_after_all() -> None:
    """The answer was stopped, so its last line may be half a command."""
    assert shown("one\nCMD: ls\nCMD: rm -rf /tm", complete=False) == "one\n\nCMD: rm -rf /tm"
    assert shown("CMD: cat <<E\nhalf") == "\nCMD: cat <<E\nhalf"


def test_a_text_before_a_tool_is_a_part_of_its_own() -> None:
    """The gate offers the last part only, so a command before a tool is shown as the model wrote it."""
    filter = ProposalFilter()
    text = filter.feed("Let me see\nCMD: ls") + filter.end_part() + "|" + filter.feed("CMD: pwd")

    assert text + filter.end(("pwd",)) == "Let me see\n|\nCMD: ls"


@given(
    st.lists(
        st.sampled_from(["CMD: ls", "CMD: cat <<E", "E", "text", "", "```", "> q", "- CMD: x", "<think>", "CMD: '"])
    )
)
@example(["CMD: '", "CMD: ls", "'"])
def test_every_word_is_shown_or_offered(lines: list[str]) -> None:
    """Nothing of an answer is lost, whatever it looks like."""
    answer = "\n".join(lines)
    seen = shown(answer) + "\n" + "\n".join(f"CMD: {one}" for one in proposals(answer).offered)

    assert sorted(set(re.split(r"\s*\n", seen)) - {""}) == sorted({line for line in lines if line})
