"""The text of a file, exact replacement in it, and differences for people."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.action.file_diff import file_diff, text_diff
from aish.action.file_text import decode, line_changes, lines_of, replace_exactly, shown
from aish.values.errors import BadUsage

LINES = st.lists(st.sampled_from(["a", "b", "", "ä", "c\r", "\x0c", "\u2028x"]), max_size=12).map("\n".join)


@given(st.binary())
def test_every_text_file_survives_decoding(data: bytes) -> None:
    """Whatever its encoding, its line ends and its last line are."""
    text = decode(data)

    assert text is None if b"\0" in data else text is not None and text.encode() == data


@given(st.text(), st.text(min_size=1, max_size=4), st.text(max_size=4))
def test_only_the_replaced_text_differs(text: str, old: str, new: str) -> None:
    """Or the text is refused: not found, found several times, or nothing to do."""
    try:
        done = replace_exactly(text, old, new)
    except BadUsage:
        assert text.count(old) != 1 or old == new
        return
    before, _, after = text.partition(old)
    assert done == before + new + after


@given(st.binary(max_size=60).filter(lambda data: b"\0" not in data), st.data())
def test_an_edit_and_its_reverse_give_the_same_bytes(data: bytes, chosen: st.DataObject) -> None:
    """A replaced part comes back, in files of any bytes."""
    text = decode(data)
    assert text is not None
    start = chosen.draw(st.integers(0, len(text.text)))
    old = text.text[start : chosen.draw(st.integers(start, len(text.text)))]
    new = "⟦unique⟧"
    if text.text.count(old) != 1 or not old:
        return

    edited = text._replace(text=replace_exactly(text.text, old, new)).encode()
    again = decode(edited)

    assert again is not None
    assert again._replace(text=replace_exactly(again.text, new, old), crlf=text.crlf).encode() == data


@given(LINES)
def test_lines_end_at_newlines_only(text: str) -> None:
    """Numbers of lines must be those of editors and ripgrep."""
    assert "".join(lines_of(text)) == text
    assert len(lines_of(text)) == text.count("\n") + (not text.endswith("\n") and bool(text))


def test_bytes_that_are_not_utf_8_are_shown_as_such() -> None:
    """A result is JSON in UTF-8."""
    text = decode(b"a\xff\n")

    assert text and shown(text.text) == "a?\n"


def test_the_nearest_lines_are_found_in_limited_time() -> None:
    """Also in a long file with long lines, and for a text of ten megabytes."""
    started = time.process_time()
    for old in ("y" * 10_000_000, "def something(a, b):\n" * 1000, "\n" * 100_000):
        with pytest.raises(BadUsage):
            replace_exactly("def somethin(a, b): " * 50 + "\n" + "x = 1\n" * 100_000, old, "")

    assert time.process_time() - started < 10


# Differences


def applied(before: str, difference: list[str]) -> str:
    """Apply a unified difference, as patch does."""
    old, new, at = lines_of(before), list[str](), 0
    for line in difference:
        if line.startswith("@@"):
            first = int(line.split()[1].partition(",")[0][1:])
            count = line.split()[1].partition(",")[2] or "1"
            start = first - (count != "0")
            new += old[at:start]
            at = start
        elif line[0] == " ":
            new.append(old[at])
            at += 1
        elif line[0] == "-":
            at += 1
        else:
            text = line[1:]
            new.append(text.removesuffix("⟨no newline at the end⟩") + "\n" * (not text.endswith("⟩")))
    return "".join([*new, *old[at:]])


PLAIN = st.lists(st.sampled_from(["a", "b", "", "dd"]), max_size=20).map("\n".join)


@given(PLAIN, PLAIN)
def test_a_difference_says_all_that_changes(before: str, after: str) -> None:
    """Applied to the old text, it gives the new one."""
    assert applied(before, text_diff(before, after)) == after


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_difference_of_any_bytes_has_no_control_characters(before: bytes, after: bytes) -> None:
    """It is shown on a terminal."""
    text = file_diff("a", before, after)

    assert all(line.replace("\t", "").isprintable() for line in text.split("\n"))


def test_a_long_difference_is_cut_and_made_in_limited_time() -> None:
    """Comparing fifty thousand lines with others would take minutes."""
    before = "".join(f"{number}\n" for number in range(50_000)).encode()
    started = time.process_time()

    text = file_diff("a", before, before.replace(b"1", b"7"))

    assert text.count("\n") < 410
    assert "more lines:" in text.splitlines()[-1]
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        pytest.param(b"a\r\n", b"a\n", "line ends change from CRLF to LF", id="line ends"),
        pytest.param(b"a\n", b"\xef\xbb\xbfa\n", "byte order mark added", id="mark"),
        pytest.param(b"a", b"a\n", "-a⟨no newline at the end⟩\n+a", id="last newline"),
        pytest.param(b"\0", b"\0\0", "binary: 1 bytes before, 2 bytes after", id="binary"),
        pytest.param(None, b"x\n", "--- (no file)\n+++ a\n@@ -0,0 +1 @@\n+x", id="new"),
        pytest.param(b"x\n", None, "--- a\n+++ (deleted)\n@@ -1 +0,0 @@\n-x", id="deleted"),
        pytest.param(b"", "\u3164\u00ad\ufe0f⟩\n".encode(), "+⟨U+3164⟩⟨U+00AD⟩⟨U+FE0F⟩⟨U+27E9⟩", id="invisible"),
    ],
)
def test_changes_that_are_hard_to_see_are_named(before: bytes | None, after: bytes | None, said: str) -> None:
    """A person decides by what is on the screen."""
    assert said in file_diff("a", before, after)


def test_changed_lines_are_counted() -> None:
    """For the question, and for the model."""
    assert line_changes("a\nb\nc\n", "a\nx\ny\nc\n") == "2 lines added, 1 line removed"
    assert line_changes("", "a\n") == "1 line added, 0 lines removed"


def test_a_text_that_occurs_very_often_is_told_in_limited_time() -> None:
    """A model may ask to replace a single letter of a large file."""
    started = time.monotonic()
    with pytest.raises(BadUsage, match=r"found 400,000 times, at lines 1, 2, 3 and others"):
        replace_exactly("e\n" * 400_000, "e", "f")
    assert time.monotonic() - started < 5
