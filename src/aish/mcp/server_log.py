"""The log of a server: the newest lines that it wrote, within bounds."""

from collections import deque

from aish.mcp.schemas import clean

_MOST_LINES, _LONGEST_LINE = 400, 400


class ServerLog:
    """Keeps the newest lines. Partial lines are joined."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._open = ""

    def feed(self, data: bytes) -> None:
        """Add bytes of standard error."""
        *lines, self._open = (self._open + data.decode("utf-8", "replace")).split("\n")
        self._open = self._open[-_LONGEST_LINE:]
        for line in lines[-_MOST_LINES:]:
            self.add(line)

    def add(self, line: str) -> None:
        line = clean(line.strip().replace("\n", " "), _LONGEST_LINE)
        if line:
            self._lines.append(line)

    @property
    def last(self) -> str:
        """The newest line."""
        return self._open.strip() or (self._lines[-1] if self._lines else "")

    def text(self) -> str:
        return "\n".join([*self._lines, *([clean(self._open, _LONGEST_LINE)] if self._open.strip() else [])])
