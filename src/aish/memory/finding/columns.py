"""The columns of the index: the properties of each turn except its words, one memory-mapped file per property.

Rows are only appended. Readers ignore rows beyond the number in the catalogue, so the next indexer can overwrite what a
killed one left there. Files are never truncated, because that would crash a process that has them mapped.
"""

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import make_directory, write_at

NONE = -1  # no turn before, no turn after, or the conversation of an invalid row
COLUMNS = {
    "time": "<i8",  # milliseconds since 1970
    "position": "<i8",  # of the turn in the feed, and its length there
    "length": "<i4",
    "number": "<i4",  # of the turn in its conversation
    "conversation": "<i4",
    "channel": "<i4",
    "speaker": "<i4",
    "before": "<i4",  # the row of the previous turn of the conversation, and of the next one
    "after": "<i4",
    "block": "<i4",  # the first row of its block
    "first_term": "<i8",  # where its term set starts in the file of all, and its size
    "term_count": "<i4",
    "role": "<i1",
    "traits": "<i1",  # see `ranking.traits`
}


def clamp_number(number: int) -> int:
    """The number of a turn as the index stores it; a conversation edited by hand may have any number."""
    return min(max(number, 0), (1 << 31) - 1)


class Columns:
    """The files of all columns, for one reader or one writer."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mapped: dict[str, NDArray[Any]] = {}
        self._rows = 0

    def path(self, name: str) -> Path:
        return self._directory / f"{name}.column"

    def map_rows(self, rows: int) -> None:
        """Map the first `rows` rows. Raises `OSError` or `ValueError` if the files have fewer."""
        if rows != self._rows or not self._mapped:
            self._mapped = {
                # plain arrays: each access to a `memmap` costs more
                name: np.asarray(np.memmap(self.path(name), dtype=kind, mode="r", shape=(rows,)) if rows else (), kind)
                for name, kind in COLUMNS.items()
            }
            self._rows = rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._mapped[name]

    def write(self, start: int, values: Mapping[str, "array[int]"]) -> None:
        """Write rows at `start`, over whatever an earlier run left there. Raises `OSError`."""
        make_directory(self._directory)
        for name, kind in COLUMNS.items():
            data = np.asarray(values[name], dtype=kind)
            write_at(self.path(name), [(start * data.itemsize, data.tobytes())])

    def overwrite(self, name: str, rows: Sequence[int], values: Sequence[int]) -> None:
        """Change one column in a few rows. Readers may see the old or the new values."""
        data = np.asarray(values, dtype=COLUMNS[name])
        pieces = [(row * data.itemsize, one.tobytes()) for row, one in zip(rows, data, strict=True)]
        if pieces:
            write_at(self.path(name), pieces)
