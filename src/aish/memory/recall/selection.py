"""Selection: which of the scored memos are shown.

Pure: candidates in, judgements out. Nothing is shown twice, no layer crowds out another, and what is shown fits whole
into the budget. The order is by score, then by time, then by key.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from aish.memory.recall.wording import words
from aish.values.named_tuple import NamedTuple
from aish.values.recall import Judged, Memo, NoteLayer, Outcome, Recalled

MOST = 5  # memos for one turn, besides those of the kinds that were asked for
QUOTAS: dict[NoteLayer, int] = {"session": 4, "memory": 4, "workspace": 3, "history": 3, "ledger": 4}
_STRONG, _NEARLY = 0.8, 0.5  # score, and share of the best one, that let a memo in beyond the quotas
_SAME = 0.85  # share of equal terms from which two memos say the same
_KEPT = 20  # memos left out that are reported


class Scored(NamedTuple):
    """A memo with its score, why it has it, and whether that is enough.

    `asked` is one of the best of the kind that was asked for, `replaced` the text that it replaces.
    """

    memo: Memo
    score: float
    reasons: tuple[str, ...]
    enough: bool
    asked: bool = False
    superseded: bool = False
    replaced: str = ""


def select(
    candidates: Sequence[Scored],
    *,
    known: Collection[str],
    budget: int,
    count: Callable[[str], int],
    intents: Collection[str],
    considered: int,
) -> Recalled:
    """Judge all candidates, best first."""
    judged: list[Judged] = []
    shown: list[Judged] = []
    layers: Counter[NoteLayer] = Counter()
    others = 0  # shown that are not of a kind that was asked for
    familiar = [_normal(text) for text in known]
    tokens = 0
    for candidate in sorted(candidates, key=_order):
        size = count(candidate.memo.text)
        full = layers[candidate.memo.layer] >= QUOTAS[candidate.memo.layer] or (others >= MOST and not candidate.asked)
        outcome = _outcome(candidate, familiar, shown, full=full, fits=size <= budget - tokens)
        note = f"replaces: {candidate.replaced}" if candidate.replaced else ""
        judged.append(Judged(candidate.memo, round(candidate.score, 3), candidate.reasons, outcome, note))
        if outcome == "shown":
            shown.append(judged[-1])
            layers[candidate.memo.layer] += 1
            others += not candidate.asked
            tokens += size
    for at, one in enumerate(judged):  # what the other layers do not need may be used
        if one.outcome != "quota" or one.score < max(_STRONG, _NEARLY * shown[0].score):
            continue
        size, twice = count(one.memo.text), any(says_the_same(one.memo.text, other.memo.text) for other in shown)
        if twice or size > budget - tokens:
            judged[at] = one._replace(outcome="duplicate" if twice else "budget")
            continue
        judged[at] = one._replace(outcome="shown")
        shown.append(judged[at])
        tokens += size
    left_out = tuple(one for one in judged if one.outcome != "shown")[:_KEPT]
    kept = tuple(one for one in judged if one.outcome == "shown")
    return Recalled(kept, left_out, tokens, tuple(sorted(intents)), considered)


def _order(candidate: Scored) -> tuple[float, float, str]:
    time = candidate.memo.time
    return -round(candidate.score, 3), -(time.timestamp() if time else 0.0), candidate.memo.key


def _outcome(candidate: Scored, familiar: Sequence[str], shown: Sequence[Judged], *, full: bool, fits: bool) -> Outcome:
    memo = candidate.memo
    if not candidate.enough:
        return "weak"
    if candidate.superseded:
        return "superseded"
    if any(_normal(memo.text) in text for text in familiar):
        return "known"
    if full:
        return "quota"
    if any(says_the_same(memo.text, other.memo.text) for other in shown):
        return "duplicate"
    return "shown" if fits else "budget"


def says_the_same(one: str, other: str) -> bool:
    """Do two texts have nearly the same words? A number makes a difference."""
    mine, theirs = _gist(one), _gist(other)
    if mine.normal == theirs.normal:
        return True
    if mine.numbers != theirs.numbers or not mine.forms or not theirs.forms:
        return False
    return len(mine.forms & theirs.forms) / len(mine.forms | theirs.forms) >= _SAME


class _Gist(NamedTuple):
    normal: str
    forms: frozenset[str]
    numbers: frozenset[str]


@lru_cache(maxsize=4_096)  # the same few memos are compared on most turns
def _gist(text: str) -> _Gist:
    forms = frozenset(form for word in words(text) for form in word.forms)
    return _Gist(_normal(text), forms, frozenset(form for form in forms if form.isdigit()))


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .。")
