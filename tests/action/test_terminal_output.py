"""Output to the user's terminal: it is unchanged, and the terminal is reset after it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.capture import Capture
from aish.action.terminal_output import TerminalOutput

pytestmark = pytest.mark.proves("P2")
BITS = st.sampled_from(
    [
        *(
            b"\x1b[?%s%s" % (mode, state)
            for mode in (b"1049", b"25", b"7", b"2004", b"1000;1006")
            for state in (b"h", b"l")
        ),
        b"\x1b[31m",
        b"text",
        b"\r\n",
        b"\x1b",
    ]
)


def shown(*pieces: bytes) -> tuple[bytes, bytes]:
    """Return what was printed while it ran, and what was added at its end."""
    out: list[bytes] = []
    capture = Capture()
    showing = TerminalOutput(out.append, capture)
    for piece in pieces:
        showing.take(piece)
    before = len(out)
    showing.tidy()
    assert capture.size == sum(map(len, pieces))
    return b"".join(out[:before]), b"".join(out[before:])


def test_output_passes_untouched() -> None:
    """Every byte, in the pieces in which it came."""
    pieces = (b"\x1b[1mbold\x1b[m\r\n", b"\xff\0\x07", b"\x1b]0;t\x07\n")

    assert shown(*pieces)[0] == b"".join(pieces)


@pytest.mark.parametrize(
    ("printed", "added"),
    [
        (b"", b""),
        (b"a line\r\n", b""),
        (b"no newline", b"\r\n"),
        (b"50%\r", b""),
        (b"\x1b[31mred\x1b[m\r\n", b"\x1b[m"),
        (b"\x1b[31mred", b"\x1b[m\r\n"),
        (b"line\r\n\x1b[m", b"\x1b[m"),
        (b"\x1b[2J\x1b[H", b"\x1b[m"),
        (b"\x1b]0;title\x07", b"\x1b[m"),
        (b"\x1b[?1049h~ file\x1b[?1049l", b"\x1b[m"),
        (b"\x1b[?1049h~ file\x1b[?1049l12 bytes", b"\x1b[m\r\n"),
    ],
)
def test_the_prompt_begins_on_a_line_of_its_own_in_its_own_colours(printed: bytes, added: bytes) -> None:
    """Without an empty line if none is needed, and with nothing at all after plain lines."""
    assert shown(printed)[1] == added


@pytest.mark.parametrize(
    ("printed", "switch"),
    [
        (b"\x1b[?1049hscreen", b"\x1b[?1049l"),
        (b"\x1b[?47h", b"\x1b[?47l"),
        (b"\x1b[?25lhidden", b"\x1b[?25h"),
        (b"\x1b[?7lcut off", b"\x1b[?7h"),
        (b"\x1b[?2004h", b"\x1b[?2004l"),
        (b"\x1b[?1000h\x1b[?1006h", b"\x1b[?1000l\x1b[?1006l"),
        (b"\x1b[?1000;1006h", b"\x1b[?1000l\x1b[?1006l"),
        (b"\x1b[?1004h", b"\x1b[?1004l"),
    ],
)
def test_what_a_killed_program_left_switched_is_switched_back(printed: bytes, switch: bytes) -> None:
    """The alternate screen, the hidden cursor, the mouse, bracketed paste."""
    added = shown(printed)[1]

    assert added.startswith(switch + b"\x1b[m")


def test_what_a_program_switched_back_itself_is_left_alone() -> None:
    """Also if both came in one piece, or as the last of many."""
    assert shown(b"\x1b[?25lbusy\x1b[?25h\r\n")[1] == b"\x1b[m"
    assert shown(*[b"\x1b[?25l.\x1b[?25h"] * 9, b"\r\n")[1] == b"\x1b[m"


def test_a_colour_that_was_left_on_long_ago_is_switched_off() -> None:
    """A program was stopped in the middle of a red page."""
    assert shown(b"\x1b[31m", b"red\r\n" * 200)[1] == b"\x1b[m"


@given(st.lists(BITS, max_size=8), st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_it_does_not_matter_in_which_pieces_output_comes(bits: list[bytes], size: int) -> None:
    """A mode sequence that is split in two still counts."""
    data = b"".join(bits)
    pieces = [data[place : place + size] for place in range(0, len(data), size)]

    assert shown(*pieces) == shown(*([data] if data else []))


def test_a_long_row_of_switches_may_come_in_two_pieces() -> None:
    """Editors set five modes at once."""
    row = b"\x1b[?1000;1002;1003;1006;1015;2004h"

    assert shown(row[:-1], row[-1:])[1] == shown(row)[1]


@pytest.mark.parametrize(
    ("printed", "undone"),
    [
        (b"\x1b=", b"\x1b>"),
        (b"\x1b[?1h", b"\x1b[?1l"),
        (b"\x1b[4h", b"\x1b[4l"),
        (b"\x0eqqq", b"\x0f"),
        (b"\x1b(0qqq", b"\x1b(B"),
        (b"\x1b[2;5r", b"\x1b7\x1b[r\x1b8"),
        (b"\x1b[?6h", b"\x1b[?6l"),
        (b"\x1b[>1u", b"\x1b[<99u"),
        (b"\x1b[>4;2m", b"\x1b[>4m"),
        (b"\x1b G", b"\x1b F"),
        (b"\x1b[?1003h", b"\x1b[?1003l"),
    ],
)
def test_what_changes_the_meaning_of_keys_and_text_is_undone(printed: bytes, undone: bytes) -> None:
    """The keypad, character sets, the scroll region, the reports of keys and of the mouse."""
    assert undone in shown(printed)[1]
    assert undone in shown(*(printed[place : place + 1] for place in range(len(printed))))[1]
    assert undone not in shown(b"\x1b[31mtext")[1]
