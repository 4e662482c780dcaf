"""Scores turns that are not in the index yet, with the same formulas as the index."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from aish.memory.finding.bounds import Bounds
from aish.memory.finding.columns import clamp_number
from aish.memory.finding.ranking import BLOCK, Candidates, TermMatches, rarity, traits
from aish.memory.finding.terms import terms
from aish.memory.finding.turn_text import indexed_text
from aish.memory.finding.vectors import Embedder, Floats
from aish.memory.finding.word_index import WordIndex
from aish.values.channels import is_channel
from aish.values.hits import Hit
from aish.values.named_tuple import NamedTuple

_K1, _B = 1.2, 0.75  # the parameters of BM25 in tantivy
_AVERAGE_TERMS = 25.0  # of a turn; assumed
_FIRST_NUMBER = 1 << 30  # of conversations and speakers that the index does not have; it has fewer


class UnindexedTurn(NamedTuple):
    """A turn with what a search needs of it, computed once."""

    hit: Hit
    conversation: int
    counts: Counter[str]
    vector: Floats | None
    traits: int


class UnindexedTurns:
    """All unindexed turns, or a selection of them; the numbers of speakers are the same in both."""

    def __init__(self, turns: Sequence[UnindexedTurn] = (), speakers: dict[int, str] | None = None) -> None:
        self._turns = turns
        names = dict.fromkeys(turn.hit.name for turn in turns if turn.hit.name)
        self.speakers = dict(enumerate(names, start=_FIRST_NUMBER)) if speakers is None else speakers

    @property
    def size(self) -> int:
        return len(self._turns)

    def within(
        self, bounds: Bounds, without: Sequence[str] = (), says: Callable[[str], bool] = lambda text: True
    ) -> "UnindexedTurns":
        """Select the turns within bounds that have none of the terms `without` and whose text `says` accepts."""
        excluded = set(without)
        fitting = (turn for turn in self._turns if _fits(turn.hit, bounds) and not excluded & turn.counts.keys())
        return UnindexedTurns([turn for turn in fitting if says(turn.hit.text)], self.speakers)

    def frequency(self, term: str) -> int:
        """How blocks_total turns have the term."""
        return self._frequencies[term]

    @functools.cached_property
    def _frequencies(self) -> Counter[str]:
        return Counter(term for turn in self._turns for term in turn.counts)

    def hit(self, place: int) -> Hit:
        return self._turns[place].hit

    def term_matches(self, asked: Collection[str]) -> TermMatches:
        """Which of the asked terms each turn has."""
        turns = sorted(self._turns, key=_key)
        has = [[term in turn.counts for term in asked] for turn in turns]
        keys = np.array([*map(_key, turns)], np.int64)
        return TermMatches(keys, np.array(has, np.bool_).reshape(len(turns), len(asked)))

    def candidates(
        self, weights: Mapping[str, float], vector: Floats | None, speakers: frozenset[int], blocks: WordIndex | None
    ) -> Candidates:
        """The columns for ranking. The turns of each conversation are scored together as one block, too."""
        turns, named = self._turns, {name.casefold() for id, name in self.speakers.items() if id in speakers}
        by_conversation: dict[int, Counter[str]] = {}
        for turn in turns:
            by_conversation.setdefault(turn.conversation, Counter()).update(turn.counts)
        frequencies = Counter(term for counts in by_conversation.values() for term in counts.keys() & weights.keys())
        if blocks:
            frequencies.update({term: blocks.frequency(term) for term in frequencies})
        blocks_total = len(by_conversation) + (blocks.size if blocks else 0)
        rare = {term: rarity(blocks_total, min(count, blocks_total)) for term, count in frequencies.items()}
        block_terms = BLOCK * _AVERAGE_TERMS
        block_scores = {number: _bm25(counts, rare, block_terms) for number, counts in by_conversation.items()}
        similarities = [
            float(turn.vector @ vector) if turn.vector is not None and vector is not None else 0.0 for turn in turns
        ]
        return Candidates(
            key=np.array([_key(turn) for turn in turns], np.int64),
            block=np.array([-2 - turn.conversation for turn in turns], np.int64),
            words=np.array([_bm25(turn.counts, weights, _AVERAGE_TERMS) for turn in turns], float),
            block_words=np.array([block_scores[turn.conversation] for turn in turns], float),
            meaning=np.array(similarities, float),
            time=np.array([turn.hit.time.timestamp() for turn in turns], float),
            speaker=np.array([float(turn.hit.name.casefold() in named) for turn in turns], float),
            own=np.array([float(turn.hit.role == "user") for turn in turns], float),
            traits=np.array([turn.traits for turn in turns], np.int64),
        )


def prepare_turns(hits: Mapping[Hit, int], embedder: Embedder | None) -> dict[Hit, UnindexedTurn]:
    """Compute what a search needs of turns; the values of `hits` are the numbers of their conversations."""
    texts = [indexed_text(hit.text, hit.turn, hit.title) for hit in hits]
    vectors = embedder.embed(texts) if embedder and texts else [None] * len(texts)
    return {
        hit: UnindexedTurn(hit, conversation, Counter(terms(text)), vector, traits(text))
        for (hit, conversation), text, vector in zip(hits.items(), texts, vectors, strict=True)
    }


def unindexed_conversation(number: int) -> int:
    """A number for a conversation that is not in the index."""
    return _FIRST_NUMBER + number


def _key(turn: UnindexedTurn) -> int:
    return turn.conversation << 32 | clamp_number(turn.hit.turn)


def _bm25(counts: Counter[str], weights: Mapping[str, float], average: float) -> float:
    norm = _K1 * (1 - _B + _B * counts.total() / average)
    return sum(weights[term] * (_K1 + 1) * counts[term] / (counts[term] + norm) for term in weights if term in counts)


def _fits(hit: Hit, bounds: Bounds) -> bool:
    return (
        (not bounds.channel or is_channel(hit.channel, bounds.channel))
        and (not bounds.roles or hit.role in bounds.roles)
        and (bounds.since is None or hit.time >= bounds.since)
        and (bounds.until is None or hit.time < bounds.until)
    )
