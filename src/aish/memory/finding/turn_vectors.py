"""The meanings of all turns: keeps the vectors of one embedder level with the rows of the index.

An index is good without them, and those of another embedder lie beside them in files of their own. So who searches by
words alone, or with other weights, never makes the index of anybody else anew.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from aish.memory.finding.backlog import LONGEST, searchable, titled
from aish.memory.finding.catalogue import Catalogue, Known
from aish.memory.finding.columns import Columns
from aish.memory.finding.vectors import Embedder, Vectors
from aish.memory.journal import entry_of

_CHUNK = 5_000  # turns between two notes of how far it is


class TurnVectors:
    """Writes vectors, under the lock of the indexer."""

    def __init__(self, sessions: Path, directory: Path, catalogue: Catalogue, embedder: Embedder) -> None:
        self._sessions, self._catalogue, self._embedder = sessions, catalogue, embedder
        self._vectors = Vectors(directory, embedder)
        self.rows = catalogue.vectors(embedder.name)
        try:
            self._vectors.show(self.rows)
        except (OSError, ValueError):
            self.rows = 0  # the files are not what they were

    def add(self, texts: Sequence[str]) -> None:
        """The meanings of the next turns; they count once `note` was called in a change. Raises `OSError`."""
        vectors = self._embedder.embed(texts)  # which takes a while
        self._catalogue.require()
        self._vectors.write(self.rows, vectors)
        self.rows += len(texts)

    def note(self) -> None:
        self._catalogue.note_vectors(self._embedder.name, self.rows)

    def fill(self, columns: Columns, stop: Callable[[], bool], progress: Callable[[int, int], None] | None) -> None:
        """Catch up with the rows, out of the journals. Raises `OSError`."""
        total, start = self._catalogue.rows, self.rows
        names = {known.id: known for known in self._catalogue.journals().values()} if start < total else {}
        while self.rows < total and not stop():
            rows = range(self.rows, min(self.rows + _CHUNK, total))
            texts: list[str] = []
            for journal, some in groupby(rows, columns["journal"].__getitem__):
                texts += self._texts(names.get(int(journal)), columns, list(some))
            self.add(texts)
            with self._catalogue.change():
                self.note()
                self._catalogue.note("commits", self._catalogue.commits + 1)
            if progress:
                progress(self.rows - start, total - start)

    def _texts(self, known: Known | None, columns: Columns, rows: Sequence[int]) -> list[str]:
        """What was said in rows of one journal; nothing where it is not there any more."""
        if known is None:
            return [""] * len(rows)
        try:
            with (self._sessions / f"{known.name}.jsonl").open("rb") as file:
                return [text_at(file, columns, row, known.title) for row in rows]
        except OSError:
            return [""] * len(rows)


def text_at(file: BinaryIO, columns: Columns, row: int, title: str) -> str:
    """What a row is found by, given its journal and the title of that; nothing if there is no turn any more."""
    file.seek(int(columns["offset"][row]))
    entry = entry_of(file.read(int(columns["length"][row])))
    return titled(searchable(entry), entry.number, title)[:LONGEST] if entry else ""
