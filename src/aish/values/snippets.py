"""Snippets: the most relevant part of a text in the available width.

Pure: takes text and ranges, returns text and ranges. Width is counted in terminal columns by default.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

Places = list[tuple[int, int]]  # ranges of characters

_MOST = 20  # marks to consider together
_NEAR = 12  # characters to search for the start of a word


def width(letter: str) -> int:
    """Return the number of columns of a character."""
    if letter.isascii():
        return 1
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cells(text: str) -> int:
    """Return the number of columns of a text."""
    return len(text) if text.isascii() else sum(map(width, text))


def snippet(
    text: str, marks: Sequence[tuple[int, int]], room: int, size: Callable[[str], int] = width
) -> tuple[str, Places]:
    """Return the part with the most marked words, … where text is left out, and the marks in it."""
    ends = [0, *accumulate(map(size, text))]  # total width up to each character
    if ends[-1] <= room:
        return text, list(marks)
    begin, end = _part(text, marks, ends, max(room, 3))
    head, tail = "…" if begin else "", "…" if end < len(text) else ""
    shift = len(head) - begin
    inside = [(max(first, begin), min(last, end)) for first, last in marks if first < end and last > begin]
    return f"{head}{text[begin:end]}{tail}", [(first + shift, last + shift) for first, last in inside]


def _part(text: str, marks: Sequence[tuple[int, int]], ends: list[int], room: int) -> tuple[int, int]:
    """Return the range to show; the start of the text by default."""

    def fitting(begin: int, most: int) -> int:
        """Return the end of the part from `begin` that fits in `most` columns."""
        return bisect_right(ends, ends[begin] + most) - 1

    first, last = _best(text, marks, lambda begin, end: ends[end] - ends[begin] <= room - 2)
    if ends[last] <= room - 1:
        return 0, fitting(0, room - 1)
    spare = max(room - 2 - (ends[last] - ends[first]), 0)
    if ends[-1] - ends[first] <= room - 1:  # the rest of the text fits, so show more before it
        begin = bisect_left(ends, ends[-1] - (room - 1))
    else:
        begin = bisect_left(ends, max(ends[first] - spare // 2, 0))
    begin = min(_word_start(text, begin), first)
    end = fitting(begin, room - 2)
    return begin, len(text) if ends[-1] - ends[begin] <= room - 1 else end


def _best(text: str, marks: Sequence[tuple[int, int]], fits: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the first run of marks that fits and has the most different words."""
    best, most = (0, 0), (0, 0)
    for place, (begin, _) in enumerate(marks):
        run = [mark for mark in marks[place : place + _MOST] if fits(begin, mark[1])] or [marks[place]]
        worth = len({text[first:last].casefold() for first, last in run}), len(run)
        if worth > most:
            best, most = (begin, run[-1][1]), worth
    return best


def _word_start(text: str, begin: int) -> int:
    """Return the start of the next word if it is near; never splits a letter from its accents."""
    while 0 < begin < len(text) and width(text[begin]) == 0:
        begin += 1  # forward, because going back would take width from the text after it
    if begin == 0 or text[begin - 1] == " ":
        return begin
    blank = text.find(" ", begin, begin + _NEAR)
    return blank + 1 if blank >= 0 else begin
