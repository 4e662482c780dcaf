"""Fit the weights of the ranking: `python -m bench.fit LOCOMO.json REALMEM.json [--words]`.

Each file is a recall set (turns with channel, conversation, time, role, name and text; questions with their evidence).
A dialogue is one channel. The weights for a dialogue are fitted on all others, so that every figure is about dialogues
that were not fitted. The last output is the weights fitted on all dialogues. No index is needed: BM25 and vectors are
computed here.
"""

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aish.memory.finding import ranking
from aish.memory.finding.embed import StaticEmbedder
from aish.memory.finding.terms import query_terms, terms
from aish.memory.finding.when import TimeSpan, find_times
from bench.finding import embedder

HITS, BLOCKS, HARD, STEPS = 200, 100, 200, 150
NEIGHBOURS = (-2, -1, 1, 2)
VIEWS = (0.8, 0.2)  # weights of questions asked in their own channel, and of the same questions asked in all channels
SHARES = (0.8, 0.2)  # weights of the two sets: the second has few dialogues, and would be overfitted
NAMES = list(ranking.SIGNALS)
LATER = ("words", "around")  # signals of the second step only
PRIORS = ("recent", "own")  # no separate weight for clear questions: only long questions have these signals here
Numbers = npt.NDArray[np.float64]
_FIRST, *_SECOND = np.array([signal[:3] for signal in ranking.SIGNALS.values()], dtype=np.float64).T
BUILT_IN = np.append(_FIRST, np.zeros_like(_FIRST)), np.concatenate(_SECOND)


class Case(NamedTuple):
    """A question with its candidates: their signals, and which of them are right."""

    mass: float
    group: str
    kind: str
    dialogue: str
    signals: Numbers  # one column per signal, then the same columns times the clarity of the question
    right: Numbers
    wanted: int


class Bm25:
    """BM25 as tantivy computes it, with the same constants."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self.size = len(documents)
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        self._norm = 1.2 * (0.25 + 0.75 * lengths / max(lengths.mean(), 1.0))
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, document in enumerate(documents):
            for term, count in Counter(document).items():
                postings[term].append((row, count))
        self._postings = {term: np.array(pairs) for term, pairs in postings.items()}

    def weights(self, asked: Iterable[str]) -> dict[str, float]:
        return {term: ranking.rarity(self.size, len(self._postings.get(term, ()))) for term in asked}

    def scores(self, asked: Iterable[str]) -> Numbers:
        found = np.zeros(self.size)
        for term, weight in self.weights(asked).items():
            if (pairs := self._postings.get(term)) is not None:
                rows, counts = pairs[:, 0], pairs[:, 1]
                found[rows] += weight * 2.2 * counts / (counts + self._norm[rows])
        return found


class Talk:
    """All turns of a recall set, in the form the index has them."""

    def __init__(self, path: Path, using: StaticEmbedder | None) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        self.group, self.questions, turns = path.stem, data["questions"], data["turns"]
        self.refs = np.array([turn["ref"] for turn in turns])
        self.channel = np.array([turn["channel"] for turn in turns])
        self.names = [turn["name"].casefold() for turn in turns]
        self.own = np.array([turn["role"] == "user" for turn in turns], dtype=np.float64)
        self.time = np.array([datetime.fromisoformat(turn["time"]).timestamp() for turn in turns])
        self.traits = np.array([ranking.traits(turn["text"]) for turn in turns])
        self.terms = [terms(turn["text"]) for turn in turns]
        self.key = _keys([turn["conversation"] for turn in turns])
        self.block = self.key // (1 << 32) * (1 << 32) + self.key % (1 << 32) // ranking.BLOCK
        _, self.in_block = np.unique(self.block, return_inverse=True)
        blocks: list[list[str]] = [[] for _ in range(self.in_block.max() + 1)]
        for row, place in enumerate(self.in_block):
            blocks[place] += self.terms[row]
        self.words, self.blocks = Bm25(self.terms), Bm25(blocks)
        self.term_sets = {int(key): frozenset(term_set) for key, term_set in zip(self.key, self.terms, strict=True)}
        self._embedder = using
        self._vectors = using.embed([turn["text"] for turn in turns]) if using else None

    def case(self, number: int, mass: float, *, everywhere: bool) -> Case:
        """Build one question with its candidates, as the finder would."""
        asked = self.questions[number]
        until = datetime.fromisoformat(asked["until"]) if "until" in asked else datetime(2026, 11, 1, tzinfo=UTC)
        seen = (self.time < until.timestamp()) & ((self.channel == asked["channel"]) | everywhere)
        words, named = self._without_names(asked["query"], asked["channel"])
        query = query_terms(words) or query_terms(asked["query"])
        hits = _best(np.where(seen, self.words.scores(query), 0.0), HITS)
        in_sight = np.isin(np.arange(self.blocks.size), self.in_block[seen])
        blocks = _best(np.where(in_sight, self.blocks.scores(query), 0.0), BLOCKS)[self.in_block]
        like = np.zeros(len(seen))
        if self._vectors is not None and self._embedder:
            like = (self._vectors @ self._embedder.embed([words])[0]).astype(np.float64)
        near = _best(np.where(seen, like + 1.0, 0.0), 0 if self._vectors is None else HITS)
        chosen = seen & ((hits > 0) | (near > 0))
        chosen |= seen & np.isin(self.key, [self.key[chosen] + step for step in NEIGHBOURS])
        rows = np.flatnonzero(chosen if chosen.any() else seen)
        spans = [_bounds(span, until.timestamp()) for span in find_times(asked["query"], until) if span.sure]
        clear = ranking.clarity(len(words.split()))
        wants = ranking.wants(asked["query"])
        question = ranking.RankedQuery(self.words.weights(query), until.timestamp(), spans, wants, clear)
        speaker = np.array([float(self.names[row] in named) for row in rows])
        found = ranking.Candidates(
            *(self.key[rows], self.block[rows], hits[rows], blocks[rows], like[rows], self.time[rows]),
            *(speaker, self.own[rows], self.traits[rows]),
        )
        table = ranking.signals(found, question)
        around = np.unique([found.key + step for step in (0, *ranking.AROUND)])
        known = around[np.isin(around, self.key)]
        has = [[term in self.term_sets[key] for term in question.weights] for key in known.tolist()]
        having = ranking.TermMatches(known, np.array(has, np.bool_).reshape(len(known), len(question.weights)))
        table[:, [NAMES.index(name) for name in LATER]] = ranking.coverage(found.key, question.weights, having)
        right = np.isin(self.refs[rows], asked["evidence"]).astype(np.float64)
        group = f"{self.group} {'in all' if everywhere else 'in its'} channel{'s' if everywhere else ''}"
        gated = table * [clear * (name not in PRIORS) for name in NAMES]
        table = np.concatenate([table, gated], axis=1)
        return Case(mass, group, asked["category"], asked["channel"], table, right, len(asked["evidence"]))

    def _without_names(self, query: str, channel: str) -> tuple[str, set[str]]:
        """Remove the names of participants from the question; return it and the names."""
        present = {name for name, where in zip(self.names, self.channel, strict=True) if where == channel}
        named = {name for name in present - {"user", "assistant"} if re.search(rf"\b{re.escape(name)}\b", query, re.I)}
        for name in named:
            query = re.sub(rf"\b{re.escape(name)}(?:['’]s)?\b", " ", query, flags=re.IGNORECASE)
        return query, named


def _bounds(span: TimeSpan, now: float) -> tuple[float, float]:
    """Return a span in seconds; a span without a start gets the 30 days before its end."""
    last = span.last.timestamp() if span.last else now
    return span.first.timestamp() if span.first else last - 30 * 86_400, last


def _keys(conversations: Sequence[str]) -> npt.NDArray[np.int64]:
    numbers: Counter[str] = Counter()
    ids: dict[str, int] = {}
    keys = []
    for conversation in conversations:
        keys.append((ids.setdefault(conversation, len(ids)) << 32) + numbers[conversation])
        numbers[conversation] += 1
    return np.array(keys)


def _best(scores: Numbers, count: int) -> Numbers:
    """Keep only the best scores, as an index with a limit returns them."""
    if count >= len(scores):
        return scores
    least = np.partition(scores, -count)[-count] if count else np.inf
    return np.where(scores >= least, scores, 0.0)


def fit(cases: Sequence[Case], leave_out: Sequence[str]) -> Numbers:
    """Return weights of 0 or more that maximize the softmax of the right turns among the hardest wrong ones."""
    counts = Counter(case.group for case in cases)
    tables, goals, starts, masses, size = [], [], [], [], 0
    for case in cases:
        if case.right.any():
            hardest = np.argsort(-(case.signals @ BUILT_IN[1]))[:HARD]
            rows = np.union1d(hardest, np.flatnonzero(case.right))
            mass = case.mass / counts[case.group]
            tables.append(case.signals[rows])
            goals.append(mass * case.right[rows] / case.right.sum())
            starts.append(size)
            masses.append(np.full(len(rows), mass))
            size += len(rows)
    table = np.concatenate(tables)
    scale: Numbers = table.std(axis=0) + 1e-6
    table = table / scale
    table[:, [place for place, name in enumerate(NAMES * 2) if name in leave_out]] = 0.0
    if LATER[0] in leave_out:  # the first step does not distinguish short and long questions
        table[:, len(NAMES) :] = 0.0
    return _descend(table, np.concatenate(goals), np.concatenate(masses), np.array(starts)) / scale


def _descend(table: Numbers, goal: Numbers, mass: Numbers, starts: npt.NDArray[np.int64]) -> Numbers:
    """Take gradient steps with Adam; negative weights are set to 0 after each step."""
    sizes = np.diff(np.append(starts, len(table)))
    weights = np.full(table.shape[1], 0.1)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        scores = table @ weights
        powers = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
        chance = powers / np.repeat(np.add.reduceat(powers, starts), sizes)
        slope = table.T @ (mass * chance - goal) + 2e-3 * weights
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        move = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
        weights = np.maximum(weights - 0.1 * (1 - step / STEPS) * move, 0.0)
    return np.where(table.any(axis=0), weights, 0.0)


def figures(case: Case, first: Numbers, second: Numbers) -> list[float]:
    """Return recall@5, @10, @20 and the reciprocal rank of a question, ranked in two steps as in the product."""
    short = np.argsort(-(case.signals @ first), kind="stable")[: ranking.SHORTLIST]
    right = case.right[short[np.argsort(-(case.signals[short] @ second), kind="stable")]][:20]
    rank = 1 + int(right.argmax()) if right.any() else 0
    return [*(float(right[:count].sum()) / case.wanted for count in (5, 10, 20)), 1 / rank if rank else 0.0]


def report(cases: Sequence[Case], leave_out: Sequence[str] = ()) -> Numbers:
    """Print the figures of all sets and kinds; each dialogue is ranked by weights fitted on the others."""
    rows = np.zeros((len(cases), 4))
    for dialogue in dict.fromkeys(case.dialogue for case in cases):
        others = [case for case in cases if case.dialogue != dialogue]
        first, second = fit(others, [*LATER, *leave_out]), fit(others, leave_out)
        for row, case in enumerate(cases):
            if case.dialogue == dialogue:
                rows[row] = figures(case, first, second)
    show(cases, rows, "fitted on the others" + "".join(f", without {name}" for name in leave_out))
    return rows


def show(cases: Sequence[Case], rows: Numbers, title: str) -> None:
    print(title)
    for group in dict.fromkeys(case.group for case in cases):
        kinds = dict.fromkeys(case.kind for case in cases if case.group == group)
        for kind in ("", *kinds) if len(kinds) > 1 else ("",):
            mine = [row for row, case in enumerate(cases) if case.group == group and kind in ("", case.kind)]
            line = " ".join(f"{figure:.3f}" for figure in rows[mine].mean(axis=0))
            print(f"  {group} {kind or 'all':12} {len(mine):5}  recall@5 @10 @20, mrr: {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=2, type=Path)
    parser.add_argument("--words", action="store_true", help="words only, without vectors")
    parser.add_argument("--each", action="store_true", help="report the effect of each signal by leaving it out")
    args = parser.parse_args()
    cases = []
    for path, share in zip(args.files, SHARES, strict=True):
        talk = Talk(path, None if args.words else embedder())
        for everywhere, part in enumerate(VIEWS):
            cases += [talk.case(n, share * part, everywhere=bool(everywhere)) for n in range(len(talk.questions))]
    show(cases, np.array([figures(case, *BUILT_IN) for case in cases]), "with the weights of the product")
    report(cases)
    for name in NAMES if args.each else ():
        report(cases, [name])
    for title, leave_out in (("first", LATER), ("second", ())):
        weights = fit(cases, leave_out).reshape(2, -1).T.round(1).tolist()
        print(title, dict(zip(NAMES, weights, strict=True)))


if __name__ == "__main__":
    main()
