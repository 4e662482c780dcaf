"""Pass a command's output to the user's terminal, and undo the terminal modes that it left set.

Pure: bytes in, bytes out.
"""

import re
from collections.abc import Callable

from aish.action.capture import Capture

_ESCAPES = rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
_FULL_SCREEN = rb"\x1b\[\?(?:1049|1047|47)l"
_MODES = rb"\x1b\[\?([\d;]+)([hl])"
_ENTERED = {b"1049", b"1047", b"47", b"1000", b"1002", b"1003", b"1005", b"1006", b"1015", b"2004", b"1004"}
_LEFT = {b"25", b"7"}  # cursor visible and line wrap: on by default, programs turn them off
_TAIL = 256  # bytes at the end that show where the cursor is
_SWITCH = 64  # bytes of the longest mode sequence


class TerminalOutput:
    """Passes output on unchanged, captures part of it, and resets the terminal at the end."""

    def __init__(self, show: Callable[[bytes], object], capture: Capture) -> None:
        self._show = show
        self._capture = capture
        self._wrong: set[bytes] = set()  # modes that differ from what a prompt needs
        self._tail = b""
        self._styled = False

    def take(self, data: bytes) -> None:
        self._show(data)
        self._capture.feed(data)
        self._styled = self._styled or b"\x1b" in data
        if b"\x1b[?" in data or b"\x1b" in self._tail[-_SWITCH:]:
            for modes, state in re.findall(_MODES, self._tail[-_SWITCH:] + data):
                for mode in modes.split(b";"):
                    if mode in _ENTERED:
                        (self._wrong.add if state == b"h" else self._wrong.discard)(mode)
                    elif mode in _LEFT:
                        (self._wrong.add if state == b"l" else self._wrong.discard)(mode)
        self._tail = data[-_TAIL:] if len(data) >= _TAIL else (self._tail + data)[-_TAIL:]

    def tidy(self) -> None:
        """Reset the modes that a program left set, and start a new line for the prompt."""
        switches = b"".join(b"\x1b[?%s%s" % (mode, b"h" if mode in _LEFT else b"l") for mode in sorted(self._wrong))
        seen = re.sub(_ESCAPES, b"", re.split(_FULL_SCREEN, self._tail)[-1])
        newline = b"\r\n" if seen and not seen.endswith((b"\n", b"\r")) else b""
        if self._tail:
            self._show(switches + b"\x1b[m" + newline if self._styled else newline)
