"""The recall engine: what is brought to a turn.

Each sentence of a question is judged alone, and then all together, so that more text never takes anything away.
`relevance.py` decides whether a sentence has to do with the memos at all, and scores them. `selection.py` decides what
is shown.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import chain

from aish.memory.recall.contradictions import Contradictions
from aish.memory.recall.evidence import Evidence, WordVectors
from aish.memory.recall.intents import Wish, read_wish
from aish.memory.recall.relevance import Relevance, Score
from aish.memory.recall.selection import Scored, select
from aish.memory.recall.wording import sentences, words
from aish.values.recall import Memo, Recalled

_MOST_WORDS = 128  # of a question that are looked up


def characters_by_four(text: str) -> int:
    """An estimate of the tokens of a text."""
    return -(-len(text) // 4)


class RecallEngine:
    """Chooses what is brought to a turn, from memos that are loaded once and again when they change."""

    def __init__(self, embedder: WordVectors | None = None) -> None:
        self._evidence = Evidence(embedder)
        self._memos: list[Memo] = []
        self._contradictions = Contradictions()
        self._replaced: dict[int, int] = {}
        self._relevance = Relevance([], {})

    def load(self, memos: Sequence[Memo]) -> None:
        """Use these memos from now on. What is unchanged is not computed again."""
        if self._memos == list(memos):
            return
        self._memos = list(memos)
        self._evidence.load([memo.text for memo in memos])
        self._replaced = self._contradictions.find(memos)
        self._relevance = Relevance(self._memos, self._replaced)

    def choose(
        self,
        question: str,
        now: datetime,
        *,
        known: Collection[str] = (),
        budget: int = 400,
        count: Callable[[str], int] = characters_by_four,
    ) -> Recalled:
        """What this question gets. `known` are texts that the turn has already."""
        parts = sentences(question)
        wishes = [read_wish(part) for part in parts]
        asked = [words(part) for part in parts]
        distinct = list(dict.fromkeys(chain.from_iterable(asked)))[:_MOST_WORDS]
        support = dict(zip(distinct, self._evidence.support(distinct), strict=True))
        units = [
            (wish, [support[word] for word in said if word in support])
            for wish, said in zip(wishes, asked, strict=True)
        ]
        if len(units) > 1:
            units.append((_together(wishes), list(support.values())))
        best: dict[int, Score] = {}
        for wish, matched in units:
            for row, score in self._relevance.judge(wish, matched, now).items():
                if row not in best or score.rank > best[row].rank:
                    best[row] = score
        intents = frozenset().union(*(wish.intents for wish in wishes))
        older = {new: old for old, new in self._replaced.items()} if best else {}
        candidates = [
            Scored(
                self._memos[row],
                score.value,
                score.reasons,
                score.enough,
                asked=score.asked,
                superseded=row in self._replaced and "past" not in intents,
                replaced=self._memos[older[row]].text if row in older else "",
            )
            for row, score in best.items()
        ]
        return select(candidates, known=known, budget=budget, count=count, intents=intents, considered=len(self._memos))


def _together(wishes: Sequence[Wish]) -> Wish:
    """What several sentences want together."""
    return Wish(
        frozenset().union(*(wish.intents for wish in wishes)),
        all(wish.general for wish in wishes),
        any(wish.personal for wish in wishes),
        tuple(phrase for wish in wishes for phrase in wish.definite),
    )
