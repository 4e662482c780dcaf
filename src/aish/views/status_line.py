"""The status line: what is going on, for how long, and what the user is typing meanwhile."""

import asyncio
import os
import sys
import time
from collections.abc import Callable

from aish.values.snippets import cells
from aish.values.text import foreign

_DELAY = 0.4  # seconds; what takes less needs no status
_REDRAW = 0.5
TYPING_SIGN = "›"  # before what is being typed


class StatusLine:
    """One line below the output, redrawn in place.

    1. It is erased before anything else is written: `clear` for a moment, `stop` for good.
    2. It never takes more than one row, so that one carriage return is enough to redraw it.
    """

    def __init__(self, styled: Callable[[str], str], width: Callable[[], int]) -> None:
        self._styled, self._width = styled, width
        self._what, self._since = "", 0.0
        self._shown = False
        self._task: asyncio.Task[None] | None = None
        self.typed: Callable[[], str] = lambda: ""  # the line that is being typed

    def begin(self, what: str = "", *, since: float | None = None) -> None:
        """Show what is going on, after a short delay."""
        self.stop()
        if not (sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")):
            return
        self._what, self._since = f"… {what}".rstrip(), time.monotonic() if since is None else since
        self._task = asyncio.get_running_loop().create_task(self._run())

    def update(self, what: str) -> None:
        """Say something else about what is going on, from the next time that the line is drawn."""
        self._what = f"… {what}".rstrip()

    def refresh(self) -> None:
        """Show what was typed, if the line is in use."""
        if self._task:
            self._draw()

    def clear(self) -> None:
        """Erase the line, because something is about to be written; it is drawn again later."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def stop(self) -> None:
        """Erase the line and end it."""
        if self._task:
            self._task.cancel()
            self._task = None
        self.clear()

    async def _run(self) -> None:
        await asyncio.sleep(_DELAY)
        while True:
            self._draw()
            await asyncio.sleep(_REDRAW)

    def _draw(self) -> None:
        seconds = time.monotonic() - self._since
        clock = f" {seconds:.0f} s" if seconds >= _DELAY else ""
        typed, room = foreign(self.typed()).replace("\n", " "), max(self._width() - 1, 1)
        what = _first(self._what, max(room - len(clock) - (min(cells(typed) + 3, room // 2) if typed else 0), 1))
        shown = what + clock
        if typed:
            shown = f"{shown} {TYPING_SIGN} {_last(typed, max(room - cells(shown) - 3, 1))}"
        self._shown = True
        sys.stderr.write(f"\r{self._styled(shown)}\x1b[K")
        sys.stderr.flush()


def _first(text: str, room: int) -> str:
    """Return the start of the text that fits into so many columns."""
    if cells(text) <= room:
        return text
    end = len(text)
    while end and cells(text[:end]) >= room:
        end -= 1
    return f"{text[:end]}…"


def _last(text: str, room: int) -> str:
    """Return the end of the text that fits: the user looks at what he types."""
    if cells(text) <= room:
        return text
    start = max(len(text) - room, 0)
    while cells(text[start:]) >= room:
        start += 1
    return f"…{text[start:]}"
