"""Highlights: the words of a turn that match a search, as the index finds them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.finding.matched_words import find_matched_words
from aish.memory.finding.terms import query_terms


@pytest.mark.proves("N6")
@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("kiln", "The kilns, and a Kiln. No kilning?", ["kilns", "Kiln", "kilning"]),
        ("what did we buy", "I bought the clay", ["bought"]),
        ("cafe", "Das Café, un cafe\u0301", ["Café", "cafe\u0301"]),
        ("straße", "An der Straße", ["Straße"]),
        ("getUserName", "call getUserName() or get_user", ["getUserName"]),
        ("getUserName", "call get_user", ["get_user"]),
        ("utf8", "utf16 or utf8, never UTF32", ["utf8"]),
        ("Анна", "говорит Анна-Мария", ["Анна-Мария"]),
        ("温度", "窯の温度は九百度です。温度!", ["温度", "温度"]),
        ("九百度です", "窯の温度は九百度です。", ["九百度です"]),
        ("kiln 温度", "kiln温度は", ["kiln", "温度"]),
        ("温度", "温度温度", ["温度温度"]),
        ("the of", "the end of it", ["the", "of"]),
        ("kiln", "", []),
        ("", "the kiln", []),
    ],
)
def test_words_are_marked_as_they_are_found(query: str, text: str, marked: list[str]) -> None:
    """In other forms, without accents, as parts of identifiers, and in scripts without blanks."""
    found = find_matched_words(text, query_terms(query))
    assert [text[begin:end] for begin, end in found] == marked


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=80), query=st.text(max_size=20))
def test_marks_of_any_text_are_in_order_and_do_not_overlap(text: str, query: str) -> None:
    """The code that makes them bold relies on it."""
    places = [place for mark in find_matched_words(text, query_terms(query)) for place in mark]
    assert places == sorted(places)
    assert len(set(places[::2])) == len(places[::2])
    assert all(0 <= place <= len(text) for place in places)
