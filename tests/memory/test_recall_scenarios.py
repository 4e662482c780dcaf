"""Recall over whole scenes: work and private life, six languages, by words alone and with vectors.

A scene has memos and questions with the ids that should be shown and those that must not be. The scores here are what
the engine reaches, with a little room; a change that loses more than that is a change for the worse.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aish.memory.finding.embed import StaticEmbedder
from aish.memory.recall.engine import RecallEngine
from aish.memory.recall.evidence import WordVectors
from aish.model.weights import WORDLLAMA, WORDLLAMA_TOKENS, find_here
from aish.values.recall import Memo

SCENES = Path(__file__).with_name("recall_scenarios.jsonl")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
# The least share of what should be shown that is shown, in percent.
BY_WORDS = {"direct": 92, "working-state": 95, "contradiction": 95, "temporal": 85, "preference": 80, "paraphrase": 58}
BY_MEANING = BY_WORDS | {"multi": 90, "direct": 95, "paraphrase": 70, "preference": 82}
NOISY, EXTRA = 5.0, 2.0  # percent of the unrelated questions that get anything; memos too many for a question


class Score:
    """What came out of all scenes."""

    def __init__(self, embedder: WordVectors | None) -> None:
        self.wanted, self.found = Counter[str](), Counter[str]()
        self.questions = self.unrelated = self.extra = 0
        self.forbidden: list[str] = []
        self.noisy: list[str] = []
        for line in SCENES.read_text(encoding="utf-8").splitlines():
            scene = json.loads(line)
            engine = RecallEngine(embedder)
            engine.load([self._memo(memory) for memory in scene["memories"]])
            for query in scene["queries"]:
                self._add(query, [one.memo.key for one in engine.choose(query["text"], NOW).shown])

    @staticmethod
    def _memo(memory: dict[str, Any]) -> Memo:
        time = NOW - timedelta(days=memory["age_days"])
        return Memo(memory["id"], memory["layer"], memory["kind"], memory["text"], time)

    def _add(self, query: dict[str, Any], shown: list[str]) -> None:
        relevant = set(query["relevant"])
        self.questions += 1
        self.extra += len(set(shown) - relevant)
        self.forbidden += [query["text"]] if set(query["forbidden"]) & set(shown) else []
        if query["type"] == "unrelated":
            self.unrelated += 1
            self.noisy += [query["text"]] if shown else []
        self.wanted[query["type"]] += len(relevant)
        self.found[query["type"]] += len(relevant & set(shown))

    def percent(self, kind: str) -> float:
        return 100 * self.found[kind] / self.wanted[kind]


def vectors() -> StaticEmbedder:
    path = find_here(WORDLLAMA, [])
    if path is None:
        pytest.skip("the weights for meaning are not installed")
    return StaticEmbedder(path, path.with_name(WORDLLAMA_TOKENS.file))


@pytest.fixture(scope="module")
def by_words() -> Score:
    return Score(None)


@pytest.fixture(scope="module")
def by_meaning() -> Score:
    return Score(vectors())


@pytest.mark.parametrize(("kind", "least"), BY_WORDS.items())
def test_words_alone_find_what_is_needed(by_words: Score, kind: str, least: int) -> None:
    """Recall works without any model."""
    assert by_words.percent(kind) >= least


@pytest.mark.parametrize(("kind", "least"), BY_MEANING.items())
def test_vectors_find_more(by_meaning: Score, kind: str, least: int) -> None:
    """Paraphrases share few words with what they ask for."""
    assert by_meaning.percent(kind) >= least


@pytest.mark.proves("S25", "S27", "X9")
def test_words_alone_bring_nothing_outdated_and_little_else(by_words: Score) -> None:
    """Precision: what is brought without need costs tokens and misleads."""
    assert by_words.forbidden == []
    assert 100 * len(by_words.noisy) / by_words.unrelated <= NOISY, by_words.noisy
    assert by_words.extra / by_words.questions <= EXTRA


def test_vectors_bring_nothing_outdated_and_little_else(by_meaning: Score) -> None:
    """A faint similarity must not make an unrelated question a related one."""
    assert by_meaning.forbidden == []
    assert 100 * len(by_meaning.noisy) / by_meaning.unrelated <= NOISY, by_meaning.noisy
    assert by_meaning.extra / by_meaning.questions <= EXTRA
