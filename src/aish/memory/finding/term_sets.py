"""The set of terms of each turn, as hashes, so that a search can score a turn without reading its text."""

import os
import weakref
import zlib
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import write_at

TermHashes = Sequence[int]
_SIZE = 4  # bytes of a hash


def hash_terms(terms: Iterable[str]) -> TermHashes:
    """The CRC-32 of each distinct term. Collisions are accepted."""
    return [*map(zlib.crc32, map(str.encode, dict.fromkeys(terms)))]


class TermSets:
    """All term sets in one file, one after the other; two columns hold the start and the size of each."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "term_sets"
        self._fd = -1

    def open(self, size: int) -> None:
        """Open the file for reading. Raises `OSError` or `ValueError` if it has fewer than `size` hashes.

        It is not mapped: a search reads a few hundred sets, and each would bring a whole page into memory.
        """
        if size and self._fd < 0:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._fd)
        if size and os.fstat(self._fd).st_size < size * _SIZE:
            raise ValueError(f"{self._path} is too short")

    def write(self, start: int, hashes: "array[int]") -> None:
        """Write sets after the first `start` hashes, over whatever an earlier run left there. Raises `OSError`."""
        write_at(self._path, [(start * _SIZE, np.asarray(hashes, np.uint32).tobytes())])

    def contains(self, terms: Sequence[str], places: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
        """Which of the terms each set has: one row per set, given by its start and size, and one column per term."""
        # If all sets are empty, there is no file.
        parts = [os.pread(self._fd, size * _SIZE, start * _SIZE) if size else b"" for start, size in places]
        has = np.zeros((len(parts), len(terms)), np.bool_)
        if has.size:
            asked = np.array([zlib.crc32(term.encode()) for term in terms], np.uint32)
            hashes = np.frombuffer(b"".join(parts), np.uint32)
            rows = np.repeat(np.arange(len(parts)), [len(part) // _SIZE for part in parts])
            order = np.argsort(asked)
            columns = order[np.minimum(np.searchsorted(asked, hashes, sorter=order), len(asked) - 1)]
            same = asked[columns] == hashes
            has[rows[same], columns[same]] = True
        return has
