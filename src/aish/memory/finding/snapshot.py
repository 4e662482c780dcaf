"""A consistent, read-only view of the index."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aish.memory.finding.catalogue import Catalogue, IndexedConversation
from aish.memory.finding.columns import NONE, Columns, clamp_number
from aish.memory.finding.feed import ConversationMeta, Feed
from aish.memory.finding.index import FORMAT
from aish.memory.finding.index_writer import count_terms
from aish.memory.finding.term_sets import TermSets
from aish.memory.finding.turn_text import said_from, searchable_text
from aish.memory.finding.vectors import Embedder, Rows, Vectors
from aish.memory.finding.word_index import WordIndex
from aish.values.errors import StoreTrouble
from aish.values.hits import Hit
from aish.values.turns import JournalEntry

_SPEAKER_SETS = 16  # whose rows are cached


class IndexSnapshot:
    """An index opened for reading. Raises `OSError`, `ValueError` or `sqlite3.Error` if it cannot be opened."""

    def __init__(self, feed: Feed, directory: Path, embedder: Embedder | None) -> None:
        self._feed, self._embedder = feed, embedder
        self.catalogue = Catalogue(directory / "catalogue.db")
        try:
            if self.catalogue.fact("format") != str(FORMAT):
                raise ValueError("the index has another format")
            self.words, self.blocks = WordIndex(directory / "words"), WordIndex(directory / "blocks")
            self.columns, self._term_sets = Columns(directory), TermSets(directory)
            self.vectors = Vectors(directory, embedder) if embedder else None
            self.vector_rows = 0  # rows that have vectors, or all rows if there is no embedder
            self.conversations: dict[str, IndexedConversation] = {}
            self.by_id: dict[int, IndexedConversation] = {}
            self._commits = self.rows = -1
            self.unreadable: dict[int, str] = {}  # rows that could not be read since this was cleared, and why
            self.refresh()
        except BaseException:  # whatever happened, the file must not stay open
            self.catalogue.close()
            raise

    def refresh(self) -> bool:
        """Read what was committed since the last time; False if nothing was."""
        if self.catalogue.commits == self._commits:
            return False
        with self.catalogue.reading():
            commits, self.rows = self.catalogue.commits, self.catalogue.rows
            changed = self.catalogue.conversations(self._commits)
            self.vector_rows = self.catalogue.vector_rows(self._embedder.name) if self._embedder else self.rows
            self.channels, self.speakers = self.catalogue.labels("channel"), self.catalogue.labels("speaker")
        self.blocks.refresh()
        self.words.refresh()  # after the row count was read, so it has at least these rows
        self.columns.map_rows(self.rows)
        self._term_sets.open(count_terms(self.columns, self.rows))
        try:
            if self.vectors:
                self.vectors.map_rows(self.vector_rows)
        except (OSError, ValueError):
            self.vector_rows = 0  # words are found without vectors, and the next indexer rebuilds them
        self._rows_by_speakers: dict[frozenset[int], Rows] = {}
        self.conversations |= changed
        self.by_id |= {known.id: known for known in changed.values()}
        self._commits = commits
        return True

    def close(self) -> None:
        self.catalogue.close()

    def valid(self, rows: Rows | Sequence[int], invalidated: frozenset[int]) -> Rows:
        """Those of the rows that are committed and belong to a conversation that is not invalidated."""
        at = np.asarray(rows, np.int64)
        at = at[at < self.rows]
        conversation = self.columns["conversation"][at]
        valid: Rows = at[(conversation != NONE) & ~np.isin(conversation, list(invalidated))]
        return valid

    def best(self, rows: Rows, scores: NDArray[np.floating[Any]], limit: int) -> Rows:
        """Places of the best of these rows. Ties are in the same order in every index: the newest first.

        Invalid rows come last, so that they do not push out others that a rebuilt index would return.
        """
        scores = np.where(self.columns["conversation"][rows] != NONE, scores, -np.inf)
        edge = np.partition(scores, -limit)[-limit] if limit < len(rows) else -np.inf
        at = np.flatnonzero(scores >= edge)
        return at[np.lexsort((*self._sort_keys(rows[at]), -scores[at]))[:limit]]

    def newest_first(self, rows: Rows) -> Rows:
        return rows[np.lexsort(self._sort_keys(rows))]

    def _sort_keys(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]]:
        """Keys that sort rows the same way in every index, whatever their row numbers are."""
        return self.columns["position"][rows], -self.columns["time"][rows]

    def which_terms(self, terms: Sequence[str], rows: Rows) -> NDArray[np.bool_]:
        """Which of the terms each of these rows has, one column per term."""
        starts, counts = self.columns["first_term"][rows].tolist(), self.columns["term_count"][rows].tolist()
        return self._term_sets.contains(terms, zip(starts, counts, strict=True))

    def said_by(self, speakers: frozenset[int]) -> Rows:
        """The rows of these speakers that have vectors. Cached, because the next question is often about them too."""
        cached = self._rows_by_speakers
        if speakers not in cached:
            rows = np.flatnonzero(np.isin(self.columns["speaker"][: self.vector_rows], list(speakers)))
            self._rows_by_speakers = {**(cached if len(cached) < _SPEAKER_SETS else {}), speakers: rows}
        return self._rows_by_speakers[speakers]

    def beside(self, rows: Rows, step: int) -> Rows:
        """The row `step` turns after each of these (before it, if negative), and `NONE` where there is none."""
        column = self.columns["after" if step > 0 else "before"]
        for _ in range(abs(step)):
            rows = np.where((rows != NONE) & (rows < self.rows), column[np.minimum(rows, self.rows - 1)], NONE)
        return np.where(rows < self.rows, rows, NONE)

    def hit(self, row: int) -> Hit | None:
        """The turn of a row, read from the feed; None if it no longer exists."""
        known = self.by_id.get(int(self.columns["conversation"][row]))
        if known is None:
            return None
        try:
            place = int(self.columns["position"][row]), int(self.columns["length"][row])
            [entry] = self._feed.entries_at(known.name, [place])
        except StoreTrouble as error:
            self.unreadable[row] = str(error)
            return None
        if entry is None or clamp_number(entry.number) != self.columns["number"][row]:
            return None
        meta = ConversationMeta(self.channels.get(known.channel, ""), known.source, known.title)
        return hit_of(known.name, entry, meta)

    def error(self) -> str:
        """How many turns could not be read, and the first reason; empty if all could be read."""
        reasons = list(dict.fromkeys(self.unreadable.values()))
        if not reasons:
            return ""
        count = f"{len(self.unreadable)} turns" if len(self.unreadable) > 1 else "a turn"
        more = f" and {len(reasons) - 1} more errors" if len(reasons) > 1 else ""
        return f"{count} could not be read: {reasons[0]}{more}"

    def rows_of(self, name: str, around: int | None = None, count: int = 0) -> list[int]:
        """The rows of a conversation in its order, or only those around one turn."""
        known = self.conversations.get(name)
        if known is None or known.deleted:
            return []
        rows = np.flatnonzero(self.columns["conversation"] == known.id)
        numbers = self.columns["number"][rows]
        if around is not None:
            near = (numbers >= around - count) & (numbers <= around + count)  # works for numbers of any size
            rows, numbers = rows[near], numbers[near]
        return [int(row) for row in rows[np.argsort(numbers, kind="stable")]]


def hit_of(conversation: str, entry: JournalEntry, meta: ConversationMeta) -> Hit:
    """A turn as a search returns it."""
    name, ref, model = (entry.meta.get(key) for key in ("name", "ref", "model"))
    text = searchable_text(entry)
    return Hit(
        conversation=conversation,
        turn=entry.number,
        time=entry.time,
        role=entry.turn.role,
        text=text,
        name=name if isinstance(name, str) else "",
        channel=meta.channel,
        source=meta.source,
        title=meta.title,
        ref=ref if isinstance(ref, str) else "",
        state="" if entry.turn.state == "complete" else entry.turn.state,
        model=model if isinstance(model, str) else "",
        said_from=said_from(entry, text),
    )
