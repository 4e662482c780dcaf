"""Shown text cannot control the terminal, stored text is clean, and truncated text has a marker."""

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aish.values.text import clip, for_keeping, for_terminal, one_line, room_for

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
HALVES = "\ud800\udbff\udc00\udfff"

nasty = st.text(st.one_of(st.sampled_from(CONTROLS + HALVES + BIDI), st.characters()), max_size=40)
MARK = re.compile(r"\n\[… ([\d,]+) characters left out …\]\n")


@pytest.mark.proves("N23")
@given(text=nasty)
@example(text=CONTROLS + HALVES + BIDI)
@settings(deadline=None)
def test_nothing_that_is_shown_can_steer_the_terminal(text: str) -> None:
    """Models, tools and files are untrusted: they must not move the cursor, set the title or reorder text."""
    shown = for_terminal(text)

    controls = {char for char in shown if unicodedata.category(char) in ("Cc", "Cs")}
    assert controls <= {"\n", "\t"}
    assert not set(shown) & set(BIDI)
    shown.encode("utf-8")  # half-decoded characters would raise here
    assert for_terminal(shown) == shown


@pytest.mark.proves("N23")
@given(text=nasty)
@example(text=CONTROLS + HALVES + BIDI)
@settings(deadline=None)
def test_what_is_kept_has_no_control_bytes_and_no_half_characters(text: str) -> None:
    """Other programs, which may be less careful, show, send and search the stored text later."""
    kept = for_keeping(text)

    assert {char for char in kept if unicodedata.category(char) in ("Cc", "Cs")} <= {"\n", "\t"}
    assert kept.encode("utf-8").decode("utf-8") == kept
    assert for_keeping(kept) == kept
    assert for_terminal(kept) == for_terminal(text)


@pytest.mark.proves("N23")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b[2J\x9b2J", "␛[2J\ufffd2J"),
        ("safe\rrm -rf /", "safe␍rm -rf /"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("nul\x00 del\x7f", "nul␀ del␡"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_a_control_byte_becomes_a_sign_that_can_be_seen(text: str, shown: str) -> None:
    """Silent removal would join separate words, and hide an attack."""
    assert for_terminal(text) == shown
    assert for_keeping(text) == shown


@given(text=st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters=BIDI)))
@settings(deadline=None)
def test_ordinary_text_comes_through_unchanged(text: str) -> None:
    """Scripts and emoji are normal text."""
    assert for_terminal(text) == text
    assert for_keeping(text) == text


def test_marks_of_direction_are_kept_but_not_shown() -> None:
    """Hebrew and Arabic need them, but attackers use them to disguise source code."""
    assert for_keeping("a\u202eb\u2066c") == "a\u202eb\u2066c"
    assert for_terminal("a\u202eb\u2066c") == "a\ufffdb\ufffdc"


@given(text=st.text(alphabet="abc", max_size=300), limit=st.integers(min_value=0, max_value=310))
@example(text="a", limit=0)
@example(text="ab", limit=1)
@settings(deadline=None)
def test_a_cut_text_keeps_its_head_and_tail_and_says_how_much_is_gone(text: str, limit: int) -> None:
    """A question is at the start or end of a long paste, and the model must know that the middle is missing."""
    clipped = clip(text, limit)

    if len(text) <= limit:
        assert clipped == text
        return
    head, said, tail = MARK.split(clipped)
    gone = int(said.replace(",", ""))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert gone == len(text) - len(head) - len(tail)
    assert gone > 0
    assert len(head) + len(tail) <= limit
    assert limit < 2 or (head and tail)
    assert len(head) >= len(tail) - 1  # the start is more informative


def test_a_big_cut_is_written_with_separators() -> None:
    """Large numbers get thousands separators."""
    assert clip("x" * 1_234_570, 3) == "xx\n[… 1,234,567 characters left out …]\nx"


@given(text=nasty, width=st.integers(min_value=1, max_value=50))
@settings(deadline=None)
def test_one_line_is_one_line_and_not_too_wide(text: str, width: int) -> None:
    """A title must fit in a table row, whatever it contains."""
    line = one_line(text, width)

    assert len(line) <= width
    assert len(line.splitlines()) <= 1
    flat = " ".join(text.split())
    assert line == flat or (line.endswith("…") and flat.startswith(line[:-1]))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("words of a text " * 100, 500, 900),
        ("2026-11-19 12:00:01 " * 100, 120, 200),
        ("漢字" * 500, 140, 160),
        ("", 1, 1),
    ],
)
def test_room_for_tokens_is_less_where_a_text_is_dense(text: str, low: int, high: int) -> None:
    """Models read each digit and each sign as a token."""
    assert low <= room_for(text, 150) <= high
