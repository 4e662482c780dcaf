"""The embedding vectors of turns: four bits per component, and a separate sign bit to preselect candidates.

Multiplying a million vectors takes longer than a search may take. So the signs are compared first (half of the
components, then all), and exact scores are computed only for the nearest. Four bits rank as well as eight and need half
the memory.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import make_directory, write_at
from aish.values.named_tuple import NamedTuple

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Best = Callable[[Rows, Floats, int], Rows]  # takes rows, their scores and a limit; returns the places of the best
EXACT = 4_000  # up to this number of rows, all get exact scores without a preselection
_FINE_FACTOR = 8  # times the limit pass the comparison of all signs,
_COARSE_FACTOR = 12  # and times as many the first one, of half the signs
_TIE_FACTOR = 4  # times the limit are kept if many have the same distance
_DIGITS = 5  # of a cosine; scores are rounded so that ties are ties on every machine
_PART, _SAMPLE = 1 << 16, 1 << 14
_ZERO = 8  # the offset of the four-bit components, which are -7 to 7


class Embedder(Protocol):
    """Turns texts into vectors of length 1. The name identifies the files of its vectors."""

    name: str
    size: int  # components of a vector: a multiple of 64

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row per text; a text without any known word is a row of zeros."""


class PackedVectors(NamedTuple):
    """Vectors as they are stored: a sixth of their size."""

    pairs: NDArray[np.uint8]
    signs: NDArray[np.uint64]


def pack(vectors: Floats) -> PackedVectors:
    """Two components per byte, and the signs of 64 components per number."""
    most = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = np.rint(vectors * (7 / np.maximum(most, 1e-9)) + _ZERO).astype(np.uint8)
    first, second = np.hsplit(scaled, 2)
    return PackedVectors(first | second << 4, np.packbits(vectors > 0, axis=1).view(np.uint64))


class Vectors:
    """The vectors of one embedder, by row."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        self._directory, self._name, self._size = directory, embedder.name, embedder.size
        self._rows = 0
        self._pairs: NDArray[np.uint8] = np.empty((0, self._size // 2), np.uint8)
        self._signs: list[NDArray[np.uint64]] = []  # of 64 components each: contiguous data is compared faster

    def path(self, kind: str) -> Path:
        return self._directory / f"{self._name}.{kind}"

    def map_rows(self, rows: int) -> None:
        """Map the first rows. Raises `OSError` or `ValueError` if there are fewer."""
        if rows != self._rows:
            self._pairs = np.asarray(np.memmap(self.path("pairs"), np.uint8, "r", shape=(rows, self._size // 2)))
            files = [self.path(f"signs-{part}") for part in range(self._size // 64)]
            self._signs = [np.asarray(np.memmap(file, np.uint64, "r", shape=(rows,))) for file in files]
            self._rows = rows

    def write(self, start: int, parts: Sequence[PackedVectors]) -> None:
        """Write vectors at `start`, over whatever an earlier run left there. Raises `OSError`."""
        make_directory(self._directory)
        write_at(self.path("pairs"), [(start * (self._size // 2), b"".join(pairs.tobytes() for pairs, _ in parts))])
        for part in range(self._size // 64):
            data = b"".join(signs[:, part].tobytes() for _, signs in parts)
            write_at(self.path(f"signs-{part}"), [(start * 8, data)])

    def similarity(self, asked: Floats, rows: Rows) -> Floats:
        """The cosine of each row with `asked`; 0 for rows without a vector."""
        found = np.zeros(len(rows), np.float32)
        there = rows < self._rows
        if there.any():
            pairs, half = self._pairs[rows[there]], self._size // 2
            dots, squares = np.float32(0), np.float32(1e-9)
            for numbers, wanted in ((pairs & 15, asked[:half]), (pairs >> 4, asked[half:])):
                numbers = numbers.astype(np.float32)  # one half at a time, which is several times faster
                numbers -= _ZERO
                # not `@`, which starts a thread per core and is slower at this size
                dots = dots + np.einsum("ij,j->i", numbers, wanted)
                squares = squares + np.einsum("ij,ij->i", numbers, numbers)
            found[there] = dots / np.sqrt(squares)
        return found

    def nearest(self, asked: Floats, limit: int, best: Best, choices: Iterable[Rows | None] = (None,)) -> Rows:
        """The `limit` nearest rows of each choice of rows; None means all rows."""
        signs, half = np.packbits(asked > 0).view(np.uint64), len(self._signs) // 2 or 1
        coarse, found = None, list[int]()
        for rows in choices:
            if (self._rows if rows is None else len(rows)) > EXACT:
                coarse = _distance(self._signs[:half], signs[:half]) if coarse is None else coarse
                near = _smallest(coarse if rows is None else coarse[rows], limit * _FINE_FACTOR * _COARSE_FACTOR)
                rows = near if rows is None else rows[near]
                rest = [words[rows] for words in self._signs[half:]]
                fine = coarse[rows] + (_distance(rest, signs[half:]).astype(np.uint16) if rest else 0)
                rows = rows[_smallest(fine, limit * _FINE_FACTOR)]
            elif rows is None:
                rows = np.arange(self._rows)
            found += rows[best(rows, np.round(self.similarity(asked, rows), _DIGITS), limit)].tolist()
        return np.fromiter(dict.fromkeys(found), np.int64)


def _distance(signs: Sequence[NDArray[np.uint64]], asked: NDArray[np.uint64]) -> NDArray[Any]:
    """The number of different signs of each row, computed in parts that fit the processor cache."""
    distance = np.zeros(len(signs[0]), np.uint8 if len(signs) < 4 else np.uint16)  # 4 times 64 does not fit a byte
    for start in range(0, len(distance), _PART):
        found = distance[start : start + _PART]
        for words, want in zip(signs, asked, strict=True):
            np.add(found, np.bitwise_count(words[start : start + _PART] ^ want), out=found)
    return distance


def _smallest(values: NDArray[Any], count: int) -> Rows:
    """The places of about `count` smallest values, with ties of the last one up to a limit.

    There are few distinct values, so a sample gives a good first guess of the threshold.
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
    return np.concatenate([below, level[: _TIE_FACTOR * count - len(below)]])
