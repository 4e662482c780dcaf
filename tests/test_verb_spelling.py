"""Mistyped verbs are told from questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import World

from aish.verbs import VERBS
from aish.views.verb_spelling import distance, meant_verb


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("serach", "aish search"),
        ("serach kettle", "aish search"),
        ("seach the kettle", "aish search"),
        ("sessions", "aish recent, or :sessions in the shell"),
        ("model", "aish models"),
        ("docter", "aish doctor"),
        ("memroy list", "aish memory"),
        ("confg", "aish config"),
        ("Doctor", "aish doctor"),
        ("settings", "aish config"),
        ("cots", "aish cost"),
    ],
)
def test_a_mistyped_verb_is_named(line: str, meant: str) -> None:
    """It used to be sent to a model, which answered something about it."""
    assert f"did you mean {meant}?" in meant_verb(line.split(), VERBS)


@pytest.mark.parametrize(
    "words",
    [
        ["serach engines compared"],
        ["models", "are", "wrong"],
        ["goals", "of", "the", "project"],
        ["crash", "of", "the", "parser"],
        ["most", "people"],
        ["police", "report"],
        ["hello"],
        ["why?"],
        ["sun"],
        ["notes2"],
        ["предел"],
        [""],
        [],
    ],
)
def test_a_question_stays_one(words: list[str]) -> None:
    """A sentence in quotes is one word of the command line, and many English words are near to a verb."""
    assert meant_verb(words, VERBS) == ""


@given(st.text(max_size=8), st.text(max_size=8))
def test_the_distance_is_the_same_both_ways_and_nothing_for_the_same_word(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one) <= max(len(one), len(other))
    assert (distance(one, other) == 0) == (one == other)


def test_no_model_is_asked_about_a_mistyped_verb(world: World) -> None:
    """The message says how to ask it, and scripts get the code for wrong usage."""
    world.script("A1")

    wrong = world.aish("serach")
    asked = world.aish("-p", "serach")
    sentence = world.aish("serach engines compared")

    assert (wrong.code, wrong.out) == (2, "")
    assert "there is no verb serach; did you mean aish search?" in wrong.err
    assert (asked.out, sentence.out) == ("A1\n", "A1\n")


def test_help_is_shown_for_the_word_help(world: World) -> None:
    assert world.aish("help").out == world.aish("--help").out
    assert world.aish("help", "search").out.startswith("usage: aish search")
