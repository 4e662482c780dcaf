"""Pass a command's output to the user's terminal, and undo the terminal modes that it left set.

Output of the user's own commands passes unchanged, output of the model's commands passes a filter.

Pure: bytes in, bytes out.
"""

import re
from collections.abc import Callable

from aish.action.capture import Capture
from aish.action.output_filter import OutputFilter

_ESCAPES = rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
_FULL_SCREEN = rb"\x1b\[\?(?:1049|1047|47)l"
_MODES = rb"\x1b\[\?([\d;]+)([hl])"
_ENTERED = frozenset(  # full screen, mouse, focus, paste, cursor keys and keypad, origin, synchronized output
    b"1049 1047 47 9 1000 1001 1002 1003 1005 1006 1015 1016 1004 2004 1 66 6 2026".split()
)
_LEFT = frozenset((b"25", b"7"))  # cursor visible and line wrap: on by default, programs turn them off
# What else a program may change, and the sequence that undoes it.
_CHANGES = (
    (re.compile(rb"\x1b="), b"\x1b>"),  # keypad
    (re.compile(rb"\x1b\[4h"), b"\x1b[4l"),  # insert mode
    (re.compile(rb"\x1b[(-+][^B]|\x0e"), b"\x1b(B\x1b)B\x0f"),  # character sets
    (re.compile(rb"\x1b\[\d*;\d*r|\x1b\[\?6h"), b"\x1b7\x1b[r\x1b8"),  # scroll region
    (re.compile(rb"\x1b\[[>=][\d;]*u"), b"\x1b[<99u\x1b[=0u"),  # kitty's keyboard
    (re.compile(rb"\x1b\[>4[\d;]*m"), b"\x1b[>4m"),  # keys with modifiers
    (re.compile(rb"\x1b G"), b"\x1b F"),  # 8-bit answers
)
_TAIL = 256  # bytes at the end that show where the cursor is
_SWITCH = 64  # bytes of the longest mode sequence


class TerminalOutput:
    """Passes output on, captures part of it, and resets the terminal at the end. `foreign` output is filtered."""

    def __init__(self, show: Callable[[bytes], object], capture: Capture, *, foreign: bool = False) -> None:
        self._show = show
        self._capture = capture
        self._filter = OutputFilter() if foreign else None
        self._undo: dict[bytes, None] = {}
        self._wrong: set[bytes] = set()  # modes that differ from what a prompt needs
        self._tail = b""
        self._styled = False

    def take(self, data: bytes) -> None:
        self._capture.feed(data)
        data = self._filter.feed(data) if self._filter else data
        if not data:
            return
        self._show(data)
        self._styled = self._styled or b"\x1b" in data
        if b"\x1b" in data or b"\x0e" in data or b"\x1b" in self._tail[-_SWITCH:]:
            seen = self._tail[-_SWITCH:] + data
            self._undo |= {undo: None for change, undo in _CHANGES if change.search(seen)}
            for modes, state in re.findall(_MODES, seen):
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
        below = b"\x1b[999;1H" if b"6" in self._wrong else b""  # leaving origin mode moves the cursor to the top
        if self._tail:
            resets = switches + below + b"".join(self._undo) + b"\x1b[m" if self._styled or self._undo else b""
            self._show(resets + newline)
