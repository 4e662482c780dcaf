"""Copy text to the clipboard: with a program of the desktop, and through the terminal (OSC 52), also over ssh."""

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

MOST_BYTES = 74_000  # through the terminal; many ignore a longer text
_SECONDS = 5.0
# The variable that tells that a desktop is there, and the programs for it.
_PROGRAMS: tuple[tuple[str, Sequence[str]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
)


def terminal_sequence(text: str, environ: Mapping[str, str]) -> bytes:
    """Return what makes a terminal copy a text; empty if the text is too long. Pure."""
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        return b""
    sequence = b"\x1b]52;c;" + base64.b64encode(data) + b"\x07"
    if environ.get("TERM", "").startswith("screen") and "TMUX" not in environ:  # GNU screen passes it on in pieces
        pieces = [sequence[place : place + 76] for place in range(0, len(sequence), 76)]
        return b"".join(b"\x1bP" + piece + b"\x1b\\" for piece in pieces)
    return sequence


def copy(text: str, environ: Mapping[str, str], write: Callable[[bytes], bool]) -> list[str]:
    """Copy a text in every way there is, and return the ways that worked. `write` sends bytes to the terminal."""
    done = [program for program in [_with_program(text, environ)] if program]
    sequence = terminal_sequence(text, environ)
    if sequence and write(sequence):
        done.append("the terminal")
    return done


def _with_program(text: str, environ: Mapping[str, str]) -> str:
    """Return the first program that took the text; empty if none did."""
    for variable, (name, *options) in _PROGRAMS:
        program = shutil.which(name, path=environ.get("PATH")) if not variable or environ.get(variable) else None
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, *options],
                input=text.encode("utf-8", "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(environ),
                timeout=_SECONDS,
                check=False,
                start_new_session=True,  # it stays to serve the clipboard, and Ctrl-C is not for it
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return name
    return ""


def write_to_terminal(data: bytes) -> bool:
    """Send bytes to the terminal of this process; return whether there is one."""
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        while data:
            data = data[os.write(terminal, data) :]
    except OSError:
        return False
    finally:
        os.close(terminal)
    return True
