"""Keeps the vectors of one embedder up to date with the rows of the index.

The index is usable without vectors, and each embedder has its own files. A process that searches without vectors, or
with another embedder, never makes the others rebuild theirs.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from aish.memory.finding.catalogue import Catalogue, IndexedConversation
from aish.memory.finding.columns import Columns
from aish.memory.finding.feed import Feed
from aish.memory.finding.turn_text import indexed_text, searchable_text
from aish.memory.finding.vectors import Embedder, Vectors, pack
from aish.values.errors import StoreTrouble

_TURNS_PER_COMMIT = 1_000  # of 32,000 characters at most
_TEXTS = 100  # embedded at a time; what is computed for them takes ten times their size


class TurnVectors:
    """Writes vectors, under the lock of the indexer."""

    def __init__(self, feed: Feed, directory: Path, catalogue: Catalogue, embedder: Embedder) -> None:
        self._feed, self._catalogue, self._embedder = feed, catalogue, embedder
        self._vectors = Vectors(directory, embedder)
        self.rows = catalogue.vector_rows(embedder.name)
        try:
            self._vectors.map_rows(self.rows)
        except (OSError, ValueError):
            self.rows = 0  # the files are missing or damaged

    def add(self, texts: Sequence[str]) -> None:
        """Write the vectors of the next turns; `record_rows` in a transaction makes them valid. Raises `OSError`."""
        starts = range(0, len(texts), _TEXTS)
        packed = [pack(self._embedder.embed(texts[start : start + _TEXTS])) for start in starts]
        self._catalogue.require_current()  # embedding is slow; the index may have been deleted in the meantime
        self._vectors.write(self.rows, packed)
        self.rows += len(texts)

    def record_rows(self) -> None:
        self._catalogue.set_vector_rows(self._embedder.name, self.rows)

    def add_missing(
        self, columns: Columns, stop: Callable[[], bool], progress: Callable[[int, int], None] | None
    ) -> None:
        """Add vectors for rows that have none; the texts are read from the feed. Raises `OSError`."""
        total, start = self._catalogue.rows, self.rows
        by_id = {known.id: known for known in self._catalogue.conversations().values()} if start < total else {}
        while self.rows < total and not stop():
            rows = range(self.rows, min(self.rows + _TURNS_PER_COMMIT, total))
            texts: list[str] = []
            for id, group in groupby(rows, columns["conversation"].__getitem__):
                texts += self._texts(by_id.get(int(id)), columns, list(group))
            self.add(texts)
            with self._catalogue.transaction():
                self.record_rows()
                self._catalogue.set_fact("commits", self._catalogue.commits + 1)
            if progress:
                progress(self.rows - start, total - start)

    def _texts(self, known: IndexedConversation | None, columns: Columns, rows: Sequence[int]) -> list[str]:
        """The texts of rows of one conversation; empty where they cannot be read."""
        if known is None:
            return [""] * len(rows)
        try:
            return read_indexed_texts(self._feed, known, columns, rows)
        except StoreTrouble:
            return [""] * len(rows)


def read_indexed_texts(feed: Feed, known: IndexedConversation, columns: Columns, rows: Sequence[int]) -> list[str]:
    """The texts under which rows of one conversation are indexed; empty for a deleted turn. Raises `StoreTrouble`."""
    positions, lengths = columns["position"], columns["length"]
    entries = feed.entries_at(known.name, [(int(positions[row]), int(lengths[row])) for row in rows])
    return [indexed_text(searchable_text(entry), entry.number, known.title) if entry else "" for entry in entries]
