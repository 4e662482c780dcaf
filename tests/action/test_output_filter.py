"""Output of the model's commands: it can write on the screen, and do nothing else to the terminal."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.capture import Capture
from aish.action.output_filter import OutputFilter
from aish.action.terminal_output import TerminalOutput

pytestmark = pytest.mark.proves("P3", "N23")
# Everything that may come out: text, a few controls, and sequences that only change the screen.
HARMLESS = re.compile(
    rb"(?:[\x07-\x0f\x20-\x7e]|[\xc2-\xf4][\x80-\xbf]+|\x1b[78=>DEHM]|\x1b[()][0AB]|\x1b\[[\d;:]*[@A-MPSXZ`abdefgmrsu]"
    rb"|\x1b\[4[hl]|\x1b\[\?[\d;]+[hlJK]|\x1b\[\?[JK]|\x1b\[\d* q|\x1b\[!p)*"
)
MODES = re.compile(rb"\x1b\[\?([\d;]*)[hl]")
PIECES = st.sampled_from(
    [
        *[b"\x1b", b"[", b"]", b"?", b";", b"6", b"n", b"c", b"h", b"l", b"m", b"52", b"1049", b"2004", b"\\", b"P"],
        *[b"\x07", b"\x05", b"\x18", b"\x9b", b"\x9d", b"\x90", b"\x9c", b"\xc2\x9b", b"\xc2", b"\xe2\x96", b"\x90"],
        *[b"text", b"\r\n", b"\xff", b" ", b"$", b"q", b">", b"!", b"p", b"\x00", b"\x7f", "日".encode(), b"k", b"("],
    ]
)


def passed(*pieces: bytes) -> bytes:
    output = OutputFilter()
    return b"".join(map(output.feed, pieces))


@pytest.mark.parametrize(
    "kept",
    [
        b"plain text\r\n\tand more\b\x07",
        "größer 日本 👩\u200d👧 ─│┌ ⠋ ✓".encode(),
        b"\x1b[1;31mred\x1b[0m\x1b[38;5;200m\x1b[38:2::1:2:3m\x1b[m",
        b"\x1b[2J\x1b[H\x1b[3;4H\x1b[K\x1b[5A\x1b[?25l\x1b[?25h\x1b[?7l",
        b"\x1b[?1049h\x1b[1;24r\x1b(0lqk\x1b(B\x1b[?1h\x1b=\x1b[4h\x1b[4l\x1b7\x1b8\x1bM\x1b[?1049l",
        b"\x1b[2 q\x1b[!p\x0e\x0f\x1b[s\x1b[u\x1b[3X\x1b[2L\x1b[2P\x1b[2@\x1b[5b",
    ],
)
def test_text_colours_and_programs_with_a_full_screen_pass(kept: bytes) -> None:
    """Everything that draws."""
    assert passed(kept) == passed(*(kept[place : place + 1] for place in range(len(kept)))) == kept


@pytest.mark.parametrize(
    "gone",
    [
        *[b"\x05", b"\x00", b"\x11\x13", b"\x7f", b"\x1bZ", b"\x1bc", b"\x1b#8", b"\x1b%@", b"\x1b G", b"\x1bn"],
        *[b"\x1b[c", b"\x1b[>c", b"\x1b[=c", b"\x1b[0c", b"\x1b[5n", b"\x1b[6n", b"\x1b[?6n", b"\x1b[?15n", b"\x1b[x"],
        *[
            b"\x1b[?2004$p",
            b"\x1b[4$p",
            b"\x1b[>q",
            b"\x1b[18t",
            b"\x1b[21t",
            b"\x1b[8;9;9t",
            b"\x1b[?u",
            b"\x1b[>4;2m",
        ],
        *[
            b"\x1b[>1u",
            b"\x1b[=1;1u",
            b"\x1b[?4m",
            b"\x1b[i",
            b"\x1b[5i",
            b"\x1b[?5i",
            b"\x1b[2h",
            b"\x1b[12l",
            b"\x1b[20h",
        ],
        *[b"\x1b[?1000h", b"\x1b[?1002;1003;1006h", b"\x1b[?1004h", b"\x1b[?2004h", b"\x1b[?1007h", b"\x1b[?66h"],
        *[b"\x1b]0;title\x07", b"\x1b]2;t\x1b\\", b"\x1b]52;c;cm0=\x07", b"\x1b]11;?\x1b\\", b"\x1b]4;1;?\x07"],
        *[
            b"\x1b]8;;http://x\x1b\\",
            b"\x1b]9;hi\x07",
            b"\x1b]1337;File=:\x07",
            b"\x1bP+q544e\x1b\\",
            b"\x1bPq#0\x1b\\",
        ],
        *[b"\x1bP$qm\x1b\\", b"\x1bXa\x1b\\", b"\x1b^b\x1b\\", b"\x1b_Gc\x1b\\", b"\x1bktitle\x1b\\", b'\x1b[62"p'],
        *[b"\x1b[1;2;3;4;5$v", b"\x1b[?996n", b"\x1b[?1001s", b"\x1b[1#|", b"\x1b]unfinished", b"\x1bPunfinished"],
    ],
)
def test_what_makes_the_terminal_answer_or_reaches_beyond_the_screen_goes(gone: bytes) -> None:
    """Answers look like keys; clipboard, title, printer, mouse and pictures are none of a command's business."""
    assert passed(b"a", gone, b"b").removesuffix(b"b") == b"a"
    assert passed(*(bytes([byte]) for byte in b"a" + gone)) == b"a"


@pytest.mark.parametrize("control", [b"\x9b6n", b"\x9d52;c;x\x9c", b"\x90q\x9c", b"\xc2\x9b6n", b"\xc2\x85", b"\x8fR"])
def test_eight_bit_controls_become_visible(control: bytes) -> None:
    """As bytes, and as characters of UTF-8; some terminals obey both."""
    out = passed(control)
    assert out.startswith("\ufffd".encode()) and not re.search(rb"\xc2[\x80-\x9f]|(?<![\xc2-\xf4])[\x80-\x9f]{2}", out)


def test_only_the_harmless_modes_of_a_row_stay() -> None:
    """Programs switch the screen and the mouse in one sequence."""
    assert passed(b"\x1b[?1049;1000;25;2004h") == b"\x1b[?1049;25h"


def test_our_own_signs_cannot_be_printed() -> None:
    """Neither at once nor byte by byte; a line of aish is a line of aish."""
    line = "▐[aish] safe\r\n▸ ls".encode()
    assert (
        passed(line)
        == passed(*(line[place : place + 1] for place in range(len(line))))
        == "|[aish] safe\r\n› ls".encode()
    )


def test_a_string_that_another_sequence_breaks_off_does_not_take_the_rest() -> None:
    """As in terminals."""
    assert passed(b"\x1b]0;t\x1b[31mred\x1bPx\x18more\x1b]0;\x1b", b"\\end") == b"\x1b[31mredmoreend"


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=30), st.integers(1, 9))
def test_only_harmless_bytes_come_out_and_pieces_do_not_matter(bits: list[bytes], size: int) -> None:
    """For any bytes, also if a sequence is cut in two."""
    data = b"".join(bits)
    out = passed(data)
    assert HARMLESS.fullmatch(out) and not re.search(rb"\xc2[\x80-\x9f]", out)
    assert not {b"1000", b"1004", b"2004", b"52"} & {mode for modes in MODES.findall(out) for mode in modes.split(b";")}
    assert passed(*(data[place : place + size] for place in range(0, len(data), size))) == out
    out.decode()


@pytest.mark.parametrize(
    "data", [b"\x1b" * 300_000, b"\x1b[" + b"1" * 300_000, b"\x1b]" * 150_000, b"\x1b[1;" * 80_000, b"\xe2" * 300_000]
)
def test_no_output_takes_long(data: bytes) -> None:
    """Linear time, also in small pieces."""
    began = time.process_time()
    passed(data)
    passed(*(data[place : place + 100] for place in range(0, len(data), 100)))
    assert time.process_time() - began < 3


def test_the_filter_is_for_commands_of_the_model_only() -> None:
    """The user's own programs may set the title; what the model gets is unchanged in both cases."""
    data = b"\x1b]0;t\x07\x1b[31mred\x05\r\n"
    for foreign, wanted in ((False, data), (True, b"\x1b[31mred\r\n")):
        out: list[bytes] = []
        capture = Capture()
        TerminalOutput(out.append, capture, foreign=foreign).take(data)
        assert b"".join(out) == wanted
        assert capture.size == len(data)
