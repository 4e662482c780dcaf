"""The working state: what a model may answer, what is refused, and what the program writes without a model."""

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.notes.document import parse
from aish.memory.notes.plain_state import plain_state
from aish.memory.notes.state_document import state_in, with_state
from aish.memory.notes.transcript import Grounds, RanCommand, SaidTurn
from aish.memory.notes.working_state import (
    FIELDS,
    MOST_CHARS,
    StateLine,
    bounded,
    combined,
    grounded,
    read_answer,
    refusal,
)

TODAY = date(2026, 11, 17)
TURNS = [
    SaidTurn(1, "user", "I want to move billing to the new router", commands=(RanCommand("vim routes/billing.yaml"),)),
    SaidTurn(2, "assistant", "Billing now uses HTTPRoute; auth remains.", "model"),
]
OLD = [
    StateLine("goal", "Move all services to the new router", "user"),
    StateLine("state", "catalog and search are done, billing and auth remain", "model"),
    StateLine("constraint", "no downtime during the day, only after eight in the evening", "user"),
    StateLine("decision", "use Envoy because nginx cannot route by header", "user"),
    StateLine("next", "remove the old wildcard certificate after the migration", "user"),
]


def ids() -> Callable[[], str]:
    numbers = iter(range(10_000))
    return lambda: f"{next(numbers):05}".translate(str.maketrans("0123456789", "bcdfghjkmn"))


@pytest.mark.parametrize(
    "answer",
    [
        "goal: Move billing\nstate: auth remains",
        "- **Goal**: Move billing\n* State: auth remains",
        '```json\n{"goal": "Move billing", "states": ["auth remains"]}\n```',
        "Here you are:\n\nGoals: Move billing\nCurrent state: auth remains\nHope that helps!",
    ],
)
def test_answers_in_the_usual_forms_are_read(answer: str) -> None:
    """Small models bend the format; what they mean is clear."""
    assert [(line.field, line.text) for line in read_answer(answer)] == [
        ("goal", "Move billing"),
        ("state", "auth remains"),
    ]


@pytest.mark.parametrize("answer", ["", "Roses are red,\nviolets are blue", "{not json", "{}", "[1, 2]", '{"goal": 3}'])
def test_nonsense_gives_no_line(answer: str) -> None:
    """So a poem changes nothing."""
    assert read_answer(answer) == []
    assert refusal(OLD, [], read_answer(answer)) == "the answer has no usable line"


def test_a_state_of_other_work_is_refused() -> None:
    """A model may answer with what it was trained on, or with last year's state."""
    answered = read_answer("goal: Plan the trip to Lisbon\nstate: hotels are compared\nnext: book the flight")

    new = grounded(answered, Grounds(TURNS))

    assert new == []
    assert refusal(OLD, new, answered) == "nothing in the answer was said in the conversation"


def test_a_state_that_shrank_is_refused() -> None:
    """The same goal, but nearly everything else is gone."""
    new = [StateLine("goal", "Move all services to the new router")]

    assert refusal(OLD, new, new) == "the answer lost most of the old state"
    assert refusal(OLD, [*new, *OLD[1:3]], OLD) == ""


def test_a_new_goal_may_be_short() -> None:
    """Other work begins, so the old state is over."""
    new = [StateLine("goal", "Write the invoice for Katrin")]

    assert refusal(OLD, new, new) == ""


def test_an_answer_without_goal_and_state_is_refused() -> None:
    new = [StateLine("file", "a.py")]

    assert refusal([], new, new) == "the answer has neither a goal nor a state"


@given(st.lists(st.builds(StateLine, st.sampled_from([field.name for field in FIELDS]), st.text(max_size=300))))
def test_a_state_is_bounded_and_ordered(lines: list[StateLine]) -> None:
    """However much a model writes, SESSION.md stays short, and its fields stay in order."""
    kept = bounded(lines)

    assert sum(len(line.text) for line in kept) <= MOST_CHARS
    order = [field.name for field in FIELDS]
    assert [order.index(line.field) for line in kept] == sorted(order.index(line.field) for line in kept)
    for field in FIELDS:
        assert sum(line.field == field.name for line in kept) <= field.most


@given(st.text(max_size=2_000))
def test_any_answer_can_be_read(answer: str) -> None:
    """Reading never fails, and never yields a comment that could forge an id."""
    for line in read_answer(answer):
        assert "\n" not in line.text and "<!--" not in line.text and len(line.text) <= 200


@pytest.mark.proves("S5")
def test_without_a_model_the_state_has_goal_files_commands_and_error() -> None:
    """It is made of what the program saw."""
    turns = [
        *TURNS,
        SaidTurn(
            3,
            "user",
            "why does the check in tests/test_routes.py fail?",
            commands=(RanCommand("ls"), RanCommand("pytest -q", 1, "E assert 1 == 2")),
        ),
        SaidTurn(4, "assistant", "Half an ans", "tool:exec", complete=False),
    ]

    found = {(line.field, line.text, line.origin) for line in plain_state(turns)}

    assert ("goal", "Open question: why does the check in tests/test_routes.py fail?", "user") in found
    assert ("file", "tests/test_routes.py", "user") in found
    assert ("file", "routes/billing.yaml", "user") in found
    assert ("command", "pytest -q", "user") in found
    assert ("error", "`pytest -q` ended with exit status 1", "user") in found
    assert ("error", "It printed: E assert 1 == 2", "tool:exec") in found
    assert not any(text == "ls" for _, text, _ in found)


def test_an_error_that_was_corrected_is_over() -> None:
    """The same command succeeded later."""
    turns = [SaidTurn(1, "user", "ok", commands=(RanCommand("make", 2, "boom"), RanCommand("make")))]

    assert not [line for line in plain_state(turns) if line.field == "error"]


def test_small_talk_does_not_replace_the_goal() -> None:
    turns = [SaidTurn(1, "user", "thanks!"), SaidTurn(2, "assistant", "You are welcome.", "model")]

    assert plain_state(turns, OLD)[0] == OLD[0]


def test_the_files_that_the_program_saw_complete_the_state_of_a_model() -> None:
    model = [StateLine("goal", "Move billing"), StateLine("file", "routes/billing.yaml")]

    lines = combined(model, plain_state(TURNS))

    assert [line.text for line in lines if line.field == "file"] == ["routes/billing.yaml"]
    assert [line.text for line in lines if line.field == "command"] == ["vim routes/billing.yaml"]


@pytest.mark.proves("S33b")
def test_the_program_renders_the_state_always_in_the_same_order() -> None:
    """Whatever order a model chose, the file has one."""
    document = with_state(parse(""), bounded(reversed(OLD)), source="c/1-2", today=TODAY, new_id=ids())

    assert document.sections == ["Session", "Goal", "Current State", "Decisions", "Constraints", "Next Steps"]
    assert [(line.field, line.text) for line in state_in(document)] == [
        (line.field, line.text) for line in bounded(OLD)
    ]


def test_lines_that_stay_keep_their_ids_and_the_users_lines_stay() -> None:
    """So that later edits by hand can be merged entry by entry."""
    first = with_state(parse(""), OLD, source="c/1-2", today=TODAY, new_id=ids())
    by_hand = parse(first.text.replace("## Next Steps", "## Mood\n\nfine\n\n## Next Steps\n\n- call Anna\n"))
    before = {entry.text: entry.id for entry in by_hand.entries}
    changed = [OLD[0], OLD[1]._replace(text="catalog, search and billing are done, auth remains")]

    second = with_state(by_hand, changed, source="c/3-4", today=TODAY, new_id=ids())

    after = {entry.text: entry.id for entry in second.entries}
    assert after[OLD[0].text] == before[OLD[0].text]
    assert after[changed[1].text] == before[OLD[1].text]
    assert "call Anna" in after and "fine" in second.text
    assert OLD[2].text not in after


def test_the_same_state_changes_nothing() -> None:
    first = with_state(parse(""), OLD, source="c/1-2", today=TODAY, new_id=ids())

    assert with_state(first, OLD, source="c/3-4", today=TODAY, new_id=ids()).text == first.text
