"""The recall engine: what is brought to a turn, one rule at a time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.recall.engine import RecallEngine
from aish.memory.recall.selection import QUOTAS
from aish.values.recall import LAYERS, Judged, Memo, NoteLayer, Recalled

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def memo(key: str, text: str, kind: str = "fact", layer: NoteLayer = "memory", days: float | None = 10) -> Memo:
    return Memo(key, layer, kind, text, None if days is None else NOW - timedelta(days=days))


GOAL = memo("goal", "Port the scheduler to the new queue.", "goal", "session", 0)
STATE = memo("state", "Retry logic is written, the dead letter table is missing.", "state", "session", 0)
COMMAND = memo("command", "pytest tests/queue -k retry", "command", "history", 0)
ERROR = memo("error", "Worker hung because the lease was never renewed.", "error", "session", 3)
DECISION = memo("decision", "Chose PostgreSQL as the queue, because a broker was one more thing to run.", "decision")
RULE = memo("rule", "Squash merge only, the title becomes the commit message.", "preference", days=90)
PERSON = memo("person", "Olga owns the billing service.", "person", days=60)
OFFICE = memo("office", "Plants are watered on Mondays.", "note", days=200)
OLD = memo("old", "Deploy window is Friday at 16:00.", days=300)
NEW = memo("new", "Deploy window is Tuesday at 10:00.", days=5)
ALL = [GOAL, STATE, COMMAND, ERROR, DECISION, RULE, PERSON, OFFICE, OLD, NEW]
UNRELATED = "Tell me about volcanoes. How tall is Mount Etna? Penguins are birds that cannot fly, says the poster."


class Synonyms:
    """An embedder in which the words of a group mean the same, and all others nothing."""

    def __init__(self, *groups: str) -> None:
        self._groups = {word: at for at, group in enumerate(groups) for word in group.split()}
        self._texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self._texts += texts
        found = np.zeros((len(texts), 8), np.float32)
        for row, text in enumerate(texts):
            if text in self._groups:
                found[row, self._groups[text]] = 1.0
        return found

    @property
    def embedded(self) -> list[str]:
        return self._texts


def ask(question: str, memos: list[Memo] = ALL, **options: object) -> Recalled:
    engine = RecallEngine()
    engine.load(memos)
    return engine.choose(question, NOW, **options)  # type: ignore[arg-type]  # options are passed on as they are


def keys(judged: tuple[Judged, ...]) -> list[str]:
    return [one.memo.key for one in judged]


def outcome(found: Recalled, key: str) -> str:
    return next(one.outcome for one in (*found.shown, *found.left_out) if one.memo.key == key)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("where were we?", "state"),
        ("what's next?", "state"),
        ("why did we choose PostgreSQL as the queue?", "decision"),
        ("the worker hangs again, what was it last time?", "error"),
        ("who owns billing?", "person"),
        ("merge pull request 509", "rule"),
        ("when is the deploy window?", "new"),
    ],
)
def test_a_question_gets_the_memo_that_answers_it(question: str, first: str) -> None:
    """Section and intent decide together with the words."""
    assert keys(ask(question).shown)[0] == first


def test_working_state_comes_with_the_command_of_the_same_day() -> None:
    """Who continues wants to run it again."""
    assert {"state", "goal", "command"} <= {*keys(ask("where were we?").shown)}


@pytest.mark.parametrize(
    "question",
    [
        "how tall is Mount Etna?",
        "what is the queue of a billiard player made of?",
        "who wrote Hamlet?",
        "wie funktioniert ein Vulkan?",
        "光の速さは？",
        "",
        "   ",
        "?!",
    ],
)
@pytest.mark.proves("S25")
def test_an_unrelated_question_gets_nothing(question: str) -> None:
    """Also if one of its words is a word of the notes."""
    assert ask(question).shown == ()


@pytest.mark.parametrize("question", ["who owns billing?", "merge pull request 509", "when is the deploy window?"])
def test_evidence_does_not_shrink_when_the_question_gets_longer(question: str) -> None:
    """A ratio to the length of the question would lose the hit in a long message."""
    short, long = ask(question), ask(f"{question} {UNRELATED * 5}")

    assert set(keys(short.shown)) <= set(keys(long.shown))


@pytest.mark.proves("S25", "S38")
def test_of_a_contradiction_only_the_newest_is_shown_with_a_note() -> None:
    """The note says what it replaces, so that the model can explain the difference."""
    found = ask("when is the deploy window?")

    assert "old" not in keys(found.shown) and outcome(found, "old") == "superseded"
    assert found.shown[0].note == f"replaces: {OLD.text}"


def test_who_asks_about_what_was_replaced_gets_what_replaced_it() -> None:
    """The user believes something outdated; that is when memory matters most."""
    assert keys(ask("book the meeting room for the deploy window on Friday at 16:00").shown)[0] == "new"


def test_a_question_about_the_past_gets_the_older_one() -> None:
    """What was replaced is the answer then."""
    assert "old" in keys(ask("when was the deploy window before?").shown)


@pytest.mark.proves("S25")
def test_what_is_in_the_prompt_already_is_not_repeated() -> None:
    """Neither as an item of its own nor as a part of a longer text."""
    found = ask("when is the deploy window?", known=[f"[background]\n- (fact) {NEW.text.upper()}"])

    assert "new" not in keys(found.shown) and outcome(found, "new") == "known"


def test_nothing_is_said_twice() -> None:
    """The same thing may be in two layers; the fresher one is shown."""
    again = memo("again", "Olga owns the billing service", "person", "history", 400)
    found = ask("who owns the billing service?", [*ALL, again])

    assert "person" in keys(found.shown) and outcome(found, "again") == "duplicate"


def test_a_number_makes_a_difference() -> None:
    """Room 12 and room 13 are two rooms."""
    rooms = [memo(str(at), f"The big projector is stored in room {at}.", "note") for at in (12, 13)]

    assert len(ask("where is our big projector?", rooms).shown) == 2


def test_no_layer_crowds_out_another() -> None:
    """A long history must not hide what the notes say."""
    talk = [memo(f"h{at}", f"Talked about the printer, part {at}.", "note", "history", at) for at in range(20)]
    fact = memo("fact", "The printer is in the cellar.", days=900)
    found = ask("where is our printer? what about the printer? is our printer ok?", [*talk, fact])

    assert "fact" in keys(found.shown)
    assert sum(one.memo.layer == "history" for one in found.shown) <= QUOTAS["history"]


def test_the_budget_drops_whole_memos_and_counts_them() -> None:
    """Half a memo may say the opposite."""
    found = ask("where were we?", budget=15, count=len)

    assert found.shown == () and found.tokens == 0
    assert [one.outcome for one in found.left_out].count("budget") >= 2


@pytest.mark.proves("S27")
def test_a_word_of_near_meaning_is_evidence_with_an_embedder() -> None:
    """Paraphrases are found by meaning; without an embedder the rest works as before."""
    memos = [memo("heat", "The furnace technician is Brandt.", "person"), OFFICE, RULE]
    words, meaning = RecallEngine(), RecallEngine(Synonyms("boiler furnace"))
    for engine in (words, meaning):
        engine.load(memos)

    assert "heat" not in keys(words.choose("fix the boiler", NOW).shown)
    assert keys(meaning.choose("fix the boiler", NOW).shown)[0] == "heat"


def test_what_is_unchanged_is_not_embedded_again() -> None:
    """Memos are loaded on every turn; nearly all of them are the same."""
    embedder = Synonyms("boiler furnace")
    engine = RecallEngine(embedder)
    engine.load(ALL)
    before = len(embedder.embedded)
    engine.load([*ALL, memo("more", "Zebra crossings are striped.")])

    assert set(embedder.embedded[before:]) == {"zebra", "crossings", "striped"}


def test_what_was_loaded_before_leaves_no_trace() -> None:
    """The same memos and question give the same result, whatever came before."""
    engine = RecallEngine(Synonyms("boiler furnace"))
    engine.load([memo(str(at), f"Deploying windows number {at} of billing.") for at in range(100)])
    engine.load(ALL)
    fresh = RecallEngine(Synonyms("boiler furnace"))
    fresh.load(ALL)

    for question in ("who owns billing?", "when is the deploy window?", "where were we?"):
        assert engine.choose(question, NOW) == fresh.choose(question, NOW)


TEXTS = st.sampled_from([one.text for one in ALL]) | st.text(max_size=40) | st.text("ab 12.はが现", max_size=20)
MEMOS = st.lists(
    st.builds(
        Memo,
        key=st.uuids().map(str),
        layer=st.sampled_from(LAYERS),
        kind=st.sampled_from(["fact", "state", "todo", "error", "command", "preference", "person", "Next steps", ""]),
        text=TEXTS,
        time=st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    max_size=12,
    unique_by=lambda one: one.key,
)
QUESTIONS = st.sampled_from(
    [
        "where were we?",
        "who owns billing?",
        "when was the deploy window before?",
        "merge pull request 509",
        "retry again",
    ]
) | st.text(max_size=60)


@settings(max_examples=150)
@given(memos=MEMOS, question=QUESTIONS, budget=st.integers(0, 60))
def test_any_input_keeps_the_promises(memos: list[Memo], question: str, budget: int) -> None:
    """Within the budget, only what there is, nothing twice, and the same whenever it is asked."""
    found = ask(question, memos, budget=budget)

    assert found == ask(question, memos, budget=budget)
    assert found.tokens == sum(-(-len(one.memo.text) // 4) for one in found.shown) <= budget
    assert {one.memo for one in found.shown} <= set(memos)
    assert len({one.memo.key for one in (*found.shown, *found.left_out)}) == len(found.shown) + len(found.left_out)
    assert {one.outcome for one in found.shown} <= {"shown"} and found.considered == len(memos)


@settings(max_examples=100)
@given(memos=MEMOS, question=QUESTIONS)
def test_more_sentences_never_lose_what_was_found(memos: list[Memo], question: str) -> None:
    """Whatever the notes are; only a quota or the budget may come in between."""
    short = ask(question, memos, budget=10_000)
    long = ask(f"{question}\n{UNRELATED}", memos, budget=10_000)

    kept = {one.memo.key for one in long.shown}
    kept |= {one.memo.key for one in long.left_out if one.outcome in ("quota", "duplicate")}
    assert {one.memo.key for one in short.shown} <= kept


@settings(max_examples=60)
@given(memos=MEMOS, question=QUESTIONS)
def test_the_order_of_the_memos_does_not_decide_what_is_shown(memos: list[Memo], question: str) -> None:
    """Files are read in any order. Ties are broken by time and key."""
    turned = memos[::-1]
    ours, theirs = (ask(question, some, budget=10_000) for some in (memos, turned))

    assert [one.score for one in ours.shown] == [one.score for one in theirs.shown]
