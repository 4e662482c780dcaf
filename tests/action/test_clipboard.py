"""Copying: by a program of the desktop, and through the terminal."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.action.clipboard import MOST_BYTES, copy, terminal_sequence


def program(folder: Path, name: str, code: int = 0) -> None:
    """A stand-in that keeps what it was given."""
    path = folder / name
    path.write_text(f'#!/bin/sh\n/bin/cat > "{folder}/{name}.got"\necho noise\nexit {code}\n', encoding="utf-8")
    path.chmod(0o755)


@given(st.text(max_size=300))
def test_a_terminal_gets_the_exact_text(text: str) -> None:
    """Base64, so that nothing in the text can control the terminal."""
    text = text.encode("utf-8", "replace").decode()
    for environ in ({"TERM": "xterm"}, {"TERM": "screen", "TMUX": "x"}, {"TERM": "screen"}):
        sent = terminal_sequence(text, environ)
        plain = sent.replace(b"\x1bP", b"").replace(b"\x1b\\", b"")
        assert plain.startswith(b"\x1b]52;c;") and plain.endswith(b"\x07")
        assert base64.b64decode(plain[7:-1]).decode() == text


def test_a_text_that_is_too_long_for_a_terminal_is_not_sent_to_it() -> None:
    """It would be cut off, or shown."""
    assert terminal_sequence("x" * (MOST_BYTES + 1), {}) == b""


@pytest.mark.parametrize(
    ("there", "variables", "used"),
    [
        (["wl-copy", "xclip"], {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, ["wl-copy", "the terminal"]),
        (["wl-copy", "xclip"], {"DISPLAY": ":0"}, ["xclip", "the terminal"]),
        (["xsel"], {"DISPLAY": ":0"}, ["xsel", "the terminal"]),
        (["pbcopy"], {}, ["pbcopy", "the terminal"]),
        (["xclip"], {}, ["the terminal"]),
        ([], {"DISPLAY": ":0"}, ["the terminal"]),
    ],
)
def test_the_program_of_the_desktop_is_used(
    tmp_path: Path, there: list[str], variables: dict[str, str], used: list[str]
) -> None:
    """Over ssh there is none, and the terminal does it."""
    for name in there:
        program(tmp_path, name)
    sent = list[bytes]()

    def write(data: bytes) -> bool:
        sent.append(data)
        return True

    assert copy("a\nb", {"PATH": str(tmp_path), **variables}, write) == used
    if used[0] != "the terminal":
        assert (tmp_path / f"{used[0]}.got").read_text(encoding="utf-8") == "a\nb"
    assert len(sent) == 1


def test_a_program_that_fails_is_passed_over(tmp_path: Path) -> None:
    """A variable may be left over from a desktop that is gone."""
    program(tmp_path, "xclip", code=1)
    program(tmp_path, "xsel")

    environ = {"PATH": str(tmp_path), "DISPLAY": ":0"}
    assert copy("a", environ, lambda data: False) == ["xsel"]
