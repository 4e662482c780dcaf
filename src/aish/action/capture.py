"""The output of a command for the model and the journal: its head and tail as plain text.

Pure: bytes in, text out.
"""

import re
from collections import deque

MOST = 8000  # characters of output that a turn gets
KEPT = 1 << 16  # bytes kept of the head, and the same number of the tail
_ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # titles, links, images
    r"|\x1b[ -/]*[0-~]"  # character sets, resets
)
_FULL_SCREEN = r"(?s)\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|$)"
_ERASED = {"": "\x01", "0": "\x01", "2": "\x02"}  # erase the rest of the line; erase the whole line
_BINARY_SHARE = 0.1
_NEAR = 400  # characters within which the end of a line or word is looked for


class Capture:
    """Keeps the head and the tail of a stream of any length, and counts its bytes."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.size = 0

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        room = self._kept - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._kept:
                self._tail_size -= len(self._tail.popleft())

    def head(self) -> bytes:
        """Return the first bytes as they were."""
        return bytes(self._head)

    def text(self, most: int) -> str:
        """Return the output in about `most` characters, with a truncation marker if something is left out."""
        whole, tail = bytes(self._head), b"".join(self._tail)[-self._kept :]
        left_out = self.size - len(whole) - len(tail)
        if looks_binary(whole):
            return f"[binary output, {self.size:,} bytes]"
        if left_out <= 0:
            return _shorten(plain(whole + tail), most)
        head, end = plain(whole), plain(tail)
        head, end = _head_and_tail(head, end, most)
        cut = self.size - len(head.encode()) - len(end.encode())
        return f"{head}\n[… {cut:,} bytes left out …]\n{end}"


def plain(data: bytes) -> str:
    """Return the lines that a terminal would finally show: no escapes, no overwritten text."""
    text = re.sub(_FULL_SCREEN, "", data.decode("utf-8", "replace"))
    text = re.sub(r"\x1b\[([02]?)K", lambda match: _ERASED[match[1]], re.sub(r"[\x01\x02]", "", text))
    text = re.sub(_ESCAPES, "", text).replace("\r\n", "\n")
    if "\r" in text or "\b" in text:
        text = "\n".join(map(_overwritten, text.split("\n")))
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text).strip("\n")


def looks_binary(data: bytes) -> bool:
    sample = data[:4096]
    odd = sum(byte < 7 or 13 < byte < 27 or 27 < byte < 32 for byte in sample)
    return b"\0" in sample or odd > _BINARY_SHARE * len(sample)


def _overwritten(line: str) -> str:
    """Apply carriage returns, backspaces and erasures to a line; a progress bar keeps only its last state."""
    cells: list[str] = []
    place = 0
    for part in re.split(r"([\r\b\x01\x02])", line):
        if part == "\r":
            place = 0
        elif part == "\b":
            place = max(0, place - 1)
        elif part == "\x01":
            del cells[place:]
        elif part == "\x02":
            cells = [" "] * place
        else:
            cells[place : place + len(part)] = part
            place += len(part)
    return "".join(cells).rstrip()


def _head_and_tail(first: str, last: str, most: int) -> tuple[str, str]:
    """Cut at the end of a line or word, if one is near: half a secret would not be recognised and masked later."""
    head, tail = first[: most // 3], last[-(most - most // 3) :]
    most_lost = min(_NEAR, most // 8)
    if len(head) < len(first):
        near = max(len(head) - most_lost, 0)
        place = head.rfind("\n", near)
        place = place if place > 0 else head.rfind(" ", near)
        head = head[:place] if place > 0 else head
    if len(tail) < len(last):
        place = tail.find("\n", 0, most_lost)
        place = place if place >= 0 else tail.find(" ", 0, most_lost)
        tail = tail[place + 1 :]
    return head, tail


def _shorten(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = _head_and_tail(text, text, most)
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}"
