"""Regular expressions: they work on every Python from 3.11.0 on, and are compiled when they are used."""

import re
from pathlib import Path

import pytest

import aish
from aish.intake.simple_commands import cut
from aish.values.patterns import pattern


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 loses the last round of such a repetition (`(?:…)++`); `(?>(?:…)+)` does the same."""
    package = Path(aish.__file__).parent
    found = [
        f"{path.name}:{number}"
        for path in package.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if re.search(r"\)[*+?]\+", line)
    ]
    assert found == []


def test_a_line_is_cut_into_whole_words() -> None:
    """On such a Python the last letter of each word was missing, and the shell hung at the first key."""
    assert cut("what now? $(a (b (c)) d) 'x y'z").commands == [["what", "now?", "$(a (b (c)) d)", "'x y'z"]]


def test_an_expression_that_is_compiled_later_works_like_a_compiled_one() -> None:
    """Its methods and flags are those of `re.compile`, for text and for bytes."""
    words = pattern(r"(?P<first>[a-z]+)-(\d+)", re.IGNORECASE)
    assert words.fullmatch("AB-12") and not words.fullmatch("AB-")
    assert words.sub("x", "a-1 b-2") == "x x" and words.sub("x", "c-3") == "x"
    assert words.groupindex == {"first": 1}
    assert pattern(rb"\x1b+").split(b"a\x1b\x1bb") == [b"a", b"b"]


def test_nothing_is_compiled_before_it_is_used() -> None:
    """So a mistake is found at the first use."""
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.search("x")
