"""The index as a reader sees it: one state of it, kept until the next look."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aish.memory.finding.backlog import searchable
from aish.memory.finding.batch import bagged
from aish.memory.finding.catalogue import Catalogue, Known
from aish.memory.finding.columns import NONE, Columns, numbered
from aish.memory.finding.index import FORMAT
from aish.memory.finding.term_sets import TermSets
from aish.memory.finding.vectors import Embedder, Rows, Vectors
from aish.memory.finding.word_index import WordIndex
from aish.memory.journal import entry_of
from aish.values.hits import Hit
from aish.values.turns import JournalEntry

_ASKED_ABOUT = 16  # people whose turns are kept in mind


class IndexSnapshot:
    """An index that is open for reading. Raises `OSError`, `ValueError` or `sqlite3.Error` if that cannot be."""

    def __init__(self, sessions: Path, directory: Path, embedder: Embedder | None) -> None:
        self._sessions, self._embedder = sessions, embedder
        self.catalogue = Catalogue(directory / "catalogue.db")
        try:
            if self.catalogue.fact("format") != str(FORMAT):
                raise ValueError("the index is of another version")
            self.words, self.blocks = WordIndex(directory / "words"), WordIndex(directory / "blocks")
            self.columns, self._term_sets = Columns(directory), TermSets(directory)
            self.vectors = Vectors(directory, embedder) if embedder else None
            self.meant = 0  # rows that have vectors
            self.journals: dict[str, Known] = {}
            self.by_id: dict[int, Known] = {}
            self._commits = self.rows = -1
            self.unread: dict[int, str] = {}  # rows that could not be read since it was emptied, and why
            self.refresh()
        except BaseException:  # whatever it was, the file must not stay open
            self.catalogue.close()
            raise

    def refresh(self) -> bool:
        """See what was added since; False if nothing was."""
        if self.catalogue.commits == self._commits:
            return False
        with self.catalogue.reading():
            commits, self.rows = self.catalogue.commits, self.catalogue.rows
            changed = self.catalogue.journals(self._commits)
            self.meant = self.catalogue.vectors(self._embedder.name) if self._embedder else self.rows
            self.channels, self.speakers = self.catalogue.labels("channel"), self.catalogue.labels("speaker")
        self.blocks.refresh()
        self.words.refresh()  # after the count was read: it has at least as much
        self.columns.show(self.rows)
        self._term_sets.show(bagged(self.columns, self.rows))
        try:
            if self.vectors:
                self.vectors.show(self.meant)
        except (OSError, ValueError):
            self.meant = 0  # words are found without them, and the next indexer makes them anew
        self._said: dict[frozenset[int], Rows] = {}
        self.journals |= changed
        self.by_id |= {known.id: known for known in changed.values()}
        self._commits = commits
        return True

    def close(self) -> None:
        self.catalogue.close()

    def alive(self, rows: Rows | Sequence[int], stale: frozenset[int]) -> Rows:
        """Those of the rows that count: committed, and of journals that are what they were."""
        at = np.asarray(rows, np.int64)
        at = at[at < self.rows]
        journal = self.columns["journal"][at]
        alive: Rows = at[(journal != NONE) & ~np.isin(journal, list(stale))]
        return alive

    def best(self, rows: Rows, scores: NDArray[np.floating[Any]], limit: int) -> Rows:
        """Places of the best of these rows. Equals are in an order that is the same in any index: the newest first.

        Rows that do not count any more come last: no other index has them, and they would take the place of others.
        """
        scores = np.where(self.columns["journal"][rows] != NONE, scores, -np.inf)
        edge = np.partition(scores, -limit)[-limit] if limit < len(rows) else -np.inf
        at = np.flatnonzero(scores >= edge)
        return at[np.lexsort((*self._newness(rows[at]), -scores[at]))[:limit]]

    def newest(self, rows: Rows) -> Rows:
        """These rows, the newest first."""
        return rows[np.lexsort(self._newness(rows))]

    def _newness(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]]:
        """What puts rows into one order, whichever numbers an index has given to them."""
        return self.columns["offset"][rows], -self.columns["time"][rows]

    def which(self, terms: Sequence[str], rows: Rows) -> NDArray[np.bool_]:
        """Which of the terms each of these rows has, a column for each term."""
        places = zip(self.columns["bag"][rows].tolist(), self.columns["bag_size"][rows].tolist(), strict=True)
        return self._term_sets.which(terms, places)

    def said_by(self, speakers: frozenset[int]) -> Rows:
        """The rows of these speakers that have a meaning; who was asked about is often asked about again."""
        if speakers not in self._said:
            rows = np.flatnonzero(np.isin(self.columns["speaker"][: self.meant], list(speakers)))
            self._said = {**(self._said if len(self._said) < _ASKED_ABOUT else {}), speakers: rows}
        return self._said[speakers]

    def beside(self, rows: Rows, step: int) -> Rows:
        """The row so many turns after each of these, or before it, and `NONE` where there is none."""
        column = self.columns["after" if step > 0 else "before"]
        for _ in range(abs(step)):
            rows = np.where((rows != NONE) & (rows < self.rows), column[np.minimum(rows, self.rows - 1)], NONE)
        return np.where(rows < self.rows, rows, NONE)

    def hit(self, row: int) -> Hit | None:
        """The turn of a row, read from its journal; None if it is not there any more."""
        known = self.by_id.get(int(self.columns["journal"][row]))
        if known is None:
            return None
        entry = self._entry(known, row)
        if entry is None or numbered(entry.number) != self.columns["number"][row]:
            return None
        return hit_of(known.name, entry, self.channels.get(known.channel, ""), known.source, known.title)

    def _entry(self, known: Known, row: int) -> JournalEntry | None:
        path = f"{self._sessions}/{known.name}.jsonl"
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return entry_of(os.pread(fd, int(self.columns["length"][row]), int(self.columns["offset"][row])))
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            pass  # what is not there any more is no trouble
        except OSError as error:
            self.unread[row] = f"cannot read {path}: {error.strerror or error}"
        return None

    def troubles(self) -> str:
        """How many turns could not be read, and what is wrong with the first; nothing if all could."""
        troubles = list(dict.fromkeys(self.unread.values()))
        if not troubles:
            return ""
        many = f"{len(self.unread)} turns" if len(self.unread) > 1 else "a turn"
        more = f", nor {len(troubles) - 1} others" if len(troubles) > 1 else ""
        return f"{many} could not be read: {troubles[0]}{more}"

    def rows_of(self, name: str, around: int | None = None, count: int = 0) -> list[int]:
        """The rows of a conversation in its order, or those around one turn."""
        known = self.journals.get(name)
        if known is None or known.gone:
            return []
        mine = self.columns["journal"] == known.id
        rows = np.flatnonzero(mine)
        numbers = self.columns["number"][rows]
        if around is not None:
            near = (numbers >= around - count) & (numbers <= around + count)  # safe for any number that is asked for
            rows, numbers = rows[near], numbers[near]
        return [int(row) for row in rows[np.argsort(numbers, kind="stable")]]


def hit_of(conversation: str, entry: JournalEntry, channel: str, source: str, title: str) -> Hit:
    """A turn as it is shown to who looks for it."""
    name, ref = entry.meta.get("name"), entry.meta.get("ref")
    return Hit(
        conversation=conversation,
        turn=entry.number,
        time=entry.time,
        role=entry.turn.role,
        text=searchable(entry),
        name=name if isinstance(name, str) else "",
        channel=channel,
        source=source,
        title=title,
        ref=ref if isinstance(ref, str) else "",
        state="" if entry.turn.state == "complete" else entry.turn.state,
    )
