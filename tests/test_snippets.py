"""Snippets: they fit the width, are part of the text, and show the search terms."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.values.snippets import cells, snippet

LONG = "one two three " * 30 + "the kiln is hot " + "four five six " * 30


def marks_of(text: str, *words: str) -> list[tuple[int, int]]:
    found = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            found.append((at, at + len(word)))
            at = text.find(word, at + 1)
    return sorted(found)


def test_what_fits_is_shown_whole() -> None:
    """The marks do not move."""
    assert snippet("the kiln", [(4, 8)], 8) == ("the kiln", [(4, 8)])


@pytest.mark.parametrize(
    ("text", "words", "room", "shown"),
    [
        ("a kiln " + "x" * 50, ("kiln",), 20, "a kiln " + "x" * 12 + "…"),
        ("x" * 50 + " the kiln", ("kiln",), 20, "…the kiln"),
        (LONG, ("kiln",), 30, "…three the kiln is hot four f…"),
        ("ab cd " * 20 + "end", (), 12, "ab cd ab cd…"),
        ("窯の" * 20 + "温度は九百度です" + "窯の" * 20, ("九百度",), 20, "…温度は九百度です窯…"),
        ("x " * 9 + "本\u0301語日窯", ("窯",), 7, "…語日窯"),
    ],
)
def test_the_part_around_the_words_is_shown(text: str, words: tuple[str, ...], room: int, shown: str) -> None:
    """From the start of the text if the terms are there, else with … on both sides, starting at a word."""
    part, marks = snippet(text, marks_of(text, *words), room)
    assert part == shown
    assert [part[begin:end] for begin, end in marks] == list(words)
    assert cells(part) <= room


def test_of_many_places_the_one_with_the_most_different_words_is_shown() -> None:
    """Two different words matter more than one repeated word."""
    text = "kiln kiln kiln " + "x " * 100 + "the kiln and its glaze " + "y " * 100 + "glaze"
    part, marks = snippet(text, marks_of(text, "kiln", "glaze"), 40)
    assert "the kiln and its glaze" in part
    assert [part[begin:end] for begin, end in marks] == ["kiln", "glaze"]


def test_room_may_be_counted_otherwise() -> None:
    """For a model the width is counted in characters, and newlines stay."""
    text = "窯\n" * 400 + "kiln" + "\n窯" * 400
    part, marks = snippet(text, marks_of(text, "kiln"), 101, len)
    assert len(part) <= 101
    assert [part[begin:end] for begin, end in marks] == ["kiln"]
    assert "\n窯\nkiln\n窯\n" in part


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(st.sampled_from("ab é\u0301窯🙂\u200d.xyz  "), max_size=120),
    cuts=st.lists(st.integers(0, 120), max_size=12),
    room=st.integers(3, 60),
)
def test_any_text_gives_a_part_of_itself_that_fits(text: str, cuts: list[int], room: int) -> None:
    """The marks are inside the snippet, and at least part of one is shown."""
    places = sorted({cut for cut in cuts if cut <= len(text)})
    marks = list(zip(places[::2], places[1::2], strict=False))
    part, inside = snippet(text, marks, room)
    assert cells(part) <= room
    assert part.removeprefix("…").removesuffix("…") in text
    assert all(0 <= begin < end <= len(part) for begin, end in inside)
    said = [text[begin:end] for begin, end in marks]
    assert all(any(part[begin:end].strip("…") in one for one in said) for begin, end in inside)
    if any(cells(one) <= room - 2 for one in said):
        assert inside
