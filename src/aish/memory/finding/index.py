"""The index of all conversations. It is derived from the feed and can be deleted at any time.

<index>/catalogue.db   which conversations are indexed, up to where, and how many rows are valid; written last
<index>/*.column       time, position, speaker and other properties of each turn
<index>/words/         the words of each turn (tantivy)
<index>/blocks/        the words of blocks of consecutive turns, because a single turn may not name its topic
<index>/term_sets      which words each turn has, as hashes
<index>/*.pairs, *.signs-*  the vectors of each embedder that was used

One process writes at a time and holds `lock`; readers never wait. Unindexed turns are read from the feed.
"""

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aish.memory.finding.allocation import return_large_blocks
from aish.memory.finding.catalogue import Catalogue
from aish.memory.finding.columns import Columns
from aish.memory.finding.feed import Feed
from aish.memory.finding.index_writer import IndexWriter, Progress, count_terms
from aish.memory.finding.term_sets import TermSets
from aish.memory.finding.vectors import Embedder
from aish.memory.finding.word_index import WordIndex
from aish.storage.files import make_directory
from aish.values.errors import StoreTrouble

FORMAT = 6


class Indexer:
    """Writes the index, one process at a time."""

    def __init__(self, feed: Feed, directory: Path, embedder: Embedder | None = None) -> None:
        self._feed, self._directory, self._embedder = feed, directory, embedder

    def catch_up(self, progress: Progress | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Index what is new, changed or deleted. False if another process is indexing.

        Raises `StoreTrouble`, also if everything is indexed except conversations that cannot be read.
        """
        try:
            with self._lock() as locked:
                if not locked:
                    return False
                return_large_blocks()
                catalogue = self._open_catalogue()
                try:
                    IndexWriter(self._feed, self._directory, catalogue, self._embedder, progress, stop).run()
                finally:
                    catalogue.close()
                    if not catalogue.path.exists():  # deleted by a purge: delete what was written since, too
                        delete_index(self._directory)
        except (OSError, sqlite3.Error, ValueError) as error:
            raise StoreTrouble(f"cannot write the index in {self._directory}: {error}") from error
        return True

    @contextmanager
    def _lock(self) -> Iterator[bool]:
        make_directory(self._directory)
        fd = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
        finally:
            os.close(fd)

    def _open_catalogue(self) -> Catalogue:
        """The catalogue of the index, if it is intact; otherwise that of a new index."""
        try:
            catalogue = Catalogue(self._directory / "catalogue.db", writable=True)
            if self._is_intact(catalogue):
                return catalogue
            catalogue.close()
        except (sqlite3.Error, ValueError):
            pass  # not a catalogue: the index cannot be used
        delete_index(self._directory)
        for name in ("words", "blocks"):
            (self._directory / name).mkdir(mode=0o700)
        catalogue = Catalogue(self._directory / "catalogue.db", writable=True)
        with catalogue.transaction():
            catalogue.set_fact("format", FORMAT)
        return catalogue

    def _is_intact(self, catalogue: Catalogue) -> bool:
        if catalogue.fact("format") != str(FORMAT):
            return False
        rows, columns = catalogue.rows, Columns(self._directory)
        try:
            columns.map_rows(rows)
            TermSets(self._directory).open(count_terms(columns, rows))
            words, _ = WordIndex(self._directory / "words"), WordIndex(self._directory / "blocks")
        except (OSError, ValueError):
            return False
        if words.size != catalogue.turns and catalogue.fact("busy") != "1":
            return False
        return rows == 0 or bool(columns["length"][rows - 1] > 0)  # a power cut leaves zeros


def delete_index(directory: Path) -> None:
    """Delete an index, its catalogue first, so that a partial delete is never read as an index.

    Readers continue with the files they have open. Raises `OSError`.
    """
    parts = directory.iterdir() if directory.is_dir() else ()
    for path in sorted(parts, key=lambda path: path.name != "catalogue.db"):
        if path.name == "lock":
            continue  # a running indexer holds it; without it a second one could start
        if path.is_dir() and not path.is_symlink():  # renamed first, so that a running indexer cannot add files to it
            shutil.rmtree(path.rename(path.with_name(f"{path.name}-{os.getpid()}-{time.monotonic_ns()}")))
        else:
            path.unlink(missing_ok=True)
