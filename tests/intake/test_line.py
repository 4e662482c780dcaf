"""Parsing a typed line into a command, a question, or nothing, by a predictable rule."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.intake.line import ColonCommand, Question, read_line

names = st.text(alphabet="abcxyz-", min_size=1, max_size=8).filter(lambda name: name[0] != "-")
blanks = st.text(alphabet=" \t\n", min_size=1, max_size=3)
anything = st.text(max_size=30)


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("", None),
        (" \t\n", None),
        ("?", None),
        ("  ?  ", None),
        ("why?", Question("why?")),
        ("?why", Question("why")),
        ("? :help", Question(":help")),
        ("??", Question("?")),
        (":help", ColonCommand("help", "")),
        ("  :model   fast  ", ColonCommand("model", "fast")),
        (":save two words", ColonCommand("save", "two words")),
        (":)", Question(":)")),
        (":", Question(":")),
        (": help", Question(": help")),
        ("::x", Question("::x")),
        (":3", Question(":3")),
        ("a :help", Question("a :help")),
        ("help", ColonCommand("help", "")),
        ("/help", ColonCommand("help", "")),
        ("/?", ColonCommand("help", "")),
        ("What can you  do?", ColonCommand("help", "")),
        ("help cd", Question("help cd")),
        ("what can you do about it?", Question("what can you do about it?")),
        ("?help", Question("help")),
    ],
)
def test_the_first_sign_decides(line: str, meaning: ColonCommand | Question | None) -> None:
    """The start of a line tells what will happen. A smiley is not a command."""
    assert read_line(line) == meaning


@given(name=names, blank=blanks, words=anything)
@settings(deadline=None)
def test_any_blank_ends_the_name_of_a_command(name: str, blank: str, words: str) -> None:
    """A tab or a newline in pasted text separates like a space."""
    assert read_line(f":{name}{blank}{words}") == ColonCommand(name, words.strip())


@given(text=anything)
@settings(deadline=None)
def test_a_question_mark_in_front_makes_a_question_of_anything(text: str) -> None:
    """The user can correct a wrong guess."""
    assert read_line(f"?{text}") == (Question(text.strip()) if text.strip() else None)


@given(line=anything)
@settings(deadline=None)
def test_a_line_without_a_sign_is_asked_as_it_is(line: str) -> None:
    """Only the surrounding blanks are removed."""
    text = line.strip()

    match read_line(line):
        case None:
            assert text in ("", "?") or (text[0] == "?" and not text[1:].strip())
        case Question(asked):
            assert asked == (text[1:].strip() if text.startswith("?") else text)
        case ColonCommand(name, _):
            assert text.startswith(f":{name}")
            assert name[0].isalpha()
