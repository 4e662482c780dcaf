"""The index: everything that can be found, derived from the journals, and deletable at any time.

<index>/catalogue.db   which journals, how far, how many rows count: written last, so that it is always true
<index>/*.column       time, place, speaker … of each turn
<index>/words/         the words of each turn (tantivy)
<index>/blocks/        the words of a few turns in a row, which have a topic where a single turn may not name it
<index>/bags           which words each turn has, as numbers
<index>/*.pairs, *.signs-*  the vectors of each embedder that was used

One process writes at a time and holds `lock`; readers never wait. What is not in it yet is read from the journals.
"""

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aish.memory.finding.batch import Batch, Progress, bagged
from aish.memory.finding.catalogue import Catalogue
from aish.memory.finding.columns import Columns
from aish.memory.finding.term_sets import TermSets
from aish.memory.finding.vectors import Embedder
from aish.memory.finding.word_index import WordIndex
from aish.storage.files import make_directory
from aish.values.errors import StoreTrouble

FORMAT = 5


class Indexer:
    """Writes the index, one process at a time."""

    def __init__(self, sessions: Path, directory: Path, embedder: Embedder | None = None) -> None:
        self._sessions, self._directory, self._embedder = sessions, directory, embedder

    def catch_up(self, progress: Progress | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Take in what is new, changed or gone. False: somebody else is at it.

        Raises `StoreTrouble`, also when all is done but for journals that cannot be read.
        """
        try:
            with self._alone() as mine:
                if not mine:
                    return False
                catalogue = self._opened()
                try:
                    Batch(self._sessions, self._directory, catalogue, self._embedder, progress, stop).run()
                finally:
                    catalogue.close()
                    if not catalogue.path.exists():  # it was deleted, and what was written since would stay
                        drop(self._directory)
        except (OSError, sqlite3.Error, ValueError) as error:
            raise StoreTrouble(f"cannot write the index in {self._directory}: {error}") from error
        return True

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        make_directory(self._directory)
        fd = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
        finally:
            os.close(fd)

    def _opened(self) -> Catalogue:
        """The catalogue, of an index that is whole; else of a new one."""
        try:
            catalogue = Catalogue(self._directory / "catalogue.db", writable=True)
            if self._is_whole(catalogue):
                return catalogue
            catalogue.close()
        except (sqlite3.Error, ValueError):
            pass  # not a catalogue: what is there cannot be used
        drop(self._directory)
        for name in ("words", "blocks"):
            (self._directory / name).mkdir(mode=0o700)
        catalogue = Catalogue(self._directory / "catalogue.db", writable=True)
        with catalogue.change():
            catalogue.note("format", FORMAT)
        return catalogue

    def _is_whole(self, catalogue: Catalogue) -> bool:
        if catalogue.fact("format") != str(FORMAT):
            return False
        rows, columns = catalogue.rows, Columns(self._directory)
        try:
            columns.show(rows)
            TermSets(self._directory).show(bagged(columns, rows))
            words, _ = WordIndex(self._directory / "words"), WordIndex(self._directory / "blocks")
        except (OSError, ValueError):
            return False
        if words.size != catalogue.turns and catalogue.fact("busy") != "1":
            return False
        return rows == 0 or bool(columns["length"][rows - 1] > 0)  # a power cut leaves zeros


def drop(directory: Path) -> None:
    """Delete an index, its catalogue first: who is killed here, or writes it, leaves nothing that is taken for one.

    Who has it open goes on with what was in it. Raises `OSError`.
    """
    parts = directory.iterdir() if directory.is_dir() else ()
    for path in sorted(parts, key=lambda path: path.name != "catalogue.db"):
        if path.name == "lock":
            continue  # or a second indexer would join one that is still at it
        if path.is_dir() and not path.is_symlink():  # under another name, where an indexer cannot add to it any more
            shutil.rmtree(path.rename(path.with_name(f"{path.name}-{os.getpid()}-{time.monotonic_ns()}")))
        else:
            path.unlink(missing_ok=True)
