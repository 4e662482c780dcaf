"""The reply of a command: a text or a table for users, and data for programs."""

from collections.abc import Sequence
from typing import Any

from aish.values.named_tuple import NamedTuple


class Table(NamedTuple):
    """Rows with headings. `wide` is the column that gets the remaining width; `styles` has one screen style per row."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    styles: list[str]
    wide: int


class Reply(NamedTuple):
    """The result of a command. `found` is false when nothing was found or done.

    `marks` are the ranges of characters to highlight, in order. `difference`: the text is one between files.
    `paged`: a text that is longer than the screen is shown page by page.
    """

    text: str = ""
    table: Table | None = None
    data: Any = None
    found: bool = True
    marks: tuple[tuple[int, int], ...] = ()
    difference: bool = False
    paged: bool = False

    def after(self, text: str) -> "Reply":
        """Return the reply with a text in front."""
        marks = tuple((begin + len(text), end + len(text)) for begin, end in self.marks)
        return self._replace(text=f"{text}{self.text}", marks=marks)
