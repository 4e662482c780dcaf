"""What a command gives back: a text or a table for people, and data for programs."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Table(NamedTuple):
    """Rows under headings. `wide` is the column that gets the room that is left; a row has a style of the screen."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    styles: list[str]
    wide: int


class Reply(NamedTuple):
    """The result of a command. `found` is false when there was nothing, or nothing was done.

    `marks` are characters of the text that matter most, from one place to another, in their order.
    """

    text: str = ""
    table: Table | None = None
    data: Any = None
    found: bool = True
    marks: tuple[tuple[int, int], ...] = ()

    def after(self, text: str) -> "Reply":
        """The same with a text before it."""
        marks = tuple((begin + len(text), end + len(text)) for begin, end in self.marks)
        return self._replace(text=f"{text}{self.text}", marks=marks)
