"""The live region: the last lines on the screen, which are redrawn in place below the final lines.

Pure: lines in, what to write out.
"""

from collections.abc import Sequence

from aish.views.spans import StyledLine


class Region:
    """The live lines below the final ones. Between two calls these hold:

    1. Final lines are written once, in order, and the cursor never goes back to them.
    2. The cursor is after the last live line, or at the start of the next final line if no line is live.
    3. The live lines take at most `limit` rows, so that none scrolls out of the window, where it cannot be redrawn.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown: list[StyledLine] = []
        self.hidden = False  # whether the first live lines were left out because they do not fit

    def update(self, final: Sequence[StyledLine], live: Sequence[StyledLine], limit: int) -> str:
        """Return the output that appends `final` to the final lines and shows `live` below them."""
        if not self._live:
            return "".join(line.text + line.end for line in final)
        fitting = _last(live, limit)
        self.hidden = len(fitting) < len(live)
        old, new = self._shown, [*final, *fitting]
        self._shown = fitting
        same = 0
        while same < min(len(old), len(new)) and old[same].text == new[same].text:
            same += 1
        last = len(old) - 1
        if not old:
            out = _joined(new)
        elif same >= last and last < len(new) and new[last].text.startswith(old[last].text):
            out = _joined(new[last:])[len(old[last].text) :]  # only text was added: no need to redraw
        else:
            same = max(min(same, len(new) - 1), 0)
            up = sum(line.rows for line in old[same:]) - 1
            out = "\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J" + _joined(new[same:])
        return out + (final[-1].end if final and not fitting else "")

    def leave(self) -> str:
        """Make the live lines final without moving the cursor up: after a resize their position is unknown."""
        out = "\n" if self._shown else ""
        self._shown = []
        return out


def _joined(lines: Sequence[StyledLine]) -> str:
    return "".join(line.text + line.end for line in lines[:-1]) + (lines[-1].text if lines else "")


def _last(lines: Sequence[StyledLine], limit: int) -> list[StyledLine]:
    """Return the last lines that fit into `limit` rows."""
    start = len(lines)
    while start and lines[start - 1].rows <= limit:
        start -= 1
        limit -= lines[start].rows
    return list(lines[start:])
