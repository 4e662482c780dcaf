"""The meaning of turns as vectors: half a byte for each number, and one bit of it for a first look at many.

A million turns are too many to multiply in the time of a search. Their signs are compared first, a bit for each number,
half of them and then all, and only the nearest are weighed. Half a byte is as good as a whole one for that, and is half
as much to keep at hand.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import make_directory, write_at

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Best = Callable[[Rows, Floats, int], Rows]  # rows, what they are worth and how many of them: the places of the best
EXACT = 4_000  # so many rows are weighed exactly without a first look
_WIDER = 8  # times as many as are wanted pass the look at all signs,
_COARSER = 12  # and so many times more the first look, at half of them
_CROWD = 4  # times as many are looked at where many are the same
_DIGITS = 5  # of a cosine
_PART, _SAMPLE = 1 << 16, 1 << 14
_ZERO = 8  # how a half byte says 0, so that -7 to 7 fit


class Embedder(Protocol):
    """Turns texts into vectors of length 1. The name tells its vectors from those of any other."""

    name: str
    size: int  # how many numbers a vector has: a multiple of 64

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text; a text without meaning is a row of zeros."""


class Vectors:
    """The vectors of one embedder, by row."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        self._directory, self._name, self._size = directory, embedder.name, embedder.size
        self._rows = 0
        self._pairs: NDArray[np.uint8] = np.empty((0, self._size // 2), np.uint8)
        self._signs: list[NDArray[np.uint64]] = []  # of 64 numbers each, because what lies in a row is compared faster

    def path(self, kind: str) -> Path:
        return self._directory / f"{self._name}.{kind}"

    def show(self, rows: int) -> None:
        """Map the first rows. Raises `OSError` or `ValueError` if there are fewer."""
        if rows != self._rows:
            self._pairs = np.asarray(np.memmap(self.path("pairs"), np.uint8, "r", shape=(rows, self._size // 2)))
            files = [self.path(f"signs-{part}") for part in range(self._size // 64)]
            self._signs = [np.asarray(np.memmap(file, np.uint64, "r", shape=(rows,))) for file in files]
            self._rows = rows

    def write(self, start: int, vectors: Floats) -> None:
        """Put vectors at `start`, over whatever was left there. Raises `OSError`."""
        make_directory(self._directory)
        most = np.abs(vectors).max(axis=1, keepdims=True)
        scaled = np.rint(vectors * (7 / np.maximum(most, 1e-9)) + _ZERO).astype(np.uint8)
        first, second = np.hsplit(scaled, 2)
        write_at(self.path("pairs"), [(start * (self._size // 2), (first | second << 4).tobytes())])
        for part, signs in enumerate(np.packbits(vectors > 0, axis=1).view(np.uint64).T):
            write_at(self.path(f"signs-{part}"), [(start * 8, signs.tobytes())])

    def likeness(self, asked: Floats, rows: Rows) -> Floats:
        """How near each of these rows is to what is asked: the cosine, and 0 for rows that have no vector."""
        found = np.zeros(len(rows), np.float32)
        there = rows < self._rows
        if there.any():
            pairs, half = self._pairs[rows[there]], self._size // 2
            dots, squares = np.float32(0), np.float32(1e-9)
            for numbers, wanted in ((pairs & 15, asked[:half]), (pairs >> 4, asked[half:])):
                numbers = numbers.astype(np.float32)  # each half alone, which is several times faster than both
                numbers -= _ZERO
                # not by `@`, which wakes a thread for each core: at this size that takes longer than it saves
                dots = dots + np.einsum("ij,j->i", numbers, wanted)
                squares = squares + np.einsum("ij,ij->i", numbers, numbers)
            found[there] = dots / np.sqrt(squares)
        return found

    def nearest(self, asked: Floats, limit: int, best: Best, choices: Iterable[Rows | None] = (None,)) -> Rows:
        """The rows nearest in meaning: so many of each choice of rows; None are all of them."""
        signs, half = np.packbits(asked > 0).view(np.uint64), len(self._signs) // 2 or 1
        coarse, found = None, list[int]()
        for rows in choices:
            if (self._rows if rows is None else len(rows)) > EXACT:
                coarse = _distance(self._signs[:half], signs[:half]) if coarse is None else coarse
                near = _smallest(coarse if rows is None else coarse[rows], limit * _WIDER * _COARSER)
                rows = near if rows is None else rows[near]
                rest = [words[rows] for words in self._signs[half:]]
                fine = coarse[rows] + (_distance(rest, signs[half:]).astype(np.uint16) if rest else 0)
                rows = rows[_smallest(fine, limit * _WIDER)]
            elif rows is None:
                rows = np.arange(self._rows)
            found += rows[best(rows, np.round(self.likeness(asked, rows), _DIGITS), limit)].tolist()
        return np.fromiter(dict.fromkeys(found), np.int64)


def _distance(signs: Sequence[NDArray[np.uint64]], asked: NDArray[np.uint64]) -> NDArray[Any]:
    """In how many signs each row differs, a part of the rows at a time, so that what is reckoned with stays at hand."""
    distance = np.zeros(len(signs[0]), np.uint8 if len(signs) < 4 else np.uint16)  # 4 times 64 is too much for a byte
    for start in range(0, len(distance), _PART):
        found = distance[start : start + _PART]
        for words, want in zip(signs, asked, strict=True):
            np.add(found, np.bitwise_count(words[start : start + _PART] ^ want), out=found)
    return distance


def _smallest(values: NDArray[Any], count: int) -> Rows:
    """Where the smallest values are, with all that are as small as the last of them; `count` tells how many, or so.

    There are few different ones, so a sample tells about how small those are.
    """
    if count >= len(values):
        return np.arange(len(values))
    sample = values[:: len(values) // _SAMPLE + 1]
    edge = int(np.partition(sample, place := count * len(sample) // len(values))[place])
    while np.count_nonzero(values <= edge) < count:
        edge += 1
    while edge and np.count_nonzero(values < edge) >= count:
        edge -= 1
    below, level = np.flatnonzero(values < edge), np.flatnonzero(values == edge)
    return np.concatenate([below, level[: _CROWD * count - len(below)]])
