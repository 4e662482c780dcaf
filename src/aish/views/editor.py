"""Reading a line: what any editor promises, and the plain one for pipes and dumb terminals."""

import asyncio
import sys
from typing import Protocol

from aish.values.text import for_terminal

LONGEST_LINE = 16 << 20  # bytes


class Editor(Protocol):
    """Contract: `read` returns what was typed, raises EOFError at the end and KeyboardInterrupt on Ctrl-C.

    `edit` returns a text as the user changed it, or nothing if it is to stay as it is.
    """

    def read(self, runner: asyncio.Runner, prompt: str) -> str: ...

    async def edit(self, text: str) -> str: ...


class PlainEditor:
    """Reads standard input line by line; shows the prompt only to a person."""

    def read(self, runner: asyncio.Runner, prompt: str) -> str:
        if sys.stdin.isatty():
            sys.stdout.write(prompt)
            sys.stdout.flush()
        line = sys.stdin.buffer.readline(LONGEST_LINE)
        if not line:
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\r\n")

    async def edit(self, text: str) -> str:
        if sys.stdin.isatty():
            sys.stderr.write(f"{for_terminal(text)}\nnew text: ")
            sys.stderr.flush()
        return sys.stdin.buffer.readline(LONGEST_LINE).decode("utf-8", "replace").strip()
