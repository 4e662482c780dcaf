"""Words and phrases that a query leaves out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import World

from aish.memory.finding.exclusions import Exclusions, exclusions

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("texts", "left_out", "kept"),
    [
        (["blue"], ["Blue", "it is blue."], ["bluish", "", "green"]),
        (["kettles"], ["a kettle"], ["kitten"]),
        (["read_file"], ["call read_file now"], ["read the file"]),
        (["foo.py"], ["see foo.py"], ["foo and py"]),
        (["blue kettle"], ["the Blue\nkettle"], ["a kettle that is blue", "blue"]),
        (["the"], ["the end"], ["end"]),
        (["不要了"], ["我不要了"], ["不要", "要了"]),
        (["blue", "green"], ["green"], ["red"]),
        (["--", ""], [], ["anything"]),
    ],
)
def test_a_turn_is_left_out_by_a_whole_word_or_phrase(texts: list[str], left_out: list[str], kept: list[str]) -> None:
    """Parts of an identifier or of a phrase alone leave nothing out."""
    rule = exclusions(texts)

    assert [text for text in [*left_out, *kept] if rule.allow(text)] == kept


@given(st.lists(st.text(max_size=12), max_size=4), st.text(max_size=40))
def test_any_text_can_be_left_out(texts: list[str], text: str) -> None:
    assert isinstance(exclusions(texts), Exclusions)
    assert exclusions(texts).allow(text) in (True, False)


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("kettle -name", ["A2", "A3"]),
        ("kettle -type -go", ["A1", "A3"]),
        ('kettle -"blue one"', ["A1", "A2"]),
        ("kettle -foo.py", ["A1", "A2", "A3"]),
    ],
)
def test_a_word_is_left_out_whatever_it_is(world: World, query: str, answers: list[str]) -> None:
    """Also the name of a common option, and in the command line, where a dash makes an option."""
    world.script("the kettle has a name (A1)", "this kettle type will go (A2)", "blue one kettle (A3)")
    world.aish("--lines", given="first question\nsecond question\nthird question\n")

    words = [query] if '"' in query else query.split()
    typed = world.aish("search", *words[:1], "--role", "assistant", *words[1:])
    found = world.aish("search", "--role", "assistant", query)

    for ran in (found, typed):
        shown = [line for line in ran.out.splitlines() if line.strip().startswith("/")]
        assert sorted(word for word in ("A1", "A2", "A3") if any(f"({word})" in line for line in shown)) == answers
