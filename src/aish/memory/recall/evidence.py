"""Evidence: which words of a question speak for which memos, and how strongly.

Pure, except for the embedder that is passed in. Each word of the question is matched with the vocabulary of the memos:
the same term, a longer or shorter form, a part of a compound, or, with an embedder, a word of near meaning. Nothing is
divided by the length of the question.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from aish.memory.recall.wording import Word, words
from aish.values.named_tuple import NamedTuple

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

_MIN_STEM = 4  # letters that two words must share to be forms of one word
_MIN_PART = 5  # letters of a part of a compound
_SHARED = 0.7  # share of a word that its relatives start with
_LONGER, _PART, _ABBREVIATION = 0.75, 0.6, 0.5  # how much a longer or shorter form, a part and an abbreviation count
_SAME, _MOST_OF = 0.8, 0.6  # share of the letters of two spellings of one word, and of a form that is no abbreviation
_NEAR, _NEAR_UNSPACED = 0.25, 0.6  # cosine from which a word of another spelling counts; unrelated words stay below
_FIRM = 0.5  # cosine from which it tells that a question is about the memos
_SLOPE, _OFFSET, _MOST_NEAR = 1.4, 0.15, 0.75  # how much a cosine counts
_FEW = 30  # with fewer memos than this, frequencies among them say little
_TELLING = 0.5  # weight of a word from which its other forms count
_DIMENSIONS = 64  # of a vector; static vectors are trained so that the first ones suffice
_MOST_EMBEDDED = 24  # words of a sentence that are compared by meaning
_ONE_THREAD = 200_000  # multiplications
_MOST_TERMS, _MOST_NEAREST = 64, 24  # of the vocabulary that one word may match by spelling, and by meaning


class WordVectors(Protocol):
    """Turns texts into vectors of length 1."""

    def embed(self, texts: Sequence[str]) -> Any: ...


class Support(NamedTuple):
    """What one word of a question says about each memo.

    `firm` is without faint similarities of meaning. `quality` says how well the best term matches: 1 if it is the same.
    """

    word: Word
    rows: Floats
    firm: Floats
    best: float  # of all rows
    quality: float


class Evidence:
    """An index of the words of memos. What was seen by the previous load is not computed again."""

    def __init__(self, embedder: WordVectors | None = None) -> None:
        self._embedder = embedder
        self._words: dict[str, tuple[tuple[str, str], ...]] = {}  # text → its terms, each with its spelling
        self._known: dict[str, int] = {}  # spelling → its row in `_kept`
        self._kept: Floats = np.zeros((0, 0), np.float32)
        self.load(())

    def load(self, texts: Sequence[str]) -> None:
        """Index these texts instead of the previous ones."""
        self._words = {text: self._words[text] if text in self._words else _terms(text) for text in texts}
        self._count = len(texts)
        self._ids: dict[str, int] = {}
        spellings: list[str] = []
        numbers: list[int] = []
        for text in texts:
            for term, spelling in self._words[text]:
                if term not in self._ids:
                    self._ids[term] = len(spellings)
                    spellings.append(spelling)
                numbers.append(self._ids[term])
        terms = np.array(numbers, np.int64)
        rows = np.repeat(np.arange(len(texts), dtype=np.int64), [len(self._words[text]) for text in texts])
        order = np.argsort(terms, kind="stable")
        self._rows: Rows = rows[order]
        self._starts: Rows = np.searchsorted(terms[order], np.arange(len(spellings) + 1)).astype(np.int64)
        self._sorted = sorted(self._ids)
        self._joined = "\n".join(["", *self._sorted, ""])
        meant = [term for term, spelling in enumerate(spellings) if _has_meaning(spelling)]
        self._embedded: Rows = np.array(meant, np.int64)  # the terms that have a vector
        self._vectors = np.ascontiguousarray(self._embed([spellings[term] for term in meant]).T)

    def _embed(self, spellings: Sequence[str]) -> Floats:
        """The vectors of these words. Only new ones are computed."""
        if self._embedder is None or not spellings:
            return np.zeros((0, 0), np.float32)
        new = [spelling for spelling in dict.fromkeys(spellings) if spelling not in self._known]
        if new:
            vectors = _short_vectors(self._embedder, new)
            self._kept = np.concatenate([self._kept, vectors]) if len(self._kept) else vectors
            self._known |= {spelling: len(self._known) + at for at, spelling in enumerate(new)}
        vectors = self._kept[[self._known[spelling] for spelling in spellings]]
        if len(self._known) > 2 * len(spellings):  # most are of memos that are gone
            self._kept, self._known = vectors, {spelling: row for row, spelling in enumerate(spellings)}
        return vectors

    def support(self, asked: Sequence[Word]) -> list[Support]:
        """What each word of a question says about each memo."""
        with_meaning = [word.surface for word in asked if _has_meaning(word.surface)][:_MOST_EMBEDDED]
        cosines: dict[str, Floats] = {}
        if self._embedder is not None and len(self._vectors) and with_meaning:
            questions = _short_vectors(self._embedder, with_meaning)
            cosines = dict(zip(with_meaning, _products(questions, self._vectors), strict=True))
        return [self._of_word(word, cosines.get(word.surface)) for word in asked]

    def _of_word(self, word: Word, cosines: Floats | None) -> Support:
        firm = np.zeros(self._count, np.float32)
        quality = 0.0
        for term, share in self._spelled(word).items():
            self._raise(firm, term, share * word.weight)
            quality = max(quality, share)
        rows = firm
        if cosines is not None:
            rows = firm.copy()
            for at, cosine in _nearest(cosines, _NEAR if word.surface.isascii() else _NEAR_UNSPACED):
                share = min((cosine - _OFFSET) * _SLOPE, _MOST_NEAR)
                self._raise(rows, int(self._embedded[at]), share * word.weight)
                if cosine >= _FIRM:
                    self._raise(firm, int(self._embedded[at]), share * word.weight)
                    quality = max(quality, share)
        return Support(word, rows, firm, float(rows.max(initial=0.0)), quality)

    def _raise(self, rows: Floats, term: int, strength: float) -> None:
        """Raise the strength of all memos with a term; the strength is less if many have it."""
        places = self._rows[self._starts[term] : self._starts[term + 1]]
        rows[places] = np.maximum(rows[places], strength * telling(len(places), self._count))

    def _spelled(self, word: Word) -> dict[int, float]:
        """Terms that are spelled like a word or a part of it, and how much each counts."""
        credit: dict[int, float] = {}
        whole = word.forms[0]
        for form in word.forms:
            if form in self._ids:
                credit[self._ids[form]] = 1.0 if form == whole else 1.0 / max(len(word.forms) - 1, 1)
        if whole.isalpha() and len(whole) >= _MIN_STEM and word.weight >= _TELLING:
            for form in self._relatives(whole):
                credit.setdefault(self._ids[form], _similarity(whole, form))
        return credit

    def _relatives(self, form: str) -> Iterator[str]:
        """Longer and shorter forms of a word, compounds with it, and its own parts."""
        yield from (form[:end] for end in range(_MIN_STEM, len(form)) if form[:end] in self._ids)
        start = form[: max(_MIN_STEM + 1, math.ceil(len(form) * _SHARED))]
        first = bisect_left(self._sorted, start)
        for other in self._sorted[first : first + _MOST_TERMS]:
            if not other.startswith(start):
                break
            yield other
        if len(form) >= _MIN_PART:
            yield from self._compounds(form)
        for begin in range(1, len(form) - _MIN_PART + 1):
            ends = range(begin + _MIN_PART, len(form) + 1)
            yield from (form[begin:end] for end in ends if form[begin:end] in self._ids)

    def _compounds(self, form: str) -> Iterator[str]:
        """Terms that contain a word."""
        at = self._joined.find(form)
        for _ in range(_MOST_TERMS):
            if at < 0:
                break
            start, end = self._joined.rfind("\n", 0, at) + 1, self._joined.find("\n", at)
            yield self._joined[start:end]
            at = self._joined.find(form, end)


def telling(memos: int, total: int) -> float:
    """How much a property tells that so many of all memos have: 1 for one memo, less for many."""
    total = max(total, _FEW)
    return math.log(1 + total / memos) / math.log(1 + total)


def _terms(text: str) -> tuple[tuple[str, str], ...]:
    """The terms of a text, each once and with its spelling."""
    pairs = chain.from_iterable(
        ((form, word.surface if form == word.forms[0] else form) for form in word.forms) for word in words(text)
    )
    return tuple(dict(pairs).items())


def _short_vectors(embedder: WordVectors, texts: Sequence[str]) -> Floats:
    """Vectors of length 1 with few dimensions."""
    vectors: Floats = np.asarray(embedder.embed(texts), np.float32)[:, :_DIMENSIONS]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.maximum(lengths, 1e-9))


def _products(questions: Floats, columns: Floats) -> Floats:
    """`questions @ columns` in pieces so small that numpy uses one thread: on a busy machine many threads wait long."""
    size = max(_ONE_THREAD // max(questions.size, 1), 1)
    parts = [questions @ columns[:, start : start + size] for start in range(0, columns.shape[1], size)]
    return np.concatenate(parts, axis=1)


def _nearest(cosines: Floats, least: float) -> list[tuple[int, float]]:
    """Terms of near meaning, with their cosines."""
    close = np.nonzero(cosines > least)[0]
    if len(close) > _MOST_NEAREST:
        close = close[np.argsort(-cosines[close], kind="stable")[:_MOST_NEAREST]]
    return [(int(term), float(cosines[term])) for term in close]


def _similarity(one: str, other: str) -> float:
    """How much a word with the same start, or with the other one in it, counts."""
    short, long = sorted((one, other), key=len)
    if not long.startswith(short):
        most = math.ceil(len(long) * _SAME)
        return _LONGER if long[:most] == short[:most] else _PART  # licence and license; compounds
    return _LONGER if len(short) >= len(long) * _MOST_OF else _ABBREVIATION


def _has_meaning(surface: str) -> bool:
    """Can a vector stand for this word? Those of numbers, abbreviations and identifiers mean nothing."""
    return surface.isalpha() and (len(surface) >= _MIN_STEM or not surface.isascii())
