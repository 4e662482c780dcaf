"""The captured output of a command: plain text, its head and its tail, and a truncation marker."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.capture import Capture, looks_binary, plain

pytestmark = pytest.mark.proves("C8", "P4")


def captured(data: bytes, *, kept: int = 1 << 16, most: int = 8000, piece: int = 1000) -> str:
    capture = Capture(kept)
    for place in range(0, len(data), piece):
        capture.feed(data[place : place + piece])
    assert capture.size == len(data)
    return capture.text(most)


def test_short_output_is_kept_whole_however_it_arrives() -> None:
    """A character that arrives in two pieces is one character."""
    text = "größer\r\nund 🎉\r\n".encode()

    assert captured(text, piece=1) == captured(text) == "größer\nund 🎉"


def test_no_output_is_no_text() -> None:
    """A silent command adds nothing to the next question."""
    assert Capture().text(100) == ""
    assert captured(b"\r\n\r\n") == ""


def test_of_long_output_the_beginning_and_the_end_are_kept() -> None:
    """Errors are at the end, the start shows what ran; the truncation marker counts what is missing."""
    text = captured(b"first\n" + b"x" * 500 + b"\nlast\n", most=90)

    assert text.startswith("first\nxxx")
    assert text.endswith("xxx\nlast")
    assert "[… 421 characters left out …]" in text


def test_no_word_is_cut_in_half() -> None:
    """Half a secret would not be recognised any more."""
    token = "ghp_" + "A1b2C3d4" * 4
    for most in range(300, 420):
        text = captured("".join(f"line {n} {token}\n" for n in range(40)).encode(), most=most)
        assert text.count("A1b2C3d4") == 4 * text.count(token) and token in text


def test_endless_output_takes_little_memory_and_says_how_much_there_was() -> None:
    """The middle is dropped, but all bytes are counted."""
    capture = Capture(kept=100)
    capture.feed(b"begin\n")
    for _ in range(10_000):
        capture.feed(b"y\n" * 50)
    capture.feed(b"end\n")

    assert capture.size == 1_000_010
    text = capture.text(60)
    assert text.startswith("begin\ny\n")
    assert text.endswith("\ny\nend")
    assert "[… 999,952 bytes left out …]" in text
    assert len(pickle.dumps(capture)) < 1000


def test_a_cut_says_as_much_as_it_takes() -> None:
    """Output of exactly the maximum length is kept; one more character is truncated."""
    assert captured(b"a" * 60, most=60) == "a" * 60
    assert captured(b"a" * 61, most=60) == "a" * 20 + "\n[… 1 characters left out …]\n" + "a" * 40


@given(st.integers(0, 500), st.integers(1, 400))
@settings(max_examples=40, deadline=None)
def test_it_does_not_matter_in_which_pieces_output_comes(size: int, piece: int) -> None:
    """The same text is kept and left out, also at the limit."""
    data = b"".join(b"%d\n" % number for number in range(size))

    assert captured(data, kept=200, most=300, piece=piece) == captured(data, kept=200, most=300, piece=1)


@given(st.binary(max_size=300), st.integers(1, 80), st.integers(9, 200), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_nothing_of_any_output_can_steer_a_terminal(data: bytes, kept: int, most: int, piece: int) -> None:
    """Also if an escape sequence or a character is split by the truncation."""
    text = captured(data, kept=kept, most=most, piece=piece)

    assert not [letter for letter in text if letter < " " and letter not in "\n\t"]
    assert "\x7f" not in text
    assert len(text) <= most + 60


@given(st.text("ab é\n", max_size=80), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_plain_text_comes_out_as_it_went_in(text: str, piece: int) -> None:
    """Except for empty lines around it."""
    assert captured(text.replace("\n", "\r\n").encode(), piece=piece) == text.strip("\n")


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m", "red and blue"),
        (b"\x1b]0;title\x07shown", "shown"),
        (b"\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP1$r0m\x1b\\after", "after"),
        (b"\x1b(B\x1b=text\x1b>", "text"),
        (b"\x1b[2J\x1b[Hclear", "clear"),
        (b"10%\r50%\r100%\r\n", "100%"),
        (b"long line\rshort\n", "shortline"),
        (b"abc\b\bX\n", "aXc"),
        (b"pass\b\b\b\b    \n", ""),
        (b"\b\b\ba\n", "a"),
        (b"abc\r\bX\n", "Xbc"),
        (b"a\tb\x07\n", "a\tb"),
        (b"two\n\nlines\n", "two\n\nlines"),
        (b"\xff\xfe bytes", "\ufffd\ufffd bytes"),
    ],
)
def test_what_a_terminal_shows_in_the_end_is_what_is_kept(printed: bytes, text: str) -> None:
    """Colours are removed, and a progress bar keeps only its last state."""
    assert plain(printed) == text


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (b"downloading 99%\r\x1b[Kdone\r\n", "done"),
        (b"working hard\x1b[2K\rdone\r\n", "done"),
        (b"abcdef\b\b\x1b[0Kx\r\n", "abcdx"),
    ],
)
def test_an_erased_line_is_gone(printed: bytes, text: str) -> None:
    """Most progress bars erase the line before they write it again."""
    assert plain(printed) == text


def test_a_full_screen_program_leaves_nothing() -> None:
    """An editor's screen is not output; the text before and after it is."""
    assert plain(b"before\n\x1b[?1049h~\r\n~ file\x1b[?1049lafter") == "before\nafter"
    assert plain(b"before\n\x1b[?1049hkilled in there") == "before"


@pytest.mark.parametrize(
    ("data", "is_binary"),
    [
        (b"", False),
        (b"text\r\n\x1b[31mred\x1b[m\t\x07", False),
        ("ünïcödé".encode(), False),
        (b"\x7fELF\x02\x01\x01\0\0\0", True),
        (b"a" * 85 + b"\x01" * 15, True),
        (b"a" * 95 + b"\x01" * 5, False),
    ],
)
def test_binary_output_is_told_from_text(data: bytes, is_binary: bool) -> None:
    """Colours and bells are text; a program file is not."""
    assert looks_binary(data) is is_binary


def test_of_binary_output_only_its_size_is_kept() -> None:
    """Nobody can read it, and it would cost tokens."""
    assert captured(b"\0\1\2" * 5000) == "[binary output, 15,000 bytes]"
