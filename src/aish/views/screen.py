"""The terminal as the program sees it: answers on standard output, everything else on standard error."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import islice

from aish.values.events import Notice, ReasoningPiece, TextPiece, TurnDone, TurnEvent
from aish.values.replies import Reply
from aish.values.text import for_terminal
from aish.views.table import lay_out

_CODES = {"dim": "2", "warning": "33", "prompt": "1;36", "error": "31", "fact": "36", "pref": "32", "context": "35"}


class Screen:
    """Writes for people. Text of models is neutralised here, on its way out, and nowhere else."""

    def __init__(self, color: str = "auto", *, show_reasoning: bool = False) -> None:
        self._color = color
        self._show_reasoning = show_reasoning
        self._spinner: Spinner | None = None

    @property
    def width(self) -> int:
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def styled(self, text: str, style: str) -> str:
        if style not in _CODES or self._color == "never" or (self._color == "auto" and not colorful()):
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def say(self, result: str | Reply) -> None:
        """A result, on standard output."""
        reply = Reply(result) if isinstance(result, str) else result
        if reply.table and reply.table.rows:
            width = self.width if sys.stdout.isatty() else None  # who pipes it on wants all of it
            plain = width is None and self._color != "always"
            rows = lay_out(reply.table, width)
            lines = (line if plain else self.styled(line, style) for line, style in rows)
            while some := list(islice(lines, 1000)):
                sys.stdout.write("\n".join(some) + "\n")
        if reply.text:
            print(for_terminal(reply.text))
        sys.stdout.flush()

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line beside the result, on standard error."""
        print(self.styled(f"[aish] {for_terminal(text)}", "warning" if warning else "dim"), file=sys.stderr, flush=True)

    async def show(self, events: AsyncGenerator[TurnEvent]) -> TurnDone | None:
        """Show a turn as it happens, and return how it ended."""
        self._spinner = spinner = (
            Spinner() if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" else None
        )
        line_open, done = False, None
        try:
            async with aclosing(events):
                async for event in events:
                    if spinner and not (isinstance(event, ReasoningPiece) and not self._show_reasoning):
                        spinner.stop()
                    match event:
                        case TextPiece(text):
                            sys.stdout.write(for_terminal(text))
                            sys.stdout.flush()
                            line_open = not text.endswith("\n")
                        case ReasoningPiece(text) if self._show_reasoning:
                            sys.stderr.write(self.styled(for_terminal(text), "dim"))
                            sys.stderr.flush()
                        case Notice(text, warning):
                            line_open = self._close(line_open)
                            self.note(text, warning=warning)
                        case TurnDone():
                            done = event
        finally:
            if spinner:
                spinner.stop()
            self._close(line_open)
        if done and done.trouble:
            self.note(done.trouble.reason, warning=True)
        return done

    def pause(self) -> None:
        """Stop what moves by itself, because a question is about to be put."""
        if self._spinner:
            self._spinner.stop()

    def _close(self, line_open: bool) -> bool:
        if line_open:
            print(flush=True)
        return False


class Spinner:
    """Says that something is under way once it takes longer than a moment, and leaves no trace."""

    def __init__(self, delay: float = 0.4) -> None:
        self._shown = False
        self._task: asyncio.Task[None] | None = asyncio.get_running_loop().create_task(self._turn(delay))

    async def _turn(self, delay: float) -> None:
        started = time.monotonic()
        await asyncio.sleep(delay)
        while True:
            self._shown = True
            sys.stderr.write(f"\r… {time.monotonic() - started:.0f} s")
            sys.stderr.flush()
            await asyncio.sleep(0.5)

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


def colorful() -> bool:
    """Whether this terminal wants colours."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


class Bar:
    """A progress bar on standard error; on something that is not a terminal, a line at the end."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._percent = -1

    def __call__(self, done: int, whole: int) -> None:
        percent = 100 * done // max(whole, 1)
        if percent == self._percent or not sys.stderr.isatty():
            return
        self._percent = percent
        full = percent * 30 // 100
        end = "\n" if done >= whole else ""
        sys.stderr.write(f"\r{self._what} {'█' * full}{'░' * (30 - full)} {percent:>3} %{end}")
        sys.stderr.flush()
