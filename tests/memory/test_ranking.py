"""Ranking: signals only add to a score, the order follows from their sum, and a hit can give its reasons."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.finding.ranking import (
    ASKS,
    BLOCK,
    COUNTED,
    DATED,
    NAMED,
    SIGNALS,
    Candidates,
    Numbers,
    Ranked,
    RankedQuery,
    TermMatches,
    clarity,
    closeness,
    coverage,
    matches,
    rank,
    rarity,
    shortlist,
    signals,
    traits,
    wants,
    why,
)

DAY = 86_400.0
NOW = 1_000 * DAY


class Row(NamedTuple):
    """A candidate: its position, its index data, and its terms."""

    conversation: int = 1
    number: int = 0
    words: float = 0.0
    block_words: float = 0.0
    meaning: float = 0.0
    time: float = 0.0
    speaker: float = 0.0
    own: float = 0.0
    traits: int = 0
    term_set: str = ""

    @property
    def key(self) -> int:
        return (self.conversation << 32) + self.number


def columns(rows: Sequence[Row]) -> Candidates:
    def numbers(name: str) -> Numbers:
        return np.array([getattr(row, name) for row in rows], dtype=np.float64)

    return Candidates(
        key=np.array([row.key for row in rows], dtype=np.int64),
        block=np.array([(row.conversation << 32) + row.number // BLOCK for row in rows], dtype=np.int64),
        words=numbers("words"),
        block_words=numbers("block_words"),
        meaning=numbers("meaning"),
        time=numbers("time"),
        speaker=numbers("speaker"),
        own=numbers("own"),
        traits=np.array([row.traits for row in rows], dtype=np.int64),
    )


def ranked(
    rows: Sequence[Row],
    weights: Mapping[str, float] | None = None,
    spans: Sequence[tuple[float, float]] = (),
    wants: int = 0,
    clear: float = 1.0,
) -> Ranked:
    question, found = RankedQuery(weights or {}, NOW, spans, wants, clear), columns(rows)
    table, sorted_rows = signals(found, question), sorted(rows, key=lambda row: row.key)
    has = [[term in row.term_set.split() for term in question.weights] for row in sorted_rows]
    terms = np.array(has, np.bool_).reshape(len(rows), len(question.weights))
    having = TermMatches(np.array([row.key for row in sorted_rows], np.int64), terms)
    short = shortlist(table)
    return rank(table, short, coverage(found.key[short], question.weights, having), clear)


def apart(*rows: Row) -> list[Row]:
    """Put the rows into unrelated conversations."""
    return [row._replace(conversation=place) for place, row in enumerate(rows, start=1)]


@pytest.mark.parametrize(
    "better",
    [
        Row(block_words=3.0),
        Row(meaning=0.5),
        Row(speaker=1.0),
        Row(own=1.0),
        Row(time=NOW - DAY),
        Row(traits=COUNTED),
        Row(term_set="boat"),
    ],
)
@pytest.mark.proves("N8")
def test_each_signal_alone_raises_the_score(better: Row) -> None:
    """Words, meaning, speaker, time and position share one score; each counts without the others."""
    found = ranked(apart(Row(), better, Row()), {"boat": 2.0}, wants=COUNTED)
    assert found.order.tolist()[0] == 1
    assert found.scores[0] > found.scores[1] == found.scores[2]


def test_no_signal_lowers_the_score() -> None:
    """More evidence never lowers a hit, so a good one is never missing for an obscure reason."""
    assert all(weight >= 0 for signal in SIGNALS.values() for weight in signal[:3])


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    """A word that few turns have is more informative."""
    weights = {"boat": rarity(1000, 3), "nice": rarity(1000, 400)}
    assert ranked(apart(Row(term_set="nice"), Row(term_set="boat")), weights).order.tolist() == [1, 0]


def test_a_word_that_every_turn_has_still_counts() -> None:
    """Otherwise a question of such words would find nothing."""
    assert 0 < rarity(10, 10) < rarity(10, 1) < rarity(10, 0)


def test_half_of_the_words_beside_a_turn_count_but_less_than_in_it() -> None:
    """A short reply has its subject in the turns around it."""
    weights = {"boat": 1.0, "harbour": 1.0}
    reply = [Row(number=0, term_set="boat"), Row(number=1, term_set="harbour")]
    alone, whole = Row(conversation=2, term_set="harbour"), Row(conversation=3, term_set="boat harbour")
    found = ranked([*reply, alone, whole], weights)
    scores = dict(zip(found.order.tolist(), found.scores.tolist(), strict=True))
    assert scores[3] > scores[1] > scores[2]


def test_the_words_of_another_conversation_do_not_count_as_close_by() -> None:
    """Keys of two conversations are never adjacent, whatever their numbers."""
    far = [Row(conversation=1, number=5, term_set="boat"), Row(conversation=2, number=4), Row(conversation=3, number=9)]
    assert ranked(far, {"boat": 1.0}).scores[1:].max() == pytest.approx(0.0)


def test_the_answer_to_a_matching_question_ranks_higher_but_not_the_turn_after_a_statement() -> None:
    """The question has the words, and the answer has the information."""
    asks, tells = Row(words=5.0, meaning=0.6, traits=ASKS), Row(words=5.0, meaning=0.6)
    rows = [asks, Row(number=1), tells._replace(conversation=2), Row(conversation=2, number=1)]
    found = ranked(rows)
    scores = dict(zip(found.order.tolist(), found.scores.tolist(), strict=True))
    assert scores[1] > scores[3]


def test_a_candidate_whose_turn_before_is_unknown_answers_nothing() -> None:
    """Neither the turn itself nor the row beside it in the columns counts as the turn before."""
    names, asks = list(SIGNALS), Row(number=7, words=5.0, meaning=0.9, traits=ASKS)
    for rows in ([asks], [asks, Row(conversation=2, number=3)], [Row(number=9), asks]):
        parts = ranked(rows).parts
        assert parts[:, names.index("reply")].max() == parts[:, names.index("answer")].max() == 0.0


def test_turns_with_a_named_person_come_before_turns_of_others() -> None:
    """Turns said to Anna are closer to a question about Anna than turns between others."""
    rows = [Row(conversation=1, term_set="boat"), Row(conversation=2, number=1, term_set="boat")]
    anna = Row(conversation=2, number=3, speaker=1.0)
    assert ranked([*rows, anna], {"boat": 1.0}).order.tolist().index(1) < 2
    assert ranked([*rows, anna], {"boat": 1.0}).order.tolist()[-1] == 0


def test_a_good_hit_raises_only_the_turns_of_its_block() -> None:
    """A conversation of a million turns has many subjects."""
    rows = [Row(number=0, words=9.0), Row(number=BLOCK - 1), Row(number=BLOCK)]
    found = ranked(rows)
    scores = dict(zip(found.order.tolist(), found.scores.tolist(), strict=True))
    assert scores[0] >= scores[1] > scores[2] == pytest.approx(0.0)


def test_the_time_of_a_question_fades_slower_after_it_than_before_it() -> None:
    """People talk in June about what happened in May, and seldom the other way round."""
    may = (100 * DAY, 131 * DAY)
    near = closeness(np.array([115, 100, 131, 138, 93, 400]) * DAY, [may])
    assert near[0] == near[1] == near[2] == 1.0
    assert 1.0 > near[3] > near[4] > near[5]
    assert near[5] < 0.001


def test_of_several_times_the_nearest_counts_and_without_one_nothing_does() -> None:
    """A question may name two days."""
    times = np.array([10 * DAY, 500 * DAY])
    assert closeness(times, [(10 * DAY, 11 * DAY), (500 * DAY, 501 * DAY)]).tolist() == [1.0, 1.0]
    assert closeness(times, []).tolist() == [0.0, 0.0]


def test_recent_turns_come_first_and_among_old_ones_age_makes_no_difference() -> None:
    """Recency decides between weeks, not between turns that are all years old."""
    found = ranked(apart(Row(time=NOW - 900 * DAY), Row(time=NOW - 2 * DAY), Row(time=NOW - 500 * DAY)))
    assert found.order.tolist()[0] == 1
    assert found.scores[1] == pytest.approx(found.scores[2], abs=1e-6)


def test_a_turn_of_the_future_is_as_recent_as_now_and_no_more() -> None:
    """Clocks can be wrong; such a turn must not win every search."""
    found = ranked(apart(Row(time=NOW + 9_000 * DAY), Row(time=NOW)))
    assert found.scores[0] == found.scores[1]


def test_reasons_are_listed_strongest_first_without_small_ones() -> None:
    """The match with the question comes first: the user can check it against the text."""
    found = ranked([Row(term_set="boat", meaning=0.01, own=1.0)], {"boat": 1.0})
    assert why(found.parts[0], most=9) == ["has the words", "your own words"]
    assert matches(found.parts)[0] < found.scores[0]
    assert why(found.parts[0], most=1) == ["has the words"]
    assert why(ranked([Row(time=-NOW)]).parts[0]) == []


def test_a_long_question_is_about_a_subject_and_a_short_one_about_a_fact() -> None:
    """A long question has many words of little meaning; then the subject of the conversation counts more."""
    fact, subject = apart(Row(term_set="boat"), Row(block_words=3.0))
    for words, best in ((6, 0), (200, 1)):
        assert ranked([fact, subject], {"boat": 1.0}, clear=clarity(words)).order.tolist()[0] == best


def test_the_parts_of_a_hit_add_up_to_its_score() -> None:
    """Otherwise the reasons would be misleading."""
    found = ranked([Row(term_set="boat", meaning=0.4, own=1.0), Row(number=1, words=3.0)], {"boat": 1.0})
    assert found.parts.sum(axis=1).tolist() == pytest.approx(found.scores.tolist())


def test_the_shortlist_is_short_and_has_the_best() -> None:
    """Terms are fetched for few turns only."""
    rows = [Row(conversation=number, words=float(number)) for number in range(1, 500)]
    short = shortlist(signals(columns(rows), RankedQuery({}, NOW)), size=10)
    assert short.tolist() == list(range(498, 488, -1))


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("How are you?", ASKS),
        ("你好吗？", ASKS),
        ("we met last Friday", DATED | NAMED),
        ("in 2019 already", DATED | COUNTED),
        ("three of them", COUNTED),
        ("I talked to Anna", NAMED),
        ("Nothing. Really nothing.", 0),
        ("", 0),
    ],
)
def test_traits_of_a_turn_are_recognized_by_its_form(text: str, bits: int) -> None:
    """A sentence starts with a capital too, which is no name."""
    assert traits(text) == bits


@pytest.mark.parametrize(
    ("question", "bits"),
    [
        ("When did we meet?", DATED),
        ("wann war das", DATED),
        ("how many boats do they have", COUNTED),
        ("Who told me about the boat?", NAMED),
        ("which restaurant was it", NAMED),
        ("why is the build slow", 0),
        ("", 0),
    ],
)
def test_a_question_wants_an_answer_of_its_kind(question: str, bits: int) -> None:
    """A question with "when" looks for a turn with a time in it."""
    assert wants(question) == bits


NUMBER = st.floats(0, 50)
ROWS = st.builds(
    *(Row, st.integers(1, 3), st.integers(0, 60), NUMBER, NUMBER, st.floats(-1, 1), st.floats(0, 2 * NOW)),
    *(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0]), st.integers(0, 15), st.sampled_from(["", "boat", "a"])),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, max_size=12, unique_by=lambda row: row.key), st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_order_of_candidates(rows: list[Row], chance: Random) -> None:
    """None, one or many, in any order: the same turns get the same scores."""
    found = ranked(rows, {"boat": 2.0}, spans=[(0.0, NOW)])
    assert sorted(found.order.tolist()) == list(range(len(rows)))
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    mixed = list(rows)
    chance.shuffle(mixed)
    again = ranked(mixed, {"boat": 2.0}, spans=[(0.0, NOW)])
    assert again.scores.tolist() == pytest.approx(found.scores.tolist())
