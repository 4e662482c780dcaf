"""The live turns: which are refused and why, how output is held, and that only whole exchanges are evicted."""

import re
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from aish.context.history import History
from aish.values.errors import BadTurn
from aish.values.turns import Role, ToolCall, Turn

CALLS = (ToolCall(id="1", name="ls", arguments="{}"), ToolCall(id="2", name="cat", arguments='{"path":"a"}'))

texts = st.text(alphabet="ab \n{}é", max_size=4)
calls = st.lists(st.sampled_from("123").map(lambda id: ToolCall(id=id, name="f")), max_size=2).map(tuple)
any_turns = st.one_of(
    st.builds(Turn, role=st.just("user"), content=texts),
    st.builds(Turn, role=st.just("assistant"), content=texts, tool_calls=calls),
    st.builds(Turn, role=st.just("tool"), content=texts, call_id=st.sampled_from("123")),
)


def user(text: str = "q") -> Turn:
    return Turn(role="user", content=text)


def assistant(text: str = "a", *tool_calls: ToolCall) -> Turn:
    return Turn(role="assistant", content=text, tool_calls=tool_calls)


def result(id: str, text: str = "r") -> Turn:
    return Turn(role="tool", call_id=id, content=text)


NO_CALL = "a tool turn answers {!r}, a call that the assistant turn did not make"


@pytest.mark.parametrize(
    ("before", "turn", "reason"),
    [
        ([], user(""), "a user turn needs content"),
        ([user()], assistant(""), "an assistant turn needs content or tool calls"),
        ([], Turn(role=cast(Role, "")), "unknown role ''; use user, assistant or tool"),
        ([], Turn(role=cast(Role, "system"), content="x"), "unknown role 'system'; use user, assistant or tool"),
        ([], result("1"), NO_CALL.format("1")),
        ([user()], result("1"), NO_CALL.format("1")),
        ([user(), assistant("", *CALLS)], result("3"), NO_CALL.format("3")),
        ([user(), assistant("", *CALLS)], result(""), NO_CALL.format("")),
        ([user(), assistant("", *CALLS), user("b")], result("1"), NO_CALL.format("1")),
        ([user(), assistant("", *CALLS), result("1"), assistant()], result("2"), NO_CALL.format("2")),
    ],
)
@pytest.mark.proves("C4", "C5", "C6")
def test_a_turn_that_breaks_a_rule_is_refused_with_the_reason(before: list[Turn], turn: Turn, reason: str) -> None:
    """The error names the broken rule, and the history does not change."""
    history = History(before)

    with pytest.raises(BadTurn, match=f"^{re.escape(reason)}$"):
        history.add(turn)

    assert history.turns == tuple(before)


@pytest.mark.proves("C5", "C6")
def test_an_empty_answer_may_call_tools_and_the_results_may_come_in_any_order() -> None:
    """Models often call tools without text, and tools finish in any order."""
    turns = (user(), assistant("", *CALLS), result("2", ""), result("1"), assistant())

    assert History(turns).turns == turns


@pytest.mark.proves("C7", "C8", "C9")
def test_output_of_commands_waits_and_the_next_question_carries_it_in_front() -> None:
    """Two user turns in a row would break strict chat templates."""
    history = History([user(), assistant()])

    for output in ("a.txt\nb.txt", "", " \n", "ok\n"):
        history.hold(output)
    assert list(history.turns) == [user(), assistant()]
    assert history.held == "[exec output]\na.txt\nb.txt\n[exec output]\nok\n"

    asked = history.ask("what is this?")
    assert asked == user("[exec output]\na.txt\nb.txt\n[exec output]\nok\n\n\nwhat is this?")
    assert list(history.turns) == [user(), assistant(), asked]
    assert history.held == ""
    assert history.ask("and now?") == user("and now?")


@pytest.mark.proves("C7")
def test_a_question_that_is_refused_or_taken_back_loses_no_output() -> None:
    """Command output cannot be produced again, so it is held until a question is really sent."""
    history = History()
    with pytest.raises(BadTurn):
        history.ask("")
    history.hold("one")

    asked = history.ask("first try")
    history.hold("two")
    history.take_back(asked)

    assert history.turns == ()
    assert history.held == "[exec output]\none\n[exec output]\ntwo"


def test_only_the_newest_question_can_be_taken_back() -> None:
    """An answered question is part of the conversation."""
    history = History()
    history.hold("one")
    asked = history.ask("q")
    history.add(assistant())

    history.take_back(asked)

    assert history.turns == (asked, assistant())
    assert history.held == ""


@pytest.mark.proves("C16")
def test_the_oldest_exchange_leaves_with_everything_that_answered_it() -> None:
    """A question without its answer, or a result without its call, would confuse the model."""
    first = (user(), assistant("", *CALLS), result("1"), result("2"), assistant("done"))
    second = (user("more"), assistant("yes"))
    history = History([*first, *second])

    assert history.exchanges() == [first, second]
    assert history.drop_oldest(1) == first
    assert list(history.turns) == list(second)
    assert history.drop_oldest(0) == ()
    assert history.drop_oldest(5) == second
    assert list(history.turns) == []


@pytest.mark.proves("C18")
@pytest.mark.parametrize("steered", [False, True])
def test_old_results_make_room_also_after_the_user_said_something(steered: bool) -> None:
    """What the user says while the model works begins no new exchange."""
    history = History()
    history.ask("look at both")
    for id in ("c1", "c2"):
        history.add(assistant("", ToolCall(id, "read", "{}")))
        history.add(result(id, "x" * 1_000))
        if steered and id == "c1":
            history.steer("be quick")

    assert history.shorten_results(1_500) == 1
    assert [len(turn.content) == 1_000 for turn in history.turns if turn.role == "tool"] == [False, True]


def test_clearing_leaves_neither_turns_nor_output() -> None:
    """After a reset no earlier text reaches the model, not even with the next question."""
    history = History([user(), assistant()])
    history.hold("secret")

    history.clear()

    assert (history.turns, history.held) == ((), "")
    asked = history.ask("hello")
    assert asked == user("hello")
    history.take_back(asked)
    assert history.held == ""


class Conversation(RuleBasedStateMachine):
    """Every operation on a history, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self.outputs = 0
        self.waiting: list[str] = []
        self.carried: list[str] = []
        self.asked: Turn | None = None

    @rule(turn=any_turns)
    def add(self, turn: Turn) -> None:
        before = self.history.turns
        try:
            assert self.history.add(turn) is turn
            assert self.history.turns == (*before, turn)
        except BadTurn as error:
            assert str(error)
            assert self.history.turns == before

    @rule(blank=st.booleans())
    def hold(self, blank: bool) -> None:
        self.outputs += 1
        output = " \n" if blank else f"output {self.outputs}"
        self.history.hold(output)
        self.waiting += [] if blank else [output]

    @rule()
    def ask(self) -> None:
        self.asked = self.history.ask("question")
        front = "\n".join(f"[exec output]\n{output}" for output in self.waiting)
        assert self.asked.content == (f"{front}\n\nquestion" if front else "question")
        self.carried, self.waiting = self.waiting, []

    @precondition(lambda self: self.asked is not None)
    @rule()
    def take_back(self) -> None:
        assert self.asked
        before = self.history.turns
        newest = bool(before) and before[-1] is self.asked
        self.history.take_back(self.asked)
        if newest:
            self.waiting = self.carried + self.waiting
        assert self.history.turns == (before[:-1] if newest else before)

    @rule(count=st.integers(min_value=0, max_value=4))
    def drop(self, count: int) -> None:
        before, groups = self.history.turns, self.history.exchanges()
        gone = self.history.drop_oldest(count)
        assert gone + self.history.turns == before
        assert self.history.exchanges() == groups[count:]

    @rule()
    def clear(self) -> None:
        self.history.clear()
        self.waiting, self.carried = [], []

    @invariant()
    def every_turn_keeps_the_rules(self) -> None:
        open_ids: set[str] = set()
        for turn in self.history.turns:
            match turn.role:
                case "user":
                    assert turn.content
                    open_ids = set()
                case "assistant":
                    assert turn.content or turn.tool_calls
                    open_ids = {call.id for call in turn.tool_calls}
                case "tool":
                    assert turn.call_id in open_ids

    @invariant()
    def output_waits_until_it_is_carried(self) -> None:
        assert self.history.held == "\n".join(f"[exec output]\n{output}" for output in self.waiting)

    @invariant()
    def exchanges_are_the_turns_in_groups_that_start_with_a_question(self) -> None:
        groups = self.history.exchanges()
        assert tuple(turn for group in groups for turn in group) == self.history.turns
        assert all(turn.role != "user" for group in groups for turn in group[1:])
        assert all(group[0].role == "user" for group in groups[1:])


@pytest.mark.proves("C4", "C6", "C7")
def test_no_sequence_of_events_breaks_the_rules() -> None:
    """Rendering, counting and eviction rely on the rules, so they must hold after any operation."""
    run_state_machine_as_test(Conversation, settings=settings(deadline=None, max_examples=50, stateful_step_count=20))
