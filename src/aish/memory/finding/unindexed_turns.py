"""Turns that are in no index yet, weighed the same way: by their own words, as the index would."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aish.memory.finding.backlog import LONGEST, titled
from aish.memory.finding.columns import numbered
from aish.memory.finding.question import Bounds
from aish.memory.finding.ranking import BLOCK, Candidates, Having, rarity, traits
from aish.memory.finding.terms import terms
from aish.memory.finding.vectors import Embedder, Floats
from aish.memory.finding.word_index import WordIndex
from aish.values.channels import is_channel
from aish.values.hits import Hit

_K1, _B = 1.2, 0.75  # as tantivy has them
_USUAL = 25.0  # terms of a turn
_BEYOND = 1 << 30  # more journals and speakers than any index has


class UnindexedTurn(NamedTuple):
    """One of them, read once and asked many times."""

    hit: Hit
    journal: int
    counts: Counter[str]
    vector: Floats | None
    traits: int


class UnindexedTurns:
    """All of them, or those within bounds; the numbers of speakers are the same for both."""

    def __init__(self, turns: Sequence[UnindexedTurn] = (), speakers: dict[int, str] | None = None) -> None:
        self._turns = turns
        names = dict.fromkeys(turn.hit.name for turn in turns if turn.hit.name)
        self.speakers = dict(enumerate(names, start=_BEYOND)) if speakers is None else speakers

    @property
    def size(self) -> int:
        return len(self._turns)

    def within(
        self, bounds: Bounds, without: Sequence[str] = (), says: Callable[[str], bool] = lambda text: True
    ) -> "UnindexedTurns":
        """Those that may be found: none that has one of the terms `without`, and only what `says` what it must."""
        barred = set(without)
        fitting = (turn for turn in self._turns if _fits(turn.hit, bounds) and not barred & turn.counts.keys())
        return UnindexedTurns([turn for turn in fitting if says(turn.hit.text)], self.speakers)

    def frequency(self, term: str) -> int:
        """How many turns have the term."""
        return self._having[term]

    @functools.cached_property
    def _having(self) -> Counter[str]:
        return Counter(term for turn in self._turns for term in turn.counts)

    def hit(self, place: int) -> Hit:
        return self._turns[place].hit

    def having(self, asked: Collection[str]) -> Having:
        """Which of the asked terms each of them has."""
        turns = sorted(self._turns, key=_key)
        has = [[term in turn.counts for term in asked] for turn in turns]
        return Having(np.array([*map(_key, turns)], np.int64), np.array(has, np.bool_).reshape(len(turns), len(asked)))

    def candidates(
        self, weights: Mapping[str, float], vector: Floats | None, speakers: frozenset[int], blocks: WordIndex | None
    ) -> Candidates:
        """The columns that ranking wants. Words that are rare among turns are less so among blocks of them."""
        turns, named = self._turns, {name.casefold() for id, name in self.speakers.items() if id in speakers}
        together: dict[int, Counter[str]] = {}
        for turn in turns:
            together.setdefault(turn.journal, Counter()).update(turn.counts)
        having = Counter(term for counts in together.values() for term in counts.keys() & weights.keys())
        if blocks:
            having.update({term: blocks.frequency(term) for term in having})
        many = len(together) + (blocks.size if blocks else 0)
        rare = {term: rarity(many, min(count, many)) for term, count in having.items()}
        about = {journal: _bm25(counts, rare, BLOCK * _USUAL) for journal, counts in together.items()}
        near = [
            float(turn.vector @ vector) if turn.vector is not None and vector is not None else 0.0 for turn in turns
        ]
        return Candidates(
            key=np.array([_key(turn) for turn in turns], np.int64),
            block=np.array([-2 - turn.journal for turn in turns], np.int64),
            words=np.array([_bm25(turn.counts, weights, _USUAL) for turn in turns], float),
            block_words=np.array([about[turn.journal] for turn in turns], float),
            meaning=np.array(near, float),
            time=np.array([turn.hit.time.timestamp() for turn in turns], float),
            speaker=np.array([float(turn.hit.name.casefold() in named) for turn in turns], float),
            own=np.array([float(turn.hit.role == "user") for turn in turns], float),
            traits=np.array([turn.traits for turn in turns], np.int64),
        )


def read_turns(hits: Mapping[Hit, int], embedder: Embedder | None) -> dict[Hit, UnindexedTurn]:
    """Turns with what is asked of them, given the numbers of their journals."""
    texts = [titled(hit.text, hit.turn, hit.title)[:LONGEST] for hit in hits]
    vectors = embedder.embed(texts) if embedder and texts else [None] * len(texts)
    return {
        hit: UnindexedTurn(hit, journal, Counter(terms(text)), vector, traits(text))
        for (hit, journal), text, vector in zip(hits.items(), texts, vectors, strict=True)
    }


def unknown_journal(number: int) -> int:
    """A number for a journal that is in no index."""
    return _BEYOND + number


def _key(turn: UnindexedTurn) -> int:
    return turn.journal << 32 | numbered(turn.hit.turn)


def _bm25(counts: Counter[str], weights: Mapping[str, float], usual: float) -> float:
    norm = _K1 * (1 - _B + _B * counts.total() / usual)
    return sum(weights[term] * (_K1 + 1) * counts[term] / (counts[term] + norm) for term in weights if term in counts)


def _fits(hit: Hit, bounds: Bounds) -> bool:
    return (
        (not bounds.channel or is_channel(hit.channel, bounds.channel))
        and (not bounds.roles or hit.role in bounds.roles)
        and (bounds.since is None or hit.time >= bounds.since)
        and (bounds.until is None or hit.time < bounds.until)
    )
