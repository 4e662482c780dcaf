"""The bag of each turn: which terms it has, as numbers, so that a search need not read what it only weighs."""

import os
import weakref
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import write_at

Numbers = NDArray[np.uint32]
_SIZE = 4  # bytes of a number


def numbers_of(terms: Iterable[str]) -> Numbers:
    """A number for each term, each once. Two terms in four thousand millions share one, which nobody will notice."""
    return np.array([zlib.crc32(term.encode()) for term in dict.fromkeys(terms)], np.uint32)


class TermSets:
    """All bags in one file, one after the other; columns tell where each begins and how large it is."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "bags"
        self._fd = -1

    def show(self, size: int) -> None:
        """Open the file for reading. Raises `OSError` or `ValueError` if it has fewer than `size` numbers.

        It is not mapped: a search looks into a few hundred bags, and each would bring its surroundings into memory.
        """
        if size and self._fd < 0:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._fd)
        if size and os.fstat(self._fd).st_size < size * _SIZE:
            raise ValueError(f"{self._path} is too short")

    def write(self, start: int, term_sets: Sequence[Numbers]) -> None:
        """Put bags after the first `start` numbers, over whatever was left there. Raises `OSError`."""
        data = np.concatenate(term_sets).tobytes() if term_sets else b""
        write_at(self._path, [(start * _SIZE, data)])

    def which(self, terms: Sequence[str], places: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
        """Which of the terms each bag has, by where it begins and how large it is: a row for each, a column a term."""
        # Where all bags are empty there is no file.
        parts = [os.pread(self._fd, size * _SIZE, start * _SIZE) if size else b"" for start, size in places]
        has = np.zeros((len(parts), len(terms)), np.bool_)
        if has.size:
            asked = np.array([zlib.crc32(term.encode()) for term in terms], np.uint32)
            numbers = np.frombuffer(b"".join(parts), np.uint32)
            rows = np.repeat(np.arange(len(parts)), [len(part) // _SIZE for part in parts])
            order = np.argsort(asked)
            columns = order[np.minimum(np.searchsorted(asked, numbers, sorter=order), len(asked) - 1)]
            same = asked[columns] == numbers
            has[rows[same], columns[same]] = True
        return has
