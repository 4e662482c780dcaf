"""Relevance: whether a sentence has to do with the memos at all, and which of them it needs.

Pure: evidence in, scores out. Stage one: what matched must reach a threshold, which depends on the form of the
sentence. Stage two: what matched, whether the kind of a memo answers such a question, and how fresh it is.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt

from aish.memory.recall.evidence import Floats, Rows, Support, telling
from aish.memory.recall.intents import Wish, kind_bonus, plain_kind
from aish.memory.recall.wording import words
from aish.values.named_tuple import NamedTuple
from aish.values.recall import Memo, NoteLayer

# Evidence that makes a sentence one about the memos, by its form; a telling word that matches is 1.
_PLAIN, _WORK, _INTENT, _PERSONAL = 0.5, 0.4, 0.3, 0.2
_GENERAL, _GENERAL_DEFINITE, _GENERAL_INTENT = 0.7, 0.55, 0.45
_ALIEN, _MOST_ALIEN = 0.5, 3  # more that a general question needs for each telling word that nothing matches
_TELLING, _MATCHED = 0.5, 0.3  # weight of a telling word; support that makes it a subject of the memos
_FAMILIAR, _CERTAIN = 0.55, 0.7  # quality of the match of a word that is not foreign to the memos, and of a certain one
_ABOUT_WORK = frozenset({"state", "open", "trouble", "past"})

# What adds to the evidence.
_FRESH_DAYS, _FRESH = 20.0, 0.15
_PAST = 0.6  # for what was replaced, if the question is about the past
_DATED = 0.25  # for a memo with a number, if the question asks for a time or an amount
_LAYER = 0.1  # for the layer that such questions are usually about
_LAYERS: dict[str, NoteLayer] = {"state": "session", "open": "session", "past": "history"}
_BESIDE, _SAME_DAY = 0.6, 43_200  # share of the score of a piece of work for commands of the same day; seconds

# When it is enough.
_SHOW, _SHOW_PERSONAL, _OF_BEST = 0.45, 0.22, 0.35  # at least, and as a share of the best
_BY_KIND, _ASKED_KIND, _MOST_BY_KIND = 0.4, 0.4, 2  # the same for the kinds that were asked for
_NOTHING = 0.1
_REPORTED = 40  # memos with a score
_DAY = 86_400.0


Scores = npt.NDArray[np.float64]
_NONE: Rows = np.zeros(0, np.int64)


class Score(NamedTuple):
    """The score of a memo, the words and intents that made it, and whether it is enough to be shown.

    `asked` is a memo of the kind that was asked for, and one of the best of that kind.
    """

    value: float
    reasons: tuple[str, ...]
    enough: bool
    asked: bool

    @property
    def rank(self) -> tuple[bool, bool, float]:
        return self.enough, self.asked, self.value


class Relevance:
    """The memos as columns, so that ten thousand of them are judged at once."""

    def __init__(self, memos: Sequence[Memo], replaced: Mapping[int, int]) -> None:
        self._memos, self._replaced = memos, replaced
        self._times = np.array([memo.time.timestamp() if memo.time else math.nan for memo in memos])
        self._dated = np.array([re.search(r"\d", memo.text) is not None for memo in memos], bool)
        self._kinds = _places([plain_kind(memo.kind) for memo in memos])
        self._layers = _places([memo.layer for memo in memos])
        self._old, self._new = np.array([*replaced], int), np.array([*replaced.values()], int)

    def judge(self, wish: Wish, support: Sequence[Support], now: datetime) -> dict[int, Score]:
        """The scores of the memos that a sentence has to do with; empty if it has nothing to do with any."""
        if not self._memos or not self._related(wish, support):
            return {}
        evidence = _sum([one.rows for one in support], len(self._memos))
        has_subject = any(one.word.weight >= _TELLING and one.best >= _MATCHED for one in support)
        scores, fitting = self._score(wish, evidence, has_subject, now)
        return self._pick(scores, fitting, wish, support)

    def _related(self, wish: Wish, support: Sequence[Support]) -> bool:
        """Stage one."""
        telling = [one for one in support if one.word.weight >= _TELLING]
        strength = float(_sum([one.rows if wish.personal else one.firm for one in support], len(self._memos)).max())
        if wish.general:
            aliens = sum(one.quality < _FAMILIAR for one in telling)
            definite = any(_is_known(phrase, telling) for phrase in wish.definite)
            least = _GENERAL_DEFINITE if definite else _GENERAL
            least = _GENERAL_INTENT if wish.intents & _ABOUT_WORK else least
            return strength >= least + _ALIEN * min(max(aliens - definite, 0), _MOST_ALIEN)
        if wish.personal:
            return bool(wish.intents) or strength >= _PERSONAL
        if wish.intents & _ABOUT_WORK:
            return not telling or strength >= _INTENT
        return strength >= (_WORK if "work" in wish.intents else _PLAIN)

    def _score(self, wish: Wish, evidence: Floats, has_subject: bool, now: datetime) -> tuple[Scores, dict[str, str]]:
        """Stage two: all scores, and the kinds that answer such a question, with the intent."""
        scores = evidence.astype(np.float64)
        # Without any evidence for it, a memo of the right kind still counts a little if the question has a subject.
        scale = np.minimum(1.0, 0.35 + scores) if has_subject else np.ones(len(scores))
        fitting: dict[str, str] = {}
        for kind, rows in self._kinds.items():
            bonus, intent = kind_bonus(wish.intents, kind)
            if bonus:
                rare = telling(len(rows), len(scores)) if bonus >= _ASKED_KIND else 0.0
                scores[rows] += bonus * np.maximum(scale[rows], rare)
                fitting[kind] = intent
        if wish.intents & {"when", "amount"}:
            scores += np.where(self._dated & (evidence > _NOTHING), _DATED, 0.0)
        for intent, layer in _LAYERS.items():
            if intent in wish.intents and layer in self._layers:
                rows = self._layers[layer]
                scores[rows] += np.where(scores[rows] > _NOTHING, _LAYER, 0.0)
        if len(self._old):
            self._carry_over(scores, scale, past="past" in wish.intents)
        ages = np.maximum(now.timestamp() - self._times, 0.0) / _DAY
        scores += np.where(
            (scores > _NOTHING) & ~np.isnan(ages), _FRESH * np.exp(-np.nan_to_num(ages) / _FRESH_DAYS), 0.0
        )
        if wish.intents & {"state", "trouble"}:
            self._raise_beside(scores)
        return scores, fitting

    def _carry_over(self, scores: Scores, scale: Scores, *, past: bool) -> None:
        """Who asks about what was replaced gets what replaced it; who asks about the past gets both."""
        if past:
            scores[self._old] += _PAST * scale[self._old]
            np.maximum.at(scores, self._old, scores[self._new] * 0.95)
        np.maximum.at(scores, self._new, scores[self._old])

    def _raise_beside(self, scores: Scores) -> None:
        """Commands and errors of the same day belong to the best piece of work."""
        work = np.concatenate([self._kinds.get(kind, _NONE) for kind in ("state", "goal", "error")])
        if not len(work):
            return
        best = work[np.argmax(scores[work])]
        for kind in ("command", "error"):
            rows = self._kinds.get(kind, _NONE)
            rows = rows[np.abs(self._times[rows] - self._times[best]) < _SAME_DAY]
            scores[rows] = np.maximum(scores[rows], scores[best] * _BESIDE)

    def _pick(
        self, scores: Scores, fitting: Mapping[str, str], wish: Wish, support: Sequence[Support]
    ) -> dict[int, Score]:
        """The best memos, and the best of the kinds that were asked for."""
        found: dict[int, Score] = {}
        order = _best(scores, _REPORTED)
        least = max(_SHOW_PERSONAL if wish.personal else _SHOW, _OF_BEST * float(scores[order[0]]))
        seen: Counter[str] = Counter()
        for row in map(int, order):
            value, kind = float(scores[row]), plain_kind(self._memos[row].kind)
            if value < _NOTHING:
                break
            asked = kind_bonus(wish.intents, kind)[0] >= _ASKED_KIND and seen[kind] < _MOST_BY_KIND
            enough = value >= least or (asked and value >= _BY_KIND)
            if row not in self._replaced or "past" in wish.intents:
                seen[kind] += 1
            why = [one.word.surface for one in support if one.rows[row] >= _NOTHING]
            found[row] = Score(value, (*([fitting[kind]] if kind in fitting else []), *why), enough, asked)
        return found


def _best(scores: Scores, count: int) -> Rows:
    """The places of the best scores, best first."""
    rows = np.arange(len(scores))
    if len(scores) > count:
        rows = np.nonzero(scores >= np.partition(scores, -count)[-count])[0]
    return rows[np.argsort(-scores[rows], kind="stable")][:count]


def _places(names: Sequence[str]) -> dict[str, Rows]:
    """For each name the places where it stands."""
    found: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        found.setdefault(name, []).append(at)
    return {name: np.array(places, np.int64) for name, places in found.items()}


def _is_known(phrase: str, telling: Sequence[Support]) -> bool:
    """Is the head of a phrase a word that the memos have? The head is its last word, or the one before a verb."""
    by_surface = {one.word.surface: one for one in telling}
    own: list[Support] = []
    for word in phrase.split():
        if not words(word):
            break
        own += [by_surface[word]] if word in by_surface else []
    return any(one.quality >= _CERTAIN for one in own[-2:])


def _sum(columns: Sequence[Floats], count: int) -> Floats:
    return np.sum(columns, axis=0, dtype=np.float32) if columns else np.zeros(count, np.float32)
