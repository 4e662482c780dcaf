"""Thinking in the text of a model is told apart from its answer, however it is cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.model.thinking import ThoughtSplitter
from aish.values.events import ReasoningPiece, TextPiece, ThoughtSoFar


def split(pieces: list[str], *, holds: bool = False) -> tuple[str, str]:
    """Return the thinking and the answer as a conversation keeps them."""
    splitter = ThoughtSplitter(holds=holds)
    thought, said = "", ""
    for event in [*(event for piece in pieces for event in splitter.feed(piece)), *splitter.end()]:
        match event:
            case ReasoningPiece(text):
                assert text
                thought += text
            case TextPiece(text):
                assert text
                said += text
            case ThoughtSoFar():
                thought, said = thought + said, ""
    return thought.strip(), said


CASES = [
    ("<think>\nhm, 2+2\n</think>\n\n4", "hm, 2+2", "4"),
    ("\n<think></think>\n4", "", "4"),
    ("<thinking>a < b</thinking>yes", "a < b", "yes"),
    ("[THINK]so[/THINK]yes", "so", "yes"),
    ("<think>one</think> <think>two</think>\nthree", "onetwo", "three"),
    ("<think>cut off", "cut off", ""),
    ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>", "hm", "4"),
    ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>a <| b", "hm", "a <| b"),
    ("<|channel|>analysis<|message|>cut off", "cut off", ""),
    (
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>analysis<|message|>hm<|end|>"
        "<|start|>assistant<|channel|>final<|message|>4",
        "hm",
        "I look.4",
    ),
    ("<|channel|>final<|message|>4", "", "4"),
    ("<|channel>thought\nhm<channel|>4", "hm", "4"),
    ("<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>4<|END_RESPONSE|>", "hm", "4"),
    ("◁think▷hm◁/think▷4", "hm", "4"),
    (
        "It writes <|channel|>analysis<|message|> first<|end|>",
        "",
        "It writes <|channel|>analysis<|message|> first<|end|>",
    ),
    ("<|channel|>commentary to=functions.ls", "", "<|channel|>commentary to=functions.ls"),
    ("<think>a</think>It ends with </think> as said", "a", "It ends with </think> as said"),
    ("hm, 2+2\n</think>\n\n4", "hm, 2+2", "4"),
    ("So it is 4.</think>4", "So it is 4.", "4"),
    ("The tag `</think>` closes it", "", "The tag `</think>` closes it"),
    ("Use <think> and </think> here", "", "Use <think> and </think> here"),
    ("```html\n</think>\n```\n", "", "```html\n</think>\n```\n"),
    ("  indented answer\n", "", "  indented answer\n"),
    ("<thin air", "", "<thin air"),
    ("It ends with `</think>`. Now:</think>So.", "It ends with `</think>`. Now:", "So."),
    ("<|channel|>final<|message|>write </think> then<|return|>", "", "write </think> then"),
    ("if a <", "", "if a <"),
    ("   ", "", "   "),
    ("", "", ""),
]


@pytest.mark.parametrize(("text", "thought", "answer"), CASES)
def test_thinking_is_told_apart_in_any_pieces(text: str, thought: str, answer: str) -> None:
    """Servers send whole answers, tokens or single characters."""
    assert split([text]) == (thought, answer)
    assert split(list(text)) == (thought, answer)
    assert split([text[:7], text[7:]]) == (thought, answer)


@given(
    st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "<",
                "/think>",
                "Ω",
                " ",
                "\n",
                "`",
                "[THINK]",
                "[/THINK]",
                "<|channel|>final<|message|>",
                "<|end|>",
            ]
        ),
        max_size=12,
    )
)
def test_pieces_never_matter_and_no_word_is_lost(parts: list[str]) -> None:
    """Whatever a model writes, thinking and answer together have all of its words."""
    text = "".join(parts)
    whole = split([text])
    assert split(parts) == split(list(text)) == whole
    assert "".join(whole).count("Ω") == text.count("Ω")


def test_text_is_held_back_after_an_answer_that_only_closed_its_thinking() -> None:
    """Otherwise the thinking of every answer would be shown as the answer first."""
    first = ThoughtSplitter()
    first.feed("hm")
    assert first.feed("</think>\n4") == [ThoughtSoFar(), TextPiece("4")]
    assert first.unopened
    next_one = ThoughtSplitter(holds=True)
    assert next_one.feed("well, ") == []
    assert next_one.feed("5</think>") == [ReasoningPiece("well, 5")]
    assert next_one.feed("five") == [TextPiece("five")]
    without = ThoughtSplitter(holds=True)
    assert [*without.feed("plain "), *without.feed("answer"), *without.end()] == [TextPiece("plain answer")]
    assert not without.unopened
