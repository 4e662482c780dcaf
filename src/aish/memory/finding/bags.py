"""The bag of each turn: which terms it has, as numbers, so that a search need not read what it only weighs."""

import os
import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import write_at

Numbers = NDArray[np.uint32]
_SIZE = 4  # bytes of a number


def numbers_of(terms: Iterable[str]) -> Numbers:
    """A number for each term, each once. Two terms in four thousand millions share one, which nobody will notice."""
    return np.array([zlib.crc32(term.encode()) for term in dict.fromkeys(terms)], np.uint32)


class Bags:
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

    def write(self, start: int, bags: Sequence[Numbers]) -> None:
        """Put bags after the first `start` numbers, over whatever was left there. Raises `OSError`."""
        data = np.concatenate(bags).tobytes() if bags else b""
        write_at(self._path, [(start * _SIZE, data)])

    def which(self, terms: Sequence[str], places: Mapping[int, tuple[int, int]]) -> dict[int, set[str]]:
        """Which of the terms each row has, by where its bag begins and how large it is."""
        if not terms or not places:
            return {}
        asked = {zlib.crc32(term.encode()): term for term in terms}
        parts = [os.pread(self._fd, size * _SIZE, start * _SIZE) for start, size in places.values()]
        all_of_them = np.frombuffer(b"".join(parts), np.uint32)
        rows = np.repeat(np.arange(len(parts)), [len(part) // _SIZE for part in parts])
        hits = np.flatnonzero(np.isin(all_of_them, np.fromiter(asked, np.uint32)))
        names, found = list(places), dict[int, set[str]]()
        for place, number in zip(rows[hits].tolist(), all_of_them[hits].tolist(), strict=True):
            found.setdefault(names[place], set()).add(asked[number])
        return found
