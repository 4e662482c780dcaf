"""Snippets: the part of a text that matters, in as much room as there is.

Pure: text and places in, text and places out. Room is counted in columns of a terminal unless it is told otherwise.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

Places = list[tuple[int, int]]  # from which character to which other

_MOST = 20  # marks that are looked at together
_NEAR = 12  # characters to the left within which a word is not cut


def width(letter: str) -> int:
    """How many columns a character takes."""
    if letter.isascii():
        return 1
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cells(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(width, text))


def snippet(
    text: str, marks: Sequence[tuple[int, int]], room: int, size: Callable[[str], int] = width
) -> tuple[str, Places]:
    """The part with the most of the marked words, … where something was left out, and the marks in it."""
    ends = [0, *accumulate(map(size, text))]  # the room of all up to each character
    if ends[-1] <= room:
        return text, list(marks)
    begin, end = _part(text, marks, ends, max(room, 3))
    head, tail = "…" if begin else "", "…" if end < len(text) else ""
    shift = len(head) - begin
    inside = [(max(first, begin), min(last, end)) for first, last in marks if first < end and last > begin]
    return f"{head}{text[begin:end]}{tail}", [(first + shift, last + shift) for first, last in inside]


def _part(text: str, marks: Sequence[tuple[int, int]], ends: list[int], room: int) -> tuple[int, int]:
    """From where to where: the beginning if nothing else matters more."""

    def fitting(begin: int, most: int) -> int:
        """Where a part ends that has so much room."""
        return bisect_right(ends, ends[begin] + most) - 1

    first, last = _best(text, marks, lambda begin, end: ends[end] - ends[begin] <= room - 2)
    if ends[last] <= room - 1:
        return 0, fitting(0, room - 1)
    spare = max(room - 2 - (ends[last] - ends[first]), 0)
    if ends[-1] - ends[first] <= room - 1:  # all the rest fits, so that more of what is before it does
        begin = bisect_left(ends, ends[-1] - (room - 1))
    else:
        begin = bisect_left(ends, max(ends[first] - spare // 2, 0))
    begin = min(_word_start(text, begin), first)
    end = fitting(begin, room - 2)
    return begin, len(text) if ends[-1] - ends[begin] <= room - 1 else end


def _best(text: str, marks: Sequence[tuple[int, int]], fits: Callable[[int, int], bool]) -> tuple[int, int]:
    """The run of marks that fits and has the most different words; the first of those."""
    best, most = (0, 0), (0, 0)
    for place, (begin, _) in enumerate(marks):
        run = [mark for mark in marks[place : place + _MOST] if fits(begin, mark[1])] or [marks[place]]
        worth = len({text[first:last].casefold() for first, last in run}), len(run)
        if worth > most:
            best, most = (begin, run[-1][1]), worth
    return best


def _word_start(text: str, begin: int) -> int:
    """The start of the next word, if it is near; never the middle of a letter with its accents."""
    while 0 < begin < len(text) and width(text[begin]) == 0:
        begin += 1  # and not back, or there would be less room for what follows
    if begin == 0 or text[begin - 1] == " ":
        return begin
    blank = text.find(" ", begin, begin + _NEAR)
    return blank + 1 if blank >= 0 else begin
