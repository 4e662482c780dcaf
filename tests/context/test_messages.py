"""Turns as chat messages: the standard shapes, the folded form, and validity for strict templates."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.context.messages import render
from aish.values.turns import Message, ToolCall, Turn

texts = st.text(alphabet="xyz\n", min_size=1, max_size=6)
ids = st.sampled_from(("1", "2", "3"))
calls = st.lists(st.builds(ToolCall, id=ids, name=st.just("f"), arguments=texts), max_size=3, unique_by=lambda c: c.id)
user_turns = st.builds(Turn, role=st.just("user"), content=texts)
plain_turns = st.builds(Turn, role=st.just("assistant"), content=texts)
calling_turns = st.builds(
    Turn, role=st.just("assistant"), content=st.one_of(st.just(""), texts), tool_calls=calls.filter(bool).map(tuple)
)
tool_turns = st.builds(Turn, role=st.just("tool"), content=texts, call_id=ids)
soups = st.lists(st.one_of(user_turns, plain_turns, calling_turns, tool_turns), max_size=12)
"""Any turns in any order, as after a damaged journal or a wrong eviction."""

LS = ToolCall(id="c1", name="ls", arguments='{"path": "."}')
CAT = ToolCall(id="c2", name="cat", arguments="{}")
GROUP = [
    Turn(role="user", content="look"),
    Turn(role="assistant", content="I look.", tool_calls=(LS, CAT)),
    Turn(role="tool", call_id="c2", content="text of a"),
    Turn(role="tool", call_id="c1", content="a\nb"),
    Turn(role="assistant", content="Two files."),
]


@pytest.mark.proves("C1", "C10", "C12")
def test_with_the_tool_role_messages_have_the_standard_shapes() -> None:
    """Servers accept only the shapes of the OpenAI chat API. Results come in the order of the calls."""
    assert render("Be brief.", GROUP) == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}},
                {"id": "c2", "type": "function", "function": {"name": "cat", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
        {"role": "tool", "tool_call_id": "c2", "content": "text of a"},
        {"role": "assistant", "content": "Two files."},
    )


@pytest.mark.proves("C11", "C12", "C13")
def test_without_the_tool_role_calls_and_results_are_folded_into_one_answer() -> None:
    """A template without tool support still shows the model its calls and their results."""
    folded = 'I look.\n[tool: ls]\n{"path": "."}\n[result]\na\nb\n[tool: cat]\n{}\n[result]\ntext of a\nTwo files.'
    assert render("Be brief.", GROUP, use_tool_role=False) == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": folded},
    )


@pytest.mark.proves("C12")
def test_a_call_without_a_result_has_an_empty_one() -> None:
    """An interrupted tool group must not make the whole conversation unusable."""
    turns = [Turn(role="user", content="go"), Turn(role="assistant", tool_calls=(LS,))]

    assert render("", turns)[1:] == (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": LS.arguments}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    )
    assert render("", turns, use_tool_role=False)[1:] == (
        {"role": "assistant", "content": '[tool: ls]\n{"path": "."}\n[result]\n'},
    )


@pytest.mark.proves("C12")
def test_a_call_id_that_is_used_again_gets_the_result_of_its_own_group() -> None:
    """Some servers restart the call numbers with every answer."""
    again = [
        turn
        for text in ("first", "second")
        for turn in (
            Turn(role="user", content="go"),
            Turn(role="assistant", tool_calls=(LS,)),
            Turn(role="tool", call_id="c1", content=text),
            Turn(role="assistant", content="done"),
        )
    ]

    results = [message["content"] for message in render("", again) if message["role"] == "tool"]
    assert results == ["first", "second"]


@pytest.mark.proves("C14")
@pytest.mark.parametrize("use_tool_role", [True, False])
def test_a_tool_turn_without_its_call_is_left_out(use_tool_role: bool) -> None:
    """One orphan result makes servers refuse the whole conversation."""
    orphan = Turn(role="tool", call_id="c1", content="ORPHAN")
    turns = [orphan, Turn(role="user", content="hi"), orphan, Turn(role="assistant", content="hello"), orphan]

    assert render("", turns, use_tool_role=use_tool_role) == (
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
    )


@pytest.mark.proves("C13")
@pytest.mark.parametrize("use_tool_role", [True, False])
def test_answers_that_follow_each_other_become_one(use_tool_role: bool) -> None:
    """Strict templates require alternating user and assistant messages."""
    turns = [Turn(role="user", content="q"), *(Turn(role="assistant", content=text) for text in ("a", "b", "c"))]

    assert render("", turns, use_tool_role=use_tool_role) == (
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a\nb\nc"},
    )


@pytest.mark.proves("C1")
@given(system=texts, turns=soups, use_tool_role=st.booleans())
@settings(deadline=None)
def test_the_system_prompt_is_the_first_message_and_no_other(
    system: str, turns: list[Turn], use_tool_role: bool
) -> None:
    """The system prompt is not a turn, so it can change without changing the turns. An empty one sends no message."""
    first, *rest = render(system, turns, use_tool_role=use_tool_role)

    assert first == {"role": "system", "content": system}
    assert all(message["role"] != "system" for message in rest)
    assert tuple(rest) == render("", turns, use_tool_role=use_tool_role)


@pytest.mark.proves("C10", "C12", "C14")
@given(turns=soups)
@settings(deadline=None)
def test_every_call_is_followed_by_its_results_and_every_result_follows_its_call(turns: list[Turn]) -> None:
    """Servers refuse a call without a result, a result without a call, and two plain messages of one role in a row."""
    messages = render("system", turns)

    place = 1
    plain_before = "system"
    while place < len(messages):
        message = messages[place]
        place += 1
        called = [call["id"] for call in message.get("tool_calls", [])]
        assert message["role"] in ("user", "assistant")  # results are read below, so a tool turn here has no call
        assert called or message["role"] != plain_before
        plain_before = "" if called else message["role"]
        for id in called:
            assert messages[place]["role"] == "tool"
            assert messages[place]["tool_call_id"] == id
            place += 1


@pytest.mark.proves("C11", "C13", "C14")
@given(turns=soups)
@settings(deadline=None)
def test_the_folded_form_has_no_tools_and_no_role_twice_in_a_row(turns: list[Turn]) -> None:
    """The folded form serves the strictest templates."""
    messages = render("system", turns, use_tool_role=False)
    roles = [message["role"] for message in messages]

    assert all(set(message) == {"role", "content"} and isinstance(message["content"], str) for message in messages)
    assert set(roles) <= {"system", "user", "assistant"}
    assert all(one != other for one, other in pairwise(roles))


@given(turns=soups, use_tool_role=st.booleans())
@settings(deadline=None)
def test_nothing_that_was_said_or_called_is_lost(turns: list[Turn], use_tool_role: bool) -> None:
    """Merging and folding change only the form: the model gets every word, in order."""
    said = [
        part
        for turn in turns
        if turn.role != "tool"
        for part in (turn.content, *(call.arguments for call in turn.tool_calls))
        if part
    ]
    sent = "\n".join(text_of(message) for message in render("", turns, use_tool_role=use_tool_role))

    place = 0
    for part in said:
        place = sent.find(part, place) + len(part)
        assert place >= len(part), f"{part!r} is missing in {sent!r}"


@given(turns=soups, question=texts, answer=texts, use_tool_role=st.booleans())
@settings(deadline=None)
def test_an_exchange_more_leaves_the_messages_before_it_as_they_were(
    turns: list[Turn], question: str, answer: str, use_tool_role: bool
) -> None:
    """The server's prompt cache works only while the prefix stays the same, byte for byte."""
    turns = [*turns, Turn(role="assistant", content="end")]
    before = render("system", turns, use_tool_role=use_tool_role)
    more = [Turn(role="user", content=question), Turn(role="assistant", content=answer)]

    after = render("system", [*turns, *more], use_tool_role=use_tool_role)

    assert after == (*before, {"role": "user", "content": question}, {"role": "assistant", "content": answer})


def text_of(message: Message) -> str:
    called = [call["function"]["arguments"] for call in message.get("tool_calls", [])]
    return "\n".join([message["content"] or "", *called])
