"""The columns of the index: what is known of each turn but its words, a file for each, mapped into memory.

Rows are only added. A reader counts on no more rows than the catalogue names, so that what a killed indexer left behind
them is written over by the next one. Files are never cut, because that would end whoever has them mapped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aish.storage.files import make_directory, write_at

NONE = -1  # no turn before, no turn after, or a row that does not count any more
COLUMNS = {
    "time": "<i8",  # milliseconds since 1970
    "offset": "<i8",  # where its line begins in the journal
    "length": "<i4",
    "number": "<i4",  # in its conversation
    "journal": "<i4",
    "channel": "<i4",
    "speaker": "<i4",
    "before": "<i4",  # the row of the turn before it in the conversation, and the one after
    "after": "<i4",
    "block": "<i4",  # the row that its block begins with
    "bag": "<i8",  # where its terms begin among those of all, and how many they are
    "bag_size": "<i4",
    "role": "<i1",
    "traits": "<i1",  # what a question may want of it, as bits
}


def numbered(number: int) -> int:
    """The number of a turn as it is kept; a journal that was edited by hand may have any."""
    return min(max(number, 0), (1 << 31) - 1)


class Columns:
    """The files of all columns, for one reader or one writer."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mapped: dict[str, NDArray[Any]] = {}
        self._rows = 0

    def path(self, name: str) -> Path:
        return self._directory / f"{name}.column"

    def show(self, rows: int) -> None:
        """Map the first `rows` rows. Raises `OSError` or `ValueError` if the files have fewer."""
        if rows != self._rows or not self._mapped:
            self._mapped = {
                # as plain arrays, which cost less at each use
                name: np.asarray(np.memmap(self.path(name), dtype=kind, mode="r", shape=(rows,)) if rows else (), kind)
                for name, kind in COLUMNS.items()
            }
            self._rows = rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._mapped[name]

    def write(self, start: int, values: Mapping[str, Sequence[int]]) -> None:
        """Put rows at `start`, over whatever was left there. Raises `OSError`."""
        make_directory(self._directory)
        for name, kind in COLUMNS.items():
            data = np.asarray(values[name], dtype=kind)
            write_at(self.path(name), [(start * data.itemsize, data.tobytes())])

    def mend(self, name: str, rows: Sequence[int], values: Sequence[int]) -> None:
        """Change one column in a few rows; readers may see it before or after."""
        data = np.asarray(values, dtype=COLUMNS[name])
        pieces = [(row * data.itemsize, one.tobytes()) for row, one in zip(rows, data, strict=True)]
        if pieces:
            write_at(self.path(name), pieces)
