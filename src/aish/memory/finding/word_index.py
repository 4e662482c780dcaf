"""The words of all turns in tantivy: finds the rows that have given terms, with BM25 scores."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from aish.memory.finding.vectors import Rows
from aish.storage.files import keep_private
from aish.values.named_tuple import NamedTuple

_HEAP = 15_000_000  # bytes that a writer may buffer: the minimum of tantivy; more makes it no faster
_MAX_TIES = 5_000  # rows that are fetched at most, to get all rows with the same score
_DIGITS = 3  # of a score; further digits depend on the order of additions


class Filter(NamedTuple):
    """Which rows may be found; None means any."""

    channels: tuple[int, ...] | None = None
    roles: tuple[int, ...] | None = None
    since: int | None = None  # milliseconds, inclusive
    until: int | None = None  # exclusive


ANY = Filter()
Scores = NDArray[np.float64]
NOTHING: tuple[Rows, Scores] = np.empty(0, np.int64), np.empty(0)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("terms", stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("row", stored=False, indexed=True, fast=True)
    for name in ("conversation", "channel", "role"):
        builder.add_unsigned_field(name, stored=False, indexed=True, fast=False)
    builder.add_integer_field("time", stored=False, indexed=True, fast=True)
    return builder.build()


SCHEMA = _schema()


class WordWriter:
    """Adds and deletes rows. Changes are visible after `commit`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._index = tantivy.Index(SCHEMA, path=str(directory))
        self._writer = self._index.writer(heap_size=_HEAP, num_threads=1)

    def add(self, terms: Iterable[str], *, row: int, conversation: int, channel: int, role: int, time: int) -> None:
        document = tantivy.Document()
        document.add_text("terms", " ".join(terms))
        document.add_unsigned("row", row)
        document.add_unsigned("conversation", conversation)
        document.add_unsigned("channel", channel)
        document.add_unsigned("role", role)
        document.add_integer("time", time)
        self._writer.add_document(document)

    def delete_conversation(self, conversation: int) -> None:
        self._delete("conversation", conversation)

    def delete_row(self, row: int) -> None:
        self._delete("row", row)

    def _delete(self, field: str, value: int) -> None:
        # by query: tantivy's deletion by term takes the number for a signed one and matches nothing
        self._writer.delete_documents_by_query(Query.term_query(SCHEMA, field, value))

    def delete_rows_from(self, start: int) -> None:
        """Delete the rows that a killed indexer added without a commit of the catalogue."""
        self._writer.delete_documents_by_query(
            Query.range_query(SCHEMA, "row", tantivy.FieldType.Unsigned, start, (1 << 63) - 1)
        )

    def commit(self) -> None:
        self._writer.commit()
        keep_private(self._directory)

    def close(self) -> None:
        self._writer.wait_merging_threads()
        keep_private(self._directory)


class WordIndex:
    """A reader of the state at the last `refresh`."""

    def __init__(self, directory: Path) -> None:
        self._index = tantivy.Index.open(str(directory))
        self._searcher = self._index.searcher()

    def refresh(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()

    @property
    def size(self) -> int:
        return int(self._searcher.num_docs)

    def frequency(self, term: str) -> int:
        """How many rows have the term."""
        return int(self._searcher.doc_freq("terms", term))

    def find(
        self,
        terms: Sequence[str],
        limit: int,
        *,
        phrases: Sequence[Sequence[str]] = (),
        without: Sequence[str] = (),
        only: Filter = ANY,
    ) -> tuple[Rows, Scores]:
        """Rows that have any of the terms, all terms of the phrases and none of `without`, best first.

        Returns `limit` rows and all ties with the last one, because the order of ties is arbitrary here.
        """
        shoulds = [(Occur.Should, _term(term)) for term in terms]
        musts = [(Occur.Must, _term(term)) for words in phrases for term in words]
        musts += [(Occur.Must, Query.const_score_query(one, 0.0)) for one in _filters(only)]
        if not phrases and shoulds:
            musts.append((Occur.Must, Query.boolean_query(shoulds)))
            shoulds = []
        elif not musts:
            return NOTHING
        nots = [(Occur.MustNot, _term(term)) for term in without]
        return self._rows(Query.boolean_query([*musts, *shoulds, *nots]), limit)

    def _rows(self, query: Query, limit: int) -> tuple[Rows, Scores]:
        for most in (2 * limit, 6 * limit, _MAX_TIES):
            hits = self._searcher.search(query, most, count=False).hits
            scores = np.round(np.array([score or 0.0 for score, _ in hits]), _DIGITS)
            good = np.count_nonzero(scores >= scores[limit - 1]) if len(hits) > limit else len(hits)
            if good < most:
                break
        rows = self._searcher.fast_field_values("row", [address for _, address in hits[:good]]) if hits else []
        return np.array(rows, np.int64), scores[:good]


def _term(term: str) -> Query:
    return Query.term_query(SCHEMA, "terms", term)


def _any_of(field: str, values: Sequence[int]) -> Query:
    """Rows with one of these values; a term set query takes ten times as long."""
    return Query.boolean_query([(Occur.Should, Query.term_query(SCHEMA, field, value)) for value in values])


def _filters(only: Filter) -> list[Query]:
    found = []
    if only.channels is not None:
        found.append(_any_of("channel", only.channels))
    if only.roles is not None:
        found.append(_any_of("role", only.roles))
    if only.since is not None or only.until is not None:
        lower = only.since if only.since is not None else -(1 << 62)
        upper = only.until - 1 if only.until is not None else 1 << 62
        found.append(Query.range_query(SCHEMA, "time", tantivy.FieldType.Integer, lower, upper))
    return found
