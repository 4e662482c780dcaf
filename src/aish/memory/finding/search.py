"""Search: candidates by words, by meaning and by what is new, put into one order."""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from aish.memory.finding.batch import ROLES
from aish.memory.finding.columns import NONE
from aish.memory.finding.query import Query
from aish.memory.finding.question import Bounds, bounds, understand
from aish.memory.finding.ranking import (
    AROUND,
    SHORTLIST,
    Candidates,
    Having,
    Ranked,
    RankedQuery,
    clarity,
    coverage,
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

_MOST = 200  # candidates by words, and as many by meaning
_BLOCKS = 100
_MANY = 300_000  # turns from which on it is worth it to look by words and by meaning at once
_RARE = 10  # turns that have a word
_SOUGHT = 40  # terms that are looked up; of a page that was pasted the rarest will do
_BESIDE = (-2, -1, 1, 2)  # turns before and after a hit
_A_MONTH = 30 * 86_400.0  # seconds that “before October” reaches back
_LEAST = 1.0  # of a score: below, a turn has nothing to do with the question
_LONGEST = 2_000  # characters of a question whose meaning counts


def search(
    query: Query,
    scope: Scope,
    snapshot: IndexSnapshot | None,
    fresh: UnindexedTurns,
    stale: frozenset[int],
    embedder: Embedder | None,
    limit: int,
    now: float,
) -> SearchResult:
    """The turns that fit best, out of the index and of what is not in it yet."""
    return _Search(query, bounds(query, scope), snapshot, fresh, stale, embedder).run(limit, now)


class _Search:
    def __init__(
        self,
        query: Query,
        within: Bounds,
        snapshot: IndexSnapshot | None,
        fresh: UnindexedTurns,
        stale: frozenset[int],
        embedder: Embedder | None,
    ) -> None:
        self.query, self.within, self.snapshot, self.stale = query, within, snapshot, stale
        self.eligible: set[int] = set()  # rows that may be shown; others only tell about those beside them
        self.without = [term for text in query.without for term in query_terms(text)]
        self.fresh = fresh.within(within, self.without, self._says)
        turns = (snapshot.words.size if snapshot else 0) + fresh.size
        speakers = (snapshot.speakers if snapshot else {}) | fresh.speakers
        self.asked = understand(query, lambda term: self._frequency(term) + fresh.frequency(term), turns, speakers)
        words = re.findall(r"\w+", self.asked.text[:_LONGEST])
        self.spoken = {term: word.casefold() for word in reversed(words) for term in query_terms(word)}
        places = sorted(enumerate(self.asked.weights), key=lambda pair: -self.asked.weights[pair[1]])
        self.heaviest = [(place, self.spoken.get(term, term)) for place, term in places]
        self.vector = embedder.embed([self.asked.text[:_LONGEST]])[0] if embedder and self.asked.text else None

    def _frequency(self, term: str) -> int:
        return self.snapshot.words.frequency(term) if self.snapshot else 0

    def run(self, limit: int, now: float) -> SearchResult:
        rows, words, blocks = self._indexed()
        candidates = self._candidates(rows, words, blocks)
        if not len(candidates.key):
            return SearchResult(asked=self._told())
        now = self.within.until.timestamp() if self.within.until else now
        clear = clarity(len(self.asked.text.split()))
        question = RankedQuery(self.asked.weights, now, self._spans(now), wants(self.query.words), clear)
        table = signals(candidates, question)
        short = shortlist(table, max(limit, SHORTLIST))
        short = np.concatenate([short, np.setdiff1d(self._rare(rows), short, assume_unique=True)])
        having = self._having(candidates.key, short, rows)
        ranked = rank(table, short, coverage(candidates.key[short], question.weights, having), clear)
        hits = tuple(self._hits(ranked, having.of(candidates.key[ranked.order]), rows, limit))
        return SearchResult(hits, asked=self._told(), considered=len(candidates.key))

    def _indexed(self) -> tuple[Rows, dict[int, float], dict[int, float]]:
        """Rows of the index that may fit, and how well they and their blocks have the words."""
        snapshot, only = self.snapshot, self._filter() if self.snapshot else None
        if snapshot is None or only is None:
            return np.empty(0, np.int64), {}, {}
        if snapshot.meant < _MANY:
            near, (words, blocks) = self._near(snapshot, only), self._with_words(snapshot, only)
        else:
            with ThreadPoolExecutor(1) as other:  # both leave the interpreter alone for most of the time
                nearest = other.submit(self._near, snapshot, only)
                words, blocks = self._with_words(snapshot, only)
                near = nearest.result()
        lone = np.setdiff1d(near, list(words), assume_unique=True)
        if self.without:
            lone = lone[~snapshot.which(self.without, lone).any(axis=1)]
        rows = snapshot.alive([*words, *lone.tolist()], self.stale)
        self.eligible = set(rows.tolist())
        near_by = {row for step in _BESIDE for row in snapshot.beside(rows, step).tolist()}
        beside = np.array([*(near_by - self.eligible - {NONE})], np.int64)
        if not self.query.phrases and not self.without:  # an answer beside a hit need not repeat the words
            self.eligible.update(beside[self._fits(beside)].tolist())
        return snapshot.newest(np.concatenate([rows, beside])), words, blocks  # the order in which equals stay

    def _with_words(self, snapshot: IndexSnapshot, only: Filter) -> tuple[dict[int, float], dict[int, float]]:
        """The rows and the blocks that have the words best, with how well."""
        terms = nlargest(_SOUGHT, self.asked.weights, key=self.asked.weights.__getitem__)
        phrases = [query_terms(phrase) for phrase in self.query.phrases]
        rows = snapshot.words.find(terms, _MOST, phrases=phrases, without=self.without, only=only)
        around = only._replace(roles=None, since=None)  # a block may begin before, and has turns of all
        blocks = snapshot.blocks.find(terms, _BLOCKS, only=around) if terms else NOTHING
        return _first(snapshot, *rows, _MOST), _first(snapshot, *blocks, _BLOCKS)

    def _near(self, snapshot: IndexSnapshot, only: Filter) -> Rows:
        """The rows that are nearest in meaning."""
        if not snapshot.vectors or self.vector is None or self.query.phrases:
            return np.empty(0, np.int64)
        return snapshot.vectors.nearest(self.vector, _MOST, snapshot.best, self._choices(only))

    def _choices(self, only: Filter) -> Iterator[Rows | None]:
        """Among which rows the nearest in meaning are looked for: all that fit, and those of who is named."""
        assert self.snapshot
        meant = slice(self.snapshot.meant)
        yield None if only == Filter() else np.flatnonzero(self._fits(meant))
        if self.asked.speakers:
            said = self.snapshot.said_by(self.asked.speakers)
            yield said[self._fits(said)]

    def _filter(self) -> Filter | None:
        """The bounds in the numbers of the index; None if nothing can be within them."""
        assert self.snapshot
        within, channels = self.within, None
        if within.channel:
            channels = tuple(id for id, name in self.snapshot.channels.items() if is_channel(name, within.channel))
            if not channels:
                return None
        roles = tuple(ROLES.index(role) for role in within.roles if role in ROLES) if within.roles else None
        if roles == ():  # nobody here has such a role
            return None
        since = round(within.since.timestamp() * 1000) if within.since else None
        until = round(within.until.timestamp() * 1000) if within.until else None
        return Filter(channels, roles, since, until)

    def _fits(self, rows: NDArray[np.int64] | slice) -> NDArray[np.bool_]:
        """Is each of the rows within the bounds?"""
        assert self.snapshot
        only, columns = self._filter(), self.snapshot.columns
        fits: NDArray[np.bool_] = columns["journal"][rows] != NONE
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
        """The columns of all candidates: those of the index first, then what is new."""
        others = self.snapshot.blocks if self.snapshot else None
        new = self.fresh.candidates(self.asked.weights, self.vector, self.asked.speakers, others)
        if not len(at) or self.snapshot is None:
            return new
        columns = self.snapshot.columns
        speaker = (
            np.isin(columns["speaker"][at], list(self.asked.speakers)) if self.asked.speakers else np.zeros(len(at))
        )
        meaning = np.zeros(len(at))
        if self.snapshot.vectors and self.vector is not None:
            meaning = self.snapshot.vectors.likeness(self.vector, at).astype(float)
        found = Candidates(
            key=(columns["journal"][at].astype(np.int64) << 32) | columns["number"][at],
            block=columns["block"][at].astype(np.int64),
            words=_of_each(at, words),
            block_words=_of_each(columns["block"][at], blocks),
            meaning=meaning,
            time=columns["time"][at] / 1000.0,
            speaker=speaker.astype(float),
            own=(columns["role"][at] == 0).astype(float),
            traits=columns["traits"][at].astype(np.int64),
        )
        return Candidates(*(np.concatenate(pair) for pair in zip(found, new, strict=True)))

    def _rare(self, rows: Rows) -> Rows:
        """Places of the turns with an asked word that hardly any has: blocks full of common ones must not hide them."""
        few = [term for term in self.asked.weights if 0 < self._frequency(term) <= _RARE]
        found = _first(self.snapshot, *self.snapshot.words.find(few, _RARE), _RARE) if self.snapshot and few else {}
        return np.flatnonzero(np.isin(rows, [*found]))

    def _having(self, keys: Rows, short: Rows, rows: Rows) -> Having:
        """Which of the asked terms the shortlisted turns and those around them have."""
        new, indexed = self.fresh.having(self.asked.weights), short[short < len(rows)]
        if self.snapshot is None or not len(indexed):
            return new
        steps = (0, *AROUND)
        there = np.concatenate([self.snapshot.beside(rows[indexed], step) for step in steps])
        mine = np.concatenate([keys[indexed] + step for step in steps])
        mine, first = np.unique(mine[there != NONE], return_index=True)
        has = self.snapshot.which(list(self.asked.weights), there[there != NONE][first])
        both = np.concatenate([mine, new.key])
        order = np.argsort(both, kind="stable")
        return Having(both[order], np.concatenate([has, new.terms])[order])

    def _spans(self, now: float) -> list[tuple[float, float]]:
        spans = []
        for span in self._sure():
            last = span.last.timestamp() if span.last else now
            spans.append((span.first.timestamp() if span.first else last - _A_MONTH, last))
        return spans

    def _sure(self) -> list[TimeSpan]:
        return [span for span in self.query.times if span.sure]

    def _hits(self, ranked: Ranked, had: NDArray[np.bool_], rows: Rows, limit: int) -> Iterator[Hit]:
        given, about = 0, matches(ranked.parts)
        for place, score, fits, parts, mine in zip(ranked.order, ranked.scores, about, ranked.parts, had, strict=True):
            if given == limit:
                return
            if fits < _LEAST and not self.query.phrases:
                continue
            if place >= len(rows):
                hit: Hit | None = self.fresh.hit(int(place) - len(rows))
            else:
                hit = self.snapshot.hit(int(rows[place])) if self.snapshot and rows[place] in self.eligible else None
            if hit and self._says(hit.text):
                given += 1
                yield hit._replace(score=round(float(score), 4), why="; ".join(self._reasons(hit.time, parts, mine)))

    def _says(self, text: str) -> bool:
        """Are all phrases there, as they were asked for?"""
        if not self.query.phrases:
            return True
        flat = " ".join(text.casefold().split())
        return all(" ".join(phrase.casefold().split()) in flat for phrase in self.query.phrases)

    def _reasons(self, time: datetime, parts: NDArray[np.float64], had: NDArray[np.bool_]) -> list[str]:
        """Why a turn is shown; `had` tells which of the asked terms it has."""
        has = had.tolist()
        mine = dict.fromkeys(word for place, word in self.heaviest if has[place])  # a word may be several terms
        best = list(mine)[:4]
        says = [f"says “{phrase}”" for phrase in self.query.phrases]
        exact = {"has the words": f"has the words ({', '.join(best)})"} if best else {}
        if not any((span.first or time) <= time and (span.last is None or time < span.last) for span in self._sure()):
            exact["said at that time"] = "said near that time"  # a remembered date may be off, so it speaks for it too
        return says + [exact.get(reason, reason) for reason in why(parts)]

    def _told(self) -> tuple[tuple[str, str], ...]:
        """How the question was understood, in words."""
        asked, within = self.asked, self.within
        names = (self.snapshot.speakers if self.snapshot else {}) | self.fresh.speakers
        weights = [f"{self.spoken.get(term, term)} {weight:.1f}" for term, weight in asked.weights.items()]
        told = [("words", ", ".join(weights))]
        told += [("spelt", f"{self.spoken.get(wrong, wrong)} → {right}") for wrong, right in asked.spelt.items()]
        told += [("said by", ", ".join(sorted({names[id] for id in asked.speakers})))] if asked.speakers else []
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
        told.append(("meaning", "compared" if self.vector is not None else "not compared: there is no embedder"))
        return tuple(told)


def _first(snapshot: IndexSnapshot, rows: Rows, scores: Scores, limit: int) -> dict[int, float]:
    """So many of the rows that were found, with their scores; what is not committed yet does not count."""
    there = rows < snapshot.rows
    rows, scores = rows[there], scores[there]
    best = snapshot.best(rows, scores, limit)
    return dict(zip(rows[best].tolist(), scores[best].tolist(), strict=True))


def _of_each(keys: Rows, known: Mapping[int, float]) -> NDArray[np.float64]:
    """What is known of each key, and 0 where nothing is."""
    if not known:
        return np.zeros(len(keys))
    names, values = np.fromiter(known, np.int64), np.fromiter(known.values(), np.float64)
    order = np.argsort(names)
    at = order[np.minimum(np.searchsorted(names, keys, sorter=order), len(names) - 1)]
    return np.where(names[at] == keys, values[at], 0.0)


def _day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time else "any time"
