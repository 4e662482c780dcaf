"""The order of what was found: signals of each turn, weighed and added up, and what carried a hit.

Pure: columns of numbers in, an order out. The weights were fitted once by `bench/fit.py` on dialogues of two kinds and
may not be negative, so a signal only ever speaks for a turn; docs/decisions/0014-ranking.md tells how they were found.

It goes in two steps, because the terms of a turn have to be fetched: `shortlist` picks candidates by their `signals`,
which the index gives for all of them, `rank` orders these by their terms too, and those of the turns around them.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

SHORTLIST = 100  # candidates whose terms are looked at
AROUND = (-2, -1, 1)  # the turns beside one that share its subject: what it answers, and the answer to it
BLOCK = 24  # turns of a conversation in a row that are a document of their own besides: about one sitting
_DAY = 86_400.0
_SLIGHT = 0.05  # of a score: less is no reason, even if there is no other
_FADES, _BLURS = 20 * _DAY, 14 * _DAY  # how fast a turn gets old, and how far off a remembered date may be
_CLEAR = 16  # words of a question that is as clear as it gets
_BESIDE = 0.8  # what a day beside the named one is worth: who names a day wants that day first

_DATES = frozenset(
    "yesterday today tonight tomorrow ago last next week weekend month year morning evening recently monday tuesday"
    " wednesday thursday friday saturday sunday january february march april june july august september october"
    " november december".split()
)
_NUMBERS = frozenset(
    "one two three four five six seven eight nine ten once twice couple few several dozen first second third".split()
)
ASKS, DATED, COUNTED, NAMED = 1, 2, 4, 8  # what a turn has, and a question may want, as bits to keep beside the turn


class Signal(NamedTuple):
    """One reason to show a turn: its weight in either step, and how it is told to a person.

    `clear` is added in the second step as far as the question is clear (see `clarity`).
    """

    first: float
    second: float
    clear: float
    means: str


SIGNALS: Mapping[str, Signal] = {
    "hit": Signal(0.9, 0.4, 0.4, "has the words"),
    "words": Signal(0.0, 0.4, 4.1, "has the words"),
    "around": Signal(0.0, 0.0, 3.4, "the words are close by"),
    "block": Signal(2.2, 2.0, 0.0, "the conversation is about it"),
    "best": Signal(1.1, 1.0, 0.0, "said beside a good hit"),
    "meaning": Signal(2.4, 1.6, 1.0, "means something like it"),
    "reply": Signal(0.6, 0.0, 0.3, "answers a question with the words"),
    "answer": Signal(2.5, 0.0, 4.0, "answers a question like it"),
    "speaker": Signal(1.0, 0.4, 0.6, "said by who is named"),
    "company": Signal(3.9, 2.5, 2.6, "said with who is named"),
    "time": Signal(3.9, 3.7, 3.8, "said at that time"),
    "recent": Signal(1.7, 2.4, 0.0, "said lately"),
    "own": Signal(1.6, 1.1, 0.0, "your own words"),
    "kind": Signal(1.6, 0.0, 1.6, "has what is asked for"),
}

_BESIDES = frozenset(["recent", "own", "kind", "company"])  # would speak for the turn whatever was asked
_FIRST, _SECOND, _CLEARER = np.array([signal[:3] for signal in SIGNALS.values()], np.float64).T
_ABOUT = [place for place, name in enumerate(SIGNALS) if name not in _BESIDES]
_COVERAGE = [list(SIGNALS).index("words"), list(SIGNALS).index("around")]


class RankedQuery(NamedTuple):
    """What is asked: terms with what each weighs (see `rarity`), the moment, the times it speaks of, and its traits.

    The meaning of many words is a blur, so it counts as much as the question is clear.
    """

    weights: Mapping[str, float]
    now: float
    spans: Sequence[tuple[float, float]] = ()
    wants: int = 0
    clarity: float = 1.0


class Candidates(NamedTuple):
    """Candidates, a column for each property; the numbers of a turn that is no hit by words or by meaning are 0.

    `key` is one more for the next turn of the same conversation, and no two conversations touch. The turn before a
    candidate should be a candidate too, or what it says is not known here.
    """

    key: Places
    block: Places  # the same for the turns of one block
    words: Numbers  # BM25 of the turn
    block_words: Numbers  # BM25 of the block
    meaning: Numbers  # cosine
    time: Numbers  # seconds, as `now`
    speaker: Numbers  # 1 where the question names who said it
    own: Numbers  # 1 where the user said it himself
    traits: Places


class TermMatches(NamedTuple):
    """Which of the asked terms turns have: a row for each turn, a column for each term."""

    key: Places  # of the turns, in rising order
    terms: npt.NDArray[np.bool_]

    def of(self, keys: Places) -> npt.NDArray[np.bool_]:
        """The rows of these turns; one that is not known has nothing."""
        if not len(self.key):
            return np.zeros((len(keys), self.terms.shape[1]), np.bool_)
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        found: npt.NDArray[np.bool_] = self.terms[at] & (self.key[at] == keys)[:, None]
        return found


class Ranked(NamedTuple):
    """Places among the candidates, the best first, with scores and what each of `SIGNALS` gave to them."""

    order: Places
    scores: Numbers
    parts: Numbers


def clarity(words: int) -> float:
    """How clear a question of so many words is: a short one asks for a fact, a long one goes on about a subject."""
    return min(1.0, _CLEAR / max(words, 1)) ** 2


def rarity(turns: int, frequency: int) -> float:
    """The weight of a term that `frequency` of `turns` turns have (the IDF of BM25)."""
    return float(np.log1p((turns - frequency + 0.5) / (frequency + 0.5)))


def shortlist(table: Numbers, size: int = SHORTLIST) -> Places:
    """Places of the candidates, by their `signals`, whose terms and those of the turns `AROUND` them are wanted."""
    return np.argsort(-(table @ _FIRST), kind="stable")[:size]


def rank(table: Numbers, short: Places, covered: Numbers, clarity: float = 1.0) -> Ranked:
    """Order a shortlist by the `signals` of all candidates and the `coverage` of its own."""
    table = table[short]
    table[:, _COVERAGE] = covered
    parts = table * (_SECOND + clarity * _CLEARER)
    scores = parts.sum(axis=1)
    order = np.argsort(-scores, kind="stable")
    return Ranked(short[order], scores[order], parts[order])


def why(parts: Numbers, most: int = 3) -> list[str]:
    """What carried a hit, in words: how it fits the question, the strongest first, then what else spoke for it."""
    given = [(part, name) for part, name in zip(parts.tolist(), SIGNALS, strict=True) if part > _SLIGHT]
    told = sorted(given, key=lambda pair: (pair[1] in _BESIDES, -pair[0]))
    return list(dict.fromkeys(SIGNALS[name].means for _, name in told))[:most]


def matches(parts: Numbers) -> Numbers:
    """How much of each score is about the question, and not about the turn alone."""
    return np.asarray(parts[:, _ABOUT].sum(axis=1))


def signals(found: Candidates, question: RankedQuery) -> Numbers:
    """All that can be told without the terms, a column for each of `SIGNALS`."""
    before = _before(found.key)
    answers = (before >= 0) & (found.traits[before] & ASKS > 0)
    hit, meaning = _share(found.words), found.meaning * question.clarity
    columns: dict[str, Numbers] = {
        "hit": hit,
        "block": _share(found.block_words),
        "best": _best(found.block, hit),
        "meaning": meaning,
        "reply": np.where(answers, hit[before], 0.0),
        "answer": np.where(answers, meaning[before], 0.0),
        "speaker": found.speaker,
        "company": _best(found.block, found.speaker),
        "time": closeness(found.time, question.spans),
        "recent": np.exp(-np.maximum(question.now - found.time, 0.0) / _FADES),
        "own": found.own,
        "kind": (found.traits & question.wants > 0).astype(np.float64),
    }
    nothing = np.zeros(len(found.key))
    return np.stack([columns.get(name, nothing) for name in SIGNALS], axis=1)


def closeness(time: Numbers, spans: Sequence[tuple[float, float]]) -> Numbers:
    """1 inside a span, clearly less beside it, and less with every day; people tell what happened afterwards."""
    near = np.zeros(len(time))
    for first, last in spans:
        off = np.maximum(np.maximum(1.5 * (first - time), time - last), 0.0)
        near = np.maximum(near, np.where(off > 0, _BESIDE, 1.0) * np.exp(-off / _BLURS))
    return near


def _share(scores: Numbers) -> Numbers:
    """Scores as a part of the best one, since those of BM25 have no common measure."""
    return scores / max(float(scores.max(initial=0.0)), 1e-9)


def _before(key: Places) -> Places:
    """The place of the turn before each, or -1."""
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key, key - 1, sorter=order)
    there = order[np.minimum(at, len(key) - 1)] if len(key) else order
    return np.where(key[there] == key - 1, there, -1)


def _best(block: Places, scores: Numbers) -> Numbers:
    """The best score in the block of each turn."""
    _, group = np.unique(block, return_inverse=True)
    best = np.zeros(len(block))
    np.maximum.at(best, group, scores)
    return best[group]


def coverage(keys: Places, weights: Mapping[str, float], term_matches: TermMatches) -> Numbers:
    """How much of the question each turn has, and how much more together with the turns around it."""
    weigh = np.fromiter(weights.values(), np.float64) / (sum(weights.values()) or 1.0)
    mine = term_matches.of(keys)
    near = np.zeros_like(mine)
    for step in AROUND:
        near |= term_matches.of(keys + step)
    return np.stack([mine @ weigh, (near & ~mine) @ weigh], axis=1)


def traits(text: str) -> int:
    """What a turn has that a question may want, told from the form of its words alone."""
    tail, words = text[-200:], set(_word().findall(text.lower()))
    dated = not _DATES.isdisjoint(words) or any(len(word) == 4 and word[:2] in ("19", "20") for word in words)
    bits = ASKS if "?" in tail or "？" in tail or "؟" in tail else 0
    bits |= DATED if dated or "月" in text or "年" in text else 0
    bits |= COUNTED if not _NUMBERS.isdisjoint(words) or any(word[0].isdecimal() for word in words) else 0
    return bits | (NAMED if _name().search(text) else 0)


def wants(question: str) -> int:
    """Which of these traits an answer to the question would have."""
    low = question.casefold()
    return sum(bit for bit, pattern in _wishes().items() if pattern.search(low))


@functools.cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[a-z]+|\d+")


@functools.cache
def _name() -> re.Pattern[str]:
    """A capital inside a sentence; in German every noun is one, and this tells little there."""
    return re.compile(r"(?<![.!?\n])\s[\"'(]?[A-Z][a-z]+")


@functools.cache
def _wishes() -> Mapping[int, re.Pattern[str]]:
    things = "city|country|state|place|company|book|movie|film|song|game|team|band|restaurant|tool|program|library"
    return {
        DATED: re.compile(
            r"\b(?:when|how long|what (?:date|day|month|year|time)|wann|quand|cu[aá]ndo)\b|什么时候|何时"
        ),
        COUNTED: re.compile(r"\bhow (?:many|much|often|old)\b|\bwie ?viele?\b|\bcombien\b|\bcu[aá]nt[oa]s?\b|多少|几"),
        NAMED: re.compile(
            rf"\b(?:who|where)\b|\b(?:which|what) (?:{things})\b|\bname of\b|\b(?:wer|wo|qui|où|dónde)\b"
        ),
    }
