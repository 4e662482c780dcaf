"""Which bytes are keys of the user, and which the terminal sends by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.views.key_parser import KeyParser, TerminalInput

pytestmark = pytest.mark.proves("P4")
SENT = [  # by terminals, without a key
    *[b"\x1b[24;80R", b"\x1b[0n", b"\x1b[?62;22c", b"\x1b[>0;276;0c", b"\x1bP!|00000000\x1b\\", b"\x1b[?2026;2$y"],
    *[
        b"\x1bP>|tmux 3.4\x1b\\",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b[I",
        b"\x1b[O",
        b"\x1b[<0;3;4M",
        b"\x1b[<0;3;4m",
        b"\x1b[M rr",
    ],
    *[b"\x1b[114;1u", b"\x1b[27;5;114~", b"\x1bOR", b"\x1bO2P", b"\x1b[A", b"\x1b[[A", b"\x1b[15~", b"\x1b[1;2R"],
    *[b"\x1b]10;rgb:ffff/0000/0000\x07", b"\x1b]11;rgb:0/0/0\x1b\\", b"\x1b]52;c;cnVuDQ==\x1b\\", b"\x1b]lrun\r\x1b\\"],
    *[
        b"\x1b]l\xe2\x80\x9crun\r\xe2\x80\x9d\x07",
        b"\x1b_Gi=1;OK\x1b\\",
        b"\x1b^r\x1b\\",
        b"\x1bXr\x1b\\",
        b"\x1br",
        b"\x1b[8;24;80t",
    ],
    *[b"\x9b24;80R", b"\x9d11;r\x9c", b"\x90r\x9c", b"\x8fR", b"\xc2\x9b0n", b"\xc2\x9d10;r\x07", b"\x9b?62c"],
]


def parsed(data: bytes) -> list[TerminalInput]:
    parser = KeyParser()
    return [typed for byte in data if (typed := parser.feed(byte))]


def keys(data: bytes) -> str:
    return "".join(typed.text for typed in parsed(data) if typed.kind == "key")


@pytest.mark.parametrize("sent", SENT)
def test_nothing_that_the_terminal_sends_is_a_key(sent: bytes) -> None:
    """Answers, events and function keys, in both forms; the key after them counts."""
    assert keys(sent) == ""
    assert keys(sent + b"s") == "s"
    assert "paste" not in {typed.kind for typed in parsed(sent)}


@given(st.lists(st.sampled_from(SENT), max_size=6))
@settings(max_examples=100, deadline=None)
def test_one_after_the_other_they_are_still_no_keys(sent: list[bytes]) -> None:
    """A terminal answers several questions at once."""
    assert keys(b"".join(sent) + b"s") == "s"


def test_characters_are_keys() -> None:
    """In any script, also control keys; a byte that is no character is shown as such."""
    assert keys("räß日👩 \r\x04\x7f".encode()) == "räß日👩 \r\x04\x7f"
    assert keys(b"a\xffb\xe2\x80c") == "a\ufffdbc"


def test_a_paste_is_no_key() -> None:
    """Whatever it contains."""
    found = parsed("\x1b[200~run\rä\x1b[A\x1b[201~s".encode())
    assert "".join(typed.text for typed in found if typed.kind == "paste") == "run\rä"
    assert [typed.text for typed in found if typed.kind == "key"] == ["s"]


def test_escape_alone_is_a_key_after_a_pause() -> None:
    """Before, it may be the start of a sequence."""
    parser = KeyParser()
    assert parser.feed(0x1B) is None and parser.is_open
    assert parser.pause() == TerminalInput("key", "\x1b") and not parser.is_open
    assert parser.feed(ord("r")) == TerminalInput("key", "r")


@pytest.mark.parametrize("begun", [b"\x1b[24;", b"\x1b]11;rgb", b"\x1bP", b"\xe2\x80", b"\x1bO", b"\x1b[M "])
def test_a_sequence_that_breaks_off_ends_with_a_pause(begun: bytes) -> None:
    """Otherwise it would take the user's next keys; it is no key itself."""
    parser = KeyParser()
    for byte in begun:
        assert parser.feed(byte) is None
    assert parser.is_open and parser.pause() is None
    assert parser.feed(ord("r")) == TerminalInput("key", "r")


def test_reports_are_told() -> None:
    """The cursor's place is what the program waits for."""
    assert parsed(b"a\x1b[3;14R\x9b5;6R") == [
        TerminalInput("key", "a"),
        TerminalInput("sequence", "[3;14R"),
        TerminalInput("sequence", "[5;6R"),
    ]


@given(st.binary(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_bytes_can_come(data: bytes) -> None:
    """Nothing is raised, and after a pause the next key counts, unless a paste is open."""
    parser = KeyParser()
    for byte in data:
        parser.feed(byte)
    parser.pause()
    assert parser.feed(ord("r")) in (TerminalInput("key", "r"), TerminalInput("paste", "r"))
