"""Ranking: every signal speaks for a turn, the order follows from their sum, and a hit can say what carried it."""

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
    """A candidate: where it stands, what the index says of it, and its terms."""

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
    """Rows of conversations that have nothing to do with each other."""
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
def test_each_signal_alone_lifts_a_turn(better: Row) -> None:
    """Words, meaning, speaker, time and place are in one score; none of them is needed for another to count."""
    found = ranked(apart(Row(), better, Row()), {"boat": 2.0}, wants=COUNTED)
    assert found.order.tolist()[0] == 1
    assert found.scores[0] > found.scores[1] == found.scores[2]


def test_no_signal_speaks_against_a_turn() -> None:
    """More evidence never makes a hit worse, so nobody has to guess why a good one is missing."""
    assert all(weight >= 0 for signal in SIGNALS.values() for weight in signal[:3])


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    """What few turns have tells more."""
    weights = {"boat": rarity(1000, 3), "nice": rarity(1000, 400)}
    assert ranked(apart(Row(term_set="nice"), Row(term_set="boat")), weights).order.tolist() == [1, 0]


def test_a_word_that_every_turn_has_still_weighs_something() -> None:
    """Otherwise a question of such words would find nothing."""
    assert 0 < rarity(10, 10) < rarity(10, 1) < rarity(10, 0)


def test_half_of_the_words_beside_a_turn_count_but_less_than_in_it() -> None:
    """A short reply takes its subject from the turns around it."""
    weights = {"boat": 1.0, "harbour": 1.0}
    reply = [Row(number=0, term_set="boat"), Row(number=1, term_set="harbour")]
    alone, whole = Row(conversation=2, term_set="harbour"), Row(conversation=3, term_set="boat harbour")
    found = ranked([*reply, alone, whole], weights)
    scores = dict(zip(found.order.tolist(), found.scores.tolist(), strict=True))
    assert scores[3] > scores[1] > scores[2]


def test_the_words_of_another_conversation_do_not_count_as_close_by() -> None:
    """Keys of two conversations never touch, whatever their numbers."""
    far = [Row(conversation=1, number=5, term_set="boat"), Row(conversation=2, number=4), Row(conversation=3, number=9)]
    assert ranked(far, {"boat": 1.0}).scores[1:].max() == pytest.approx(0.0)


def test_the_answer_to_a_question_with_the_words_is_lifted_and_what_follows_a_statement_is_not() -> None:
    """The words stand in the question and what is looked for in the answer."""
    asks, tells = Row(words=5.0, meaning=0.6, traits=ASKS), Row(words=5.0, meaning=0.6)
    rows = [asks, Row(number=1), tells._replace(conversation=2), Row(conversation=2, number=1)]
    found = ranked(rows)
    scores = dict(zip(found.order.tolist(), found.scores.tolist(), strict=True))
    assert scores[1] > scores[3]


def test_a_candidate_whose_turn_before_is_unknown_answers_nothing() -> None:
    """Neither itself nor whatever stands beside it in the columns is taken for the turn before."""
    names, asks = list(SIGNALS), Row(number=7, words=5.0, meaning=0.9, traits=ASKS)
    for rows in ([asks], [asks, Row(conversation=2, number=3)], [Row(number=9), asks]):
        parts = ranked(rows).parts
        assert parts[:, names.index("reply")].max() == parts[:, names.index("answer")].max() == 0.0


def test_talk_with_who_is_named_comes_before_talk_of_others() -> None:
    """What was said to Anna is nearer to a question about Anna than what was said among strangers."""
    rows = [Row(conversation=1, term_set="boat"), Row(conversation=2, number=1, term_set="boat")]
    anna = Row(conversation=2, number=3, speaker=1.0)
    assert ranked([*rows, anna], {"boat": 1.0}).order.tolist().index(1) < 2
    assert ranked([*rows, anna], {"boat": 1.0}).order.tolist()[-1] == 0


def test_a_good_hit_lifts_the_turns_of_its_block_only() -> None:
    """A conversation of a million turns is not about one thing."""
    rows = [Row(number=0, words=9.0), Row(number=BLOCK - 1), Row(number=BLOCK)]
    found = ranked(rows)
    scores = dict(zip(found.order.tolist(), found.scores.tolist(), strict=True))
    assert scores[0] >= scores[1] > scores[2] == pytest.approx(0.0)


def test_the_time_of_a_question_fades_slower_after_it_than_before_it() -> None:
    """People tell in June what happened in May, seldom the other way round."""
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


def test_what_was_said_lately_comes_first_and_years_ago_makes_no_difference() -> None:
    """Recency decides between weeks, not between things that are all long past."""
    found = ranked(apart(Row(time=NOW - 900 * DAY), Row(time=NOW - 2 * DAY), Row(time=NOW - 500 * DAY)))
    assert found.order.tolist()[0] == 1
    assert found.scores[1] == pytest.approx(found.scores[2], abs=1e-6)


def test_a_turn_of_the_future_is_as_recent_as_now_and_no_more() -> None:
    """Clocks are wrong sometimes; one turn must not win every search for it."""
    found = ranked(apart(Row(time=NOW + 9_000 * DAY), Row(time=NOW)))
    assert found.scores[0] == found.scores[1]


def test_reasons_are_told_strongest_first_and_small_ones_are_not() -> None:
    """How it fits the question comes first: a person can check that against the text."""
    found = ranked([Row(term_set="boat", meaning=0.01, own=1.0)], {"boat": 1.0})
    assert why(found.parts[0], most=9) == ["has the words", "your own words"]
    assert matches(found.parts)[0] < found.scores[0]
    assert why(found.parts[0], most=1) == ["has the words"]
    assert why(ranked([Row(time=-NOW)]).parts[0]) == []


def test_a_long_question_is_about_a_subject_and_a_short_one_about_a_fact() -> None:
    """Who goes on talking has many words that say little; what the conversation is about says more then."""
    fact, subject = apart(Row(term_set="boat"), Row(block_words=3.0))
    for words, best in ((6, 0), (200, 1)):
        assert ranked([fact, subject], {"boat": 1.0}, clear=clarity(words)).order.tolist()[0] == best


def test_the_parts_of_a_hit_add_up_to_its_score() -> None:
    """Otherwise the reasons would tell a story of their own."""
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
def test_what_a_turn_has_is_told_from_its_form(text: str, bits: int) -> None:
    """A sentence begins with a capital too; that is no name."""
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
    """Who asks when looks for a turn that has a time in it."""
    assert wants(question) == bits


NUMBER = st.floats(0, 50)
ROWS = st.builds(
    *(Row, st.integers(1, 3), st.integers(0, 60), NUMBER, NUMBER, st.floats(-1, 1), st.floats(0, 2 * NOW)),
    *(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0]), st.integers(0, 15), st.sampled_from(["", "boat", "a"])),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, max_size=12, unique_by=lambda row: row.key), st.randoms(use_true_random=False))
def test_any_candidates_have_an_order_that_does_not_depend_on_theirs(rows: list[Row], chance: Random) -> None:
    """None, one or many, in any order: the same turns get the same scores."""
    found = ranked(rows, {"boat": 2.0}, spans=[(0.0, NOW)])
    assert sorted(found.order.tolist()) == list(range(len(rows)))
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    mixed = list(rows)
    chance.shuffle(mixed)
    again = ranked(mixed, {"boat": 2.0}, spans=[(0.0, NOW)])
    assert again.scores.tolist() == pytest.approx(found.scores.tolist())
