"""Search: collects candidates by words and by vectors, indexed or not, and ranks them."""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from aish.memory.finding.bounds import Bounds, combine_bounds
from aish.memory.finding.columns import NONE
from aish.memory.finding.exclusions import exclusions
from aish.memory.finding.index_writer import ROLES
from aish.memory.finding.interpreted_query import interpret_query
from aish.memory.finding.query import Query
from aish.memory.finding.ranking import (
    AROUND,
    SHORTLIST,
    Candidates,
    Ranked,
    RankedQuery,
    TermMatches,
    clarity,
    coverage,
    is_beside,
    matches,
    rank,
    shortlist,
    signals,
    wants,
    why,
)
from aish.memory.finding.snapshot import IndexSnapshot
from aish.memory.finding.terms import query_terms
from aish.memory.finding.unindexed_turns import UnindexedTurns
from aish.memory.finding.vectors import Embedder, Rows
from aish.memory.finding.when import TimeSpan
from aish.memory.finding.word_index import NOTHING, Filter, Scores
from aish.values.channels import is_channel
from aish.values.hits import Hit, Scope, SearchResult

_MAX_ROWS = 200  # candidates by words, and as many by vectors
_MAX_BLOCKS = 100
_PARALLEL_ROWS = 300_000  # from this size on, words and vectors are searched in parallel
_RARE = 10  # turns with a term, at most, for it to be rare
_MAX_TERMS = 40  # that are looked up; the rarest terms of a pasted page are enough
_BESIDE = (-2, -1, 1, 2)  # turns before and after a hit
_MONTH = 30 * 86_400.0  # seconds; an open span like “before October” starts this long before its end
_MIN_SCORE = 1.0  # below, a turn is unrelated to the query
_MAX_CHARACTERS = 2_000  # of a query that are embedded


def search(
    query: Query,
    scope: Scope,
    snapshot: IndexSnapshot | None,
    unindexed: UnindexedTurns,
    invalidated: frozenset[int],
    embedder: Embedder | None,
    limit: int,
    now: float,
) -> SearchResult:
    """The turns that match a query best, indexed or not."""
    return _Search(query, combine_bounds(query, scope), snapshot, unindexed, invalidated, embedder).run(limit, now)


class _Search:
    def __init__(
        self,
        query: Query,
        within: Bounds,
        snapshot: IndexSnapshot | None,
        unindexed: UnindexedTurns,
        invalidated: frozenset[int],
        embedder: Embedder | None,
    ) -> None:
        self.query, self.within, self.snapshot, self.invalidated = query, within, snapshot, invalidated
        self.eligible: set[int] = set()  # rows that may be returned; others only affect the scores of neighbours
        self.left_out = exclusions(query.without)
        self.without = list(self.left_out.words)
        self.unindexed = unindexed.within(within, self.without, self._fits_phrases)
        turns = (snapshot.words.size if snapshot else 0) + unindexed.size
        speakers = (snapshot.speakers if snapshot else {}) | unindexed.speakers
        self.interpreted = interpret_query(
            query, lambda term: self._frequency(term) + unindexed.frequency(term), turns, speakers
        )
        text = self.interpreted.text[:_MAX_CHARACTERS]
        words = re.findall(r"\w+", text)
        self.word_of = {term: word.casefold() for word in reversed(words) for term in query_terms(word)}
        places = sorted(enumerate(self.interpreted.weights), key=lambda pair: -self.interpreted.weights[pair[1]])
        self.heaviest = [(place, self.word_of.get(term, term)) for place, term in places]
        self.vector = embedder.embed([text])[0] if embedder and text else None

    def _frequency(self, term: str) -> int:
        return self.snapshot.words.frequency(term) if self.snapshot else 0

    def run(self, limit: int, now: float) -> SearchResult:
        rows, words, blocks = self._indexed()
        candidates = self._candidates(rows, words, blocks)
        if not len(candidates.key):
            return SearchResult(asked=self._explain())
        now = self.within.until.timestamp() if self.within.until else now
        clear = clarity(len(self.interpreted.text.split()))
        ranked_query = RankedQuery(self.interpreted.weights, now, self._spans(now), wants(self.query.words), clear)
        table = signals(candidates, ranked_query)
        short = shortlist(table, max(limit, SHORTLIST))
        short = np.concatenate([short, np.setdiff1d(self._rare(rows), short, assume_unique=True)])
        term_matches = self._term_matches(candidates.key, short, rows)
        ranked = rank(table, short, coverage(candidates.key[short], ranked_query.weights, term_matches), clear)
        hits = tuple(self._hits(ranked, term_matches.of(candidates.key[ranked.order]), rows, limit))
        return SearchResult(hits, asked=self._explain(), considered=len(candidates.key))

    def _indexed(self) -> tuple[Rows, dict[int, float], dict[int, float]]:
        """Candidate rows, and the BM25 scores of rows and of blocks."""
        snapshot, only = self.snapshot, self._filter() if self.snapshot else None
        if snapshot is None or only is None:
            return np.empty(0, np.int64), {}, {}
        if snapshot.vector_rows < _PARALLEL_ROWS:
            near, (words, blocks) = self._near(snapshot, only), self._with_words(snapshot, only)
        else:
            with ThreadPoolExecutor(1) as other:  # both release the interpreter lock most of the time
                nearest = other.submit(self._near, snapshot, only)
                words, blocks = self._with_words(snapshot, only)
                near = nearest.result()
        lone = np.setdiff1d(near, list(words), assume_unique=True)
        if self.without:
            lone = lone[~snapshot.which_terms(self.without, lone).any(axis=1)]
        rows = snapshot.valid([*words, *lone.tolist()], self.invalidated)
        self.eligible = set(rows.tolist())
        near_by = {row for step in _BESIDE for row in snapshot.beside(rows, step).tolist()}
        beside = np.array([*(near_by - self.eligible - {NONE})], np.int64)
        if not self.query.phrases and not self.query.without:  # an answer next to a hit need not repeat the words
            self.eligible.update(beside[self._fits(beside)].tolist())
        return (
            snapshot.newest_first(np.concatenate([rows, beside])),
            words,
            blocks,
        )  # sorting is stable, so ties keep this order

    def _with_words(self, snapshot: IndexSnapshot, only: Filter) -> tuple[dict[int, float], dict[int, float]]:
        """The best rows and blocks by words, with their BM25 scores."""
        terms = nlargest(_MAX_TERMS, self.interpreted.weights, key=self.interpreted.weights.__getitem__)
        phrases = [query_terms(phrase) for phrase in self.query.phrases]
        rows = snapshot.words.find(terms, _MAX_ROWS, phrases=phrases, without=self.without, only=only)
        around = only._replace(roles=None, since=None)  # a block may start earlier, and has turns of all roles
        blocks = snapshot.blocks.find(terms, _MAX_BLOCKS, only=around) if terms else NOTHING
        return _best(snapshot, *rows, _MAX_ROWS), _best(snapshot, *blocks, _MAX_BLOCKS)

    def _near(self, snapshot: IndexSnapshot, only: Filter) -> Rows:
        """The nearest rows by vectors."""
        if not snapshot.vectors or self.vector is None or self.query.phrases:
            return np.empty(0, np.int64)
        return snapshot.vectors.nearest(self.vector, _MAX_ROWS, snapshot.best, self._choices(only))

    def _choices(self, only: Filter) -> Iterator[Rows | None]:
        """The sets of rows to search by vectors: all within the bounds, and those of the named speakers."""
        assert self.snapshot
        with_vectors = slice(self.snapshot.vector_rows)
        yield None if only == Filter() else np.flatnonzero(self._fits(with_vectors))
        if self.interpreted.speakers:
            said = self.snapshot.said_by(self.interpreted.speakers)
            yield said[self._fits(said)]

    def _filter(self) -> Filter | None:
        """The bounds as a filter of the index; None if no row can match."""
        assert self.snapshot
        within, channels = self.within, None
        if within.channel:
            channels = tuple(id for id, name in self.snapshot.channels.items() if is_channel(name, within.channel))
            if not channels:
                return None
        roles = tuple(ROLES.index(role) for role in within.roles if role in ROLES) if within.roles else None
        if roles == ():  # unknown roles only
            return None
        since = round(within.since.timestamp() * 1000) if within.since else None
        until = round(within.until.timestamp() * 1000) if within.until else None
        return Filter(channels, roles, since, until)

    def _fits(self, rows: NDArray[np.int64] | slice) -> NDArray[np.bool_]:
        """Whether each of the rows is within the bounds."""
        assert self.snapshot
        only, columns = self._filter(), self.snapshot.columns
        fits: NDArray[np.bool_] = columns["conversation"][rows] != NONE
        if only is None:
            return np.zeros_like(fits)
        if only.channels is not None:
            fits &= np.isin(columns["channel"][rows], only.channels)
        if only.roles is not None:
            fits &= np.isin(columns["role"][rows], only.roles)
        if only.since is not None:
            fits &= columns["time"][rows] >= only.since
        if only.until is not None:
            fits &= columns["time"][rows] < only.until
        return fits

    def _candidates(self, at: Rows, words: dict[int, float], blocks: dict[int, float]) -> Candidates:
        """The columns of all candidates: indexed rows first, then unindexed turns."""
        others = self.snapshot.blocks if self.snapshot else None
        new = self.unindexed.candidates(self.interpreted.weights, self.vector, self.interpreted.speakers, others)
        if not len(at) or self.snapshot is None:
            return new
        columns = self.snapshot.columns
        named = self.interpreted.speakers
        speaker = np.isin(columns["speaker"][at], list(named)) if named else np.zeros(len(at))
        meaning = np.zeros(len(at))
        if self.snapshot.vectors and self.vector is not None:
            meaning = self.snapshot.vectors.similarity(self.vector, at).astype(float)
        found = Candidates(
            key=(columns["conversation"][at].astype(np.int64) << 32) | columns["number"][at],
            block=columns["block"][at].astype(np.int64),
            words=_look_up(at, words),
            block_words=_look_up(columns["block"][at], blocks),
            meaning=meaning,
            time=columns["time"][at] / 1000.0,
            speaker=speaker.astype(float),
            own=(columns["role"][at] == 0).astype(float),
            traits=columns["traits"][at].astype(np.int64),
        )
        return Candidates(*(np.concatenate(pair) for pair in zip(found, new, strict=True)))

    def _rare(self, rows: Rows) -> Rows:
        """Places of the turns with a rare term of the query; blocks with many common terms must not hide them."""
        few = [term for term in self.interpreted.weights if 0 < self._frequency(term) <= _RARE]
        found = _best(self.snapshot, *self.snapshot.words.find(few, _RARE), _RARE) if self.snapshot and few else {}
        return np.flatnonzero(np.isin(rows, [*found]))

    def _term_matches(self, keys: Rows, short: Rows, rows: Rows) -> TermMatches:
        """Which terms of the query the shortlisted turns and their neighbours have."""
        new, indexed = self.unindexed.term_matches(self.interpreted.weights), short[short < len(rows)]
        if self.snapshot is None or not len(indexed):
            return new
        steps = (0, *AROUND)
        there = np.concatenate([self.snapshot.beside(rows[indexed], step) for step in steps])
        mine = np.concatenate([keys[indexed] + step for step in steps])
        mine, first = np.unique(mine[there != NONE], return_index=True)
        has = self.snapshot.which_terms(list(self.interpreted.weights), there[there != NONE][first])
        both = np.concatenate([mine, new.key])
        order = np.argsort(both, kind="stable")
        return TermMatches(both[order], np.concatenate([has, new.terms])[order])

    def _spans(self, now: float) -> list[tuple[float, float]]:
        spans = []
        for span in self._sure_times():
            last = span.last.timestamp() if span.last else now
            spans.append((span.first.timestamp() if span.first else last - _MONTH, last))
        return spans

    def _sure_times(self) -> list[TimeSpan]:
        return [span for span in self.query.times if span.sure]

    def _hits(self, ranked: Ranked, had: NDArray[np.bool_], rows: Rows, limit: int) -> Iterator[Hit]:
        given, about = 0, matches(ranked.parts)
        for place, score, fits, parts, mine in zip(ranked.order, ranked.scores, about, ranked.parts, had, strict=True):
            if given == limit:
                return
            if fits < _MIN_SCORE and not self.query.phrases:
                continue
            if place >= len(rows):
                hit: Hit | None = self.unindexed.hit(int(place) - len(rows))
            else:
                hit = self.snapshot.hit(int(rows[place])) if self.snapshot and rows[place] in self.eligible else None
            if hit and self._fits_phrases(hit.text) and not (hit.role == "assistant" and hit.says_nothing):
                given += 1
                reasons = "; ".join(self._reasons(hit.time, parts, mine))
                beside = is_beside(parts) and not self.query.phrases
                yield hit._replace(score=round(float(score), 4), why=reasons, beside=beside)

    def _fits_phrases(self, text: str) -> bool:
        """Does the text contain all phrases of the query, and none that it leaves out?"""
        if not self.query.phrases:
            return self.left_out.allow_phrases(text)
        if not self.left_out.allow_phrases(text):
            return False
        flat = " ".join(text.casefold().split())
        return all(" ".join(phrase.casefold().split()) in flat for phrase in self.query.phrases)

    def _reasons(self, time: datetime, parts: NDArray[np.float64], had: NDArray[np.bool_]) -> list[str]:
        """Why a turn is returned; `had` tells which terms of the query it has."""
        has = had.tolist()
        mine = dict.fromkeys(word for place, word in self.heaviest if has[place])  # one word may give several terms
        best = list(mine)[:4]
        says = [f"says “{phrase}”" for phrase in self.query.phrases]
        exact = {"has the words": f"has the words ({', '.join(best)})"} if best else {}
        if not any(
            (span.first or time) <= time and (span.last is None or time < span.last) for span in self._sure_times()
        ):
            exact["said at that time"] = (
                "said near that time"  # remembered dates are often a little wrong, so near dates count too
            )
        return says + [exact.get(reason, reason) for reason in why(parts)]

    def _explain(self) -> tuple[tuple[str, str], ...]:
        """How the query was interpreted, as names and values for the user."""
        interpreted, within = self.interpreted, self.within
        names = (self.snapshot.speakers if self.snapshot else {}) | self.unindexed.speakers
        weights = [f"{self.word_of.get(term, term)} {weight:.1f}" for term, weight in interpreted.weights.items()]
        told = [("words", ", ".join(weights))]
        corrections = interpreted.corrections.items()
        told += [("spelt", f"{self.word_of.get(wrong, wrong)} → {right}") for wrong, right in corrections]
        said_by = sorted({names[id] for id in interpreted.speakers})
        told += [("said by", ", ".join(said_by))] if said_by else []
        told += [("phrase", phrase) for phrase in self.query.phrases] + [
            ("without", text) for text in self.query.without
        ]
        told += [("time", f"{_day(span.first)} to {_day(span.last)}") for span in self.query.times]
        bound = [
            ("since", within.since and within.since.isoformat()),
            ("until", within.until and within.until.isoformat()),
        ]
        told += [(name, value) for name, value in bound if value]
        told += [("in", within.channel)] if within.channel else []
        told += [("role", ", ".join(sorted(within.roles)))] if within.roles else []
        told.append(("meaning", "compared" if self.vector is not None else "not compared: no embedding model"))
        return tuple(told)


def _best(snapshot: IndexSnapshot, rows: Rows, scores: Scores, limit: int) -> dict[int, float]:
    """The best of the rows that were found, with their scores; rows that are not committed yet are left out."""
    there = rows < snapshot.rows
    rows, scores = rows[there], scores[there]
    best = snapshot.best(rows, scores, limit)
    return dict(zip(rows[best].tolist(), scores[best].tolist(), strict=True))


def _look_up(keys: Rows, known: Mapping[int, float]) -> NDArray[np.float64]:
    """The value of each key; 0 for keys without one."""
    if not known:
        return np.zeros(len(keys))
    names, values = np.fromiter(known, np.int64), np.fromiter(known.values(), np.float64)
    order = np.argsort(names)
    at = order[np.minimum(np.searchsorted(names, keys, sorter=order), len(names) - 1)]
    return np.where(names[at] == keys, values[at], 0.0)


def _day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time else "any time"
