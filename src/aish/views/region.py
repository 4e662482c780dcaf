"""The end of the screen that still changes: drawn in place, and below everything that is final.

Pure: lines in, what to write out.
"""

from collections.abc import Sequence

from aish.views.spans import StyledLine


class Region:
    """The live lines under the final ones. Between two calls these hold:

    1. What is final is written once, in order, and the cursor never goes back to it.
    2. The cursor stands after the last live line, or where the next final one starts when there is none.
    3. The live lines take at most `limit` rows, so that none has left the window and can no longer be reached.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown: list[StyledLine] = []
        self.hidden = False  # whether live lines were left out above, for want of rows

    def update(self, final: Sequence[StyledLine], live: Sequence[StyledLine], limit: int) -> str:
        """What turns the screen into one that has `final` after all that was final, and `live` below."""
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
            out = _joined(new[last:])[len(old[last].text) :]  # only more of the last line, or more lines
        else:
            same = max(min(same, len(new) - 1), 0)
            up = sum(line.rows for line in old[same:]) - 1
            out = "\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J" + _joined(new[same:])
        return out + (final[-1].end if final and not fitting else "")

    def leave(self) -> str:
        """Make what is shown final as it stands, without a look at where it stands: the window may have changed."""
        out = "\n" if self._shown else ""
        self._shown = []
        return out


def _joined(lines: Sequence[StyledLine]) -> str:
    return "".join(line.text + line.end for line in lines[:-1]) + (lines[-1].text if lines else "")


def _last(lines: Sequence[StyledLine], limit: int) -> list[StyledLine]:
    """The last lines that fit into so many rows."""
    start = len(lines)
    while start and lines[start - 1].rows <= limit:
        start -= 1
        limit -= lines[start].rows
    return list(lines[start:])
