"""Ranking: the weighted sum of the signals of each turn, and the reasons for a hit.

Pure: columns of numbers in, an order out. The weights were fitted by `bench/fit.py` on two kinds of dialogues. They are
not negative, so a signal never lowers a score. See docs/decisions/0014-ranking.md.

There are two steps, because the terms of a turn have to be fetched. `shortlist` selects candidates by their `signals`,
which the index has for all of them; `rank` orders these, using their terms and those of neighbouring turns too.
"""

import functools
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from aish.values.named_tuple import NamedTuple

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

SHORTLIST = 100  # candidates whose terms are fetched
AROUND = (-2, -1, 1)  # neighbours of a turn that share its topic: what it answers, and its answer
BLOCK = 24  # consecutive turns that are also indexed as one document: about one sitting
_DAY = 86_400.0
_MIN_REASON = 0.05  # of a score; a smaller part is not given as a reason
_FADES, _BLURS = 20 * _DAY, 14 * _DAY  # the time constants of age, and of the error of a remembered date
_CLEAR = 16  # words; a question up to this length has full clarity
_BESIDE = 0.8  # the factor for a time outside the named span, so that the named day comes first

_DATES = frozenset(
    "yesterday today tonight tomorrow ago last next week weekend month year morning evening recently monday tuesday"
    " wednesday thursday friday saturday sunday january february march april june july august september october"
    " november december".split()
)
_NUMBERS = frozenset(
    "one two three four five six seven eight nine ten once twice couple few several dozen first second third".split()
)
ASKS, DATED, COUNTED, NAMED = 1, 2, 4, 8  # traits of a turn that a question may ask for, as bits


class Signal(NamedTuple):
    """One reason to return a turn: its weights in both steps, and its text for the user.

    In the second step, `clear` times the clarity of the question is added (see `clarity`).
    """

    first: float
    second: float
    clear: float
    means: str


SIGNALS: Mapping[str, Signal] = {
    "hit": Signal(0.9, 0.4, 0.4, "has the words"),
    "words": Signal(0.0, 0.4, 4.1, "has the words"),
    "around": Signal(0.0, 0.0, 3.4, "the words are nearby"),
    "block": Signal(2.2, 2.0, 0.0, "the conversation is about it"),
    "best": Signal(1.1, 1.0, 0.0, "next to a good hit"),
    "meaning": Signal(2.4, 1.6, 1.0, "similar meaning"),
    "reply": Signal(0.6, 0.0, 0.3, "answers a question with the words"),
    "answer": Signal(2.5, 0.0, 4.0, "answers a similar question"),
    "speaker": Signal(1.0, 0.4, 0.6, "said by a person you named"),
    "company": Signal(3.9, 2.5, 2.6, "a person you named took part"),
    "time": Signal(3.9, 3.7, 3.8, "said at that time"),
    "recent": Signal(1.7, 2.4, 0.0, "said lately"),
    "own": Signal(1.6, 1.1, 0.0, "your own words"),
    "kind": Signal(1.6, 0.0, 1.6, "has what you asked for"),
}

_INDEPENDENT = frozenset(["recent", "own", "kind", "company"])  # do not depend on the topic of the question
_FIRST, _SECOND, _CLEARER = np.array([signal[:3] for signal in SIGNALS.values()], np.float64).T
_ABOUT = [place for place, name in enumerate(SIGNALS) if name not in _INDEPENDENT]
_LEAST_ALIKE = 0.4  # cosine of two texts that have something to do with each other
_OWN_EVIDENCE = {"hit": 0.0, "words": 0.0, "speaker": 0.0, "time": 0.0, "reply": 0.0}
_OWN_EVIDENCE |= {name: _LEAST_ALIKE * sum(SIGNALS[name][1:3]) for name in ("meaning", "answer")}
_EVIDENCE = [_OWN_EVIDENCE.get(name, math.inf) for name in SIGNALS]  # what a part must exceed to be a reason by itself
_COVERAGE = [list(SIGNALS).index("words"), list(SIGNALS).index("around")]


class RankedQuery(NamedTuple):
    """A question: terms with weights (see `rarity`), the current time, the times it names, the traits it asks for.

    The vector of a long question is unspecific, so it counts in proportion to the clarity.
    """

    weights: Mapping[str, float]
    now: float
    spans: Sequence[tuple[float, float]] = ()
    wants: int = 0
    clarity: float = 1.0


class Candidates(NamedTuple):
    """Candidates, one column per property; scores of a turn that was not found by words or by vectors are 0.

    The `key` of the next turn of a conversation is one more; keys of different conversations are never adjacent. The
    turn before a candidate should be a candidate too, because `answer` and `reply` use its signals.
    """

    key: Places
    block: Places  # the same for the turns of one block
    words: Numbers  # BM25 of the turn
    block_words: Numbers  # BM25 of the block
    meaning: Numbers  # cosine
    time: Numbers  # seconds, as `now`
    speaker: Numbers  # 1 if the question names the speaker
    own: Numbers  # 1 if the user said it
    traits: Places


class TermMatches(NamedTuple):
    """Which terms of a query turns have: one row per turn, one column per term."""

    key: Places  # of the turns, ascending
    terms: npt.NDArray[np.bool_]

    def of(self, keys: Places) -> npt.NDArray[np.bool_]:
        """The rows of these turns; an unknown turn has no terms."""
        if not len(self.key):
            return np.zeros((len(keys), self.terms.shape[1]), np.bool_)
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        found: npt.NDArray[np.bool_] = self.terms[at] & (self.key[at] == keys)[:, None]
        return found


class Ranked(NamedTuple):
    """Places of candidates, best first, with their scores and the part of each of `SIGNALS`."""

    order: Places
    scores: Numbers
    parts: Numbers


def clarity(words: int) -> float:
    """The clarity of a question by its number of words: short ones ask for a fact, long ones describe a topic."""
    return min(1.0, _CLEAR / max(words, 1)) ** 2


def rarity(turns: int, frequency: int) -> float:
    """The weight of a term that `frequency` of `turns` turns have (the IDF of BM25)."""
    return float(np.log1p((turns - frequency + 0.5) / (frequency + 0.5)))


def shortlist(table: Numbers, size: int = SHORTLIST) -> Places:
    """Places of the best candidates by their `signals`; their terms have to be fetched."""
    return np.argsort(-(table @ _FIRST), kind="stable")[:size]


def rank(table: Numbers, short: Places, covered: Numbers, clarity: float = 1.0) -> Ranked:
    """Order a shortlist by the `signals` of all candidates and the `coverage` of the shortlisted ones."""
    table = table[short]
    table[:, _COVERAGE] = covered
    parts = table * (_SECOND + clarity * _CLEARER)
    scores = parts.sum(axis=1)
    order = np.argsort(-scores, kind="stable")
    return Ranked(short[order], scores[order], parts[order])


def why(parts: Numbers, most: int = 3) -> list[str]:
    """The reasons for a hit: first those about the question, strongest first, then the independent ones."""
    given = [(part, name) for part, name in zip(parts.tolist(), SIGNALS, strict=True) if part > _MIN_REASON]
    told = sorted(given, key=lambda pair: (pair[1] in _INDEPENDENT, -pair[0]))
    return list(dict.fromkeys(SIGNALS[name].means for _, name in told))[:most]


def is_beside(parts: Numbers) -> bool:
    """Is a turn returned only because of the turns around it? It neither has the words, the meaning nor the time."""
    return not any(part > least for part, least in zip(parts.tolist(), _EVIDENCE, strict=True))


def matches(parts: Numbers) -> Numbers:
    """The part of each score that is about the question and not about the turn alone."""
    return np.asarray(parts[:, _ABOUT].sum(axis=1))


def signals(found: Candidates, question: RankedQuery) -> Numbers:
    """All signals that do not need the terms of a turn, one column for each of `SIGNALS`."""
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
    """1 inside a span; outside less, decreasing by day, more slowly after it: people tell what happened afterwards."""
    near = np.zeros(len(time))
    for first, last in spans:
        off = np.maximum(np.maximum(1.5 * (first - time), time - last), 0.0)
        near = np.maximum(near, np.where(off > 0, _BESIDE, 1.0) * np.exp(-off / _BLURS))
    return near


def _share(scores: Numbers) -> Numbers:
    """Scores relative to the best one, because BM25 scores have no common scale."""
    return scores / max(float(scores.max(initial=0.0)), 1e-9)


def _before(key: Places) -> Places:
    """The place of the turn before each candidate, or -1."""
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key, key - 1, sorter=order)
    there = order[np.minimum(at, len(key) - 1)] if len(key) else order
    return np.where(key[there] == key - 1, there, -1)


def _best(block: Places, scores: Numbers) -> Numbers:
    """The best score in the block of each candidate."""
    _, group = np.unique(block, return_inverse=True)
    best = np.zeros(len(block))
    np.maximum.at(best, group, scores)
    return best[group]


def coverage(keys: Places, weights: Mapping[str, float], term_matches: TermMatches) -> Numbers:
    """The share of the query that each turn has, and the additional share of its neighbours."""
    weigh = np.fromiter(weights.values(), np.float64) / (sum(weights.values()) or 1.0)
    mine = term_matches.of(keys)
    near = np.zeros_like(mine)
    for step in AROUND:
        near |= term_matches.of(keys + step)
    return np.stack([mine @ weigh, (near & ~mine) @ weigh], axis=1)


def traits(text: str) -> int:
    """Traits of a turn that a question may ask for, guessed from the form of its words."""
    tail = text[-200:]
    words = set(_word().findall(" ".join(set(text.lower().split()))))  # repeated words are searched once
    numbers = [*filter(str.isdecimal, words)]
    dated = not _DATES.isdisjoint(words) or any(len(one) == 4 and one[:2] in ("19", "20") for one in numbers)
    bits = ASKS if "?" in tail or "？" in tail or "؟" in tail else 0
    bits |= DATED if dated or "月" in text or "年" in text else 0
    bits |= COUNTED if numbers or not _NUMBERS.isdisjoint(words) else 0
    return bits | (NAMED if _name().search(text) else 0)


def wants(question: str) -> int:
    """The traits that an answer to the question should have."""
    low = question.casefold()
    return sum(bit for bit, pattern in _wishes().items() if pattern.search(low))


@functools.cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[a-z]+|\d+")


@functools.cache
def _name() -> re.Pattern[str]:
    """A capitalized word inside a sentence. Useless for German, where all nouns are capitalized."""
    # From the capital back: searching for the blank before it takes three times as long.
    return re.compile(r"[A-Z](?:(?<=[^.!?\n]\s[A-Z])|(?<=[^.!?\n]\s[\"'(][A-Z]))[a-z]")


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
