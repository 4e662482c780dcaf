"""The output of a command that is not shown as it comes: a short one to show afterwards, a long one to unfold."""

from aish.action.capture import Capture

_START = 16 << 10  # bytes; a short output with all its colours has fewer
_MOST_EACH_END = 128 << 10  # bytes kept of the head, and of the tail
_MOST_CHARS = 300_000


class KeptOutput:
    """Keeps the start of the output as it is, and its head and tail as text."""

    def __init__(self) -> None:
        self.start = b""
        self._newlines = 0
        self._capture = Capture(_MOST_EACH_END)

    def feed(self, data: bytes) -> None:
        self.start += data[: max(_START - len(self.start), 0)]
        self._newlines += data.count(b"\n")
        self._capture.feed(data)

    @property
    def text(self) -> str:
        return self._capture.text(_MOST_CHARS)

    @property
    def lines(self) -> int:
        """The number of lines as shown; only counted roughly if not all of them are kept."""
        text = self.text
        return self._newlines if self._capture.size > 2 * _MOST_EACH_END else text.count("\n") + bool(text)
