"""The calls of an answer: whatever a model or a server sends, each is bounded, has an id of its own, and is JSON."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.agent.calls import MOST_ARGUMENTS, MOST_CALLS, MOST_KEPT, CallPieces, MadeCall, near_names
from aish.agent.tool import read_arguments
from aish.values.events import ToolPiece


def made(*pieces: ToolPiece) -> list[MadeCall]:
    collected = CallPieces()
    for piece in pieces:
        collected.add(piece)
    return collected.made(lambda place: f"new-{place}")


def one(arguments: str = "{}", name: str = "look", id: str = "c1") -> MadeCall:
    (call,) = made(ToolPiece(0, id, name, arguments))
    return call


@pytest.mark.parametrize("number", [MOST_CALLS, 1_000, 100_000])
def test_of_many_calls_the_first_are_run_and_the_others_are_told_so(number: int) -> None:
    """The conversation keeps a bounded number of them: each would cost room in every later prompt."""
    calls = made(*(ToolPiece(place, f"c{place}", "look", "{}") for place in range(number)))

    assert len(calls) == min(number, MOST_KEPT)
    assert [call.problem for call in calls[:MOST_CALLS]] == [""] * MOST_CALLS
    assert {call.problem for call in calls[MOST_CALLS:]} <= {
        f"not run: {number:,} calls in one answer, and at most 32 of them are run; call again for what is still needed"
    }


@pytest.mark.parametrize("size", [10_000_000, MOST_ARGUMENTS + 1])
def test_arguments_that_are_too_long_are_not_kept(size: int) -> None:
    """Neither the prompt nor the journal can carry them; the model reads their size."""
    whole = json.dumps({"text": "x" * (size - 12)})
    pieces = [whole[at : at + 65_536] for at in range(0, len(whole), 65_536)]
    (call,) = made(ToolPiece(0, "c1", "look"), *(ToolPiece(0, "", "", piece) for piece in pieces))

    assert call.call.arguments == "{}"
    assert call.problem == f"the arguments have {size:,} characters, more than 1,000,000; give less at a time"


def test_arguments_of_many_small_pieces_are_put_together_quickly() -> None:
    """A file is written letter by letter."""
    text = json.dumps({"text": "word " * 40_000})
    (call,) = made(ToolPiece(0, "c1", "look"), *(ToolPiece(0, "", "", letter) for letter in text))

    assert (call.call.arguments, call.problem) == (text, "")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"kind":',
        "[1]",
        '"tea"',
        "null",
        "7",
        "NaN",
        '{"a": NaN}',
        '{"a": Infinity}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a":' * 60 + "1" + "}" * 60,
        "{'a': 1}",
        '{"a": 1} {"b": 2}',
        "\x00\x1b[31m",
        "�" * 10_000,
    ],
)
def test_arguments_that_are_no_object_are_kept_as_one_that_says_so(arguments: str) -> None:
    """Servers parse the arguments of earlier calls, and refuse the whole conversation if that fails."""
    call = one(arguments)

    assert call.problem == "the arguments are not a JSON object"
    kept = json.loads(call.call.arguments)
    assert list(kept) == ["unreadable"]
    assert len(call.call.arguments) < 500
    assert "\x1b" not in call.call.arguments


def test_no_arguments_are_an_empty_object() -> None:
    """Some models send nothing for a tool that needs nothing."""
    assert [one(text).call.arguments for text in ("", "  \n", "{}")] == ["{}", "{}", "{}"]


@pytest.mark.parametrize(
    ("name", "kept", "problem"),
    [
        ("", "unnamed", "the call has no name"),
        ("rm -rf /", "rm_-rf__", "there is no tool 'rm -rf /'"),
        ("näh", "n_h", "there is no tool 'näh'"),
        ("x" * 5_000, "x" * 64, f"there is no tool '{'x' * 60}'"),
        ("look", "look", ""),
    ],
)
def test_a_name_that_chat_apis_refuse_is_kept_in_a_form_that_they_accept(name: str, kept: str, problem: str) -> None:
    """The model reads what it had called."""
    call = one(name=name)

    assert (call.call.name, call.problem) == (kept, problem)


def test_calls_without_an_id_and_with_the_same_id_get_one_of_their_own() -> None:
    """Otherwise a result would answer two calls, and the other one would have none."""
    calls = made(
        ToolPiece(0, "same", "a", "{}"),
        ToolPiece(1, "same", "b", "{}"),
        ToolPiece(2, "", "c", "{}"),
        ToolPiece(3, "new-1", "d", "{}"),
        ToolPiece(4, "x" * 10_000, "e", "{}"),
        ToolPiece(5, "\x1b[31m", "f", "{}"),
    )

    assert [call.call.id for call in calls] == ["same", "new-1", "new-2", "new-3", "new-4", "new-5"]
    assert [call.call.name for call in calls] == list("abcdef")


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [ToolPiece(0, "", "a", '{"x": 1}'), ToolPiece(0, "", "b", "{}")],
            [("a", '{"x": 1}'), ("b", "{}")],
            id="whole calls at one place without ids",
        ),
        pytest.param(
            [ToolPiece(0, "c", "a", '{"x"'), ToolPiece(0, "c", "a", ": 1}")],
            [("a", '{"x": 1}')],
            id="id and name in every piece",
        ),
        pytest.param(
            [ToolPiece(0, "c", "look"), ToolPiece(0, "", "look", '{"x"'), ToolPiece(0, "", "look", ": 1}")],
            [("look", '{"x": 1}')],
            id="the name in every piece",
        ),
        pytest.param(
            [ToolPiece(0, "c", "a", '{"x": "\ud83d'), ToolPiece(0, "", "", '\ude00"}')],
            [("a", '{"x": "😀"}')],
            id="a character in two pieces",
        ),
        pytest.param([ToolPiece(0, "c", "a", '{"x": "\ud83d"}')], [("a", '{"x": "�"}')], id="half a character"),
    ],
)
def test_fragments_find_their_call(pieces: list[ToolPiece], expected: list[tuple[str, str]]) -> None:
    """Servers stream calls in many ways."""
    calls = made(*pieces)

    assert [(call.call.name, call.call.arguments) for call in calls] == expected
    assert not any(call.problem for call in calls)


def test_long_arguments_in_many_fragments_are_not_read_after_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that repeats the name and gives no id would make the shell stand still for minutes."""
    text = json.dumps({"content": "word " * 20_000})
    read = list[str]()

    def reading(given: str) -> dict[str, Any] | None:
        read.append(given)
        return read_arguments(given)

    monkeypatch.setattr("aish.agent.calls.read_arguments", reading)

    (call,) = made(*(ToolPiece(0, "", "write", text[at : at + 4]) for at in range(0, len(text), 4)))

    assert call.call.arguments == text
    assert len(read) < 5


@pytest.mark.parametrize(
    ("text", "value"), [(r'"a\ud800b"', "a�b"), (r'["\uDFFF"]', ["�"]), (r'"\ud83d\ude00\u007f"', "😀\x7f")]
)
def test_half_a_character_never_reaches_a_tool(text: str, value: object) -> None:
    """Files, programs and servers take whole ones only."""
    assert read_arguments(f'{{"x": {text}}}') == {"x": value}


_texts = st.one_of(st.text(max_size=8), st.sampled_from(["{}", '{"a": 1}', "[", "look", "c1", "", "\ud800"]))
_pieces = st.builds(ToolPiece, st.integers(-1, 3), _texts, _texts, _texts)


@given(st.lists(_pieces, max_size=30))
def test_whatever_arrives_every_call_is_well_formed(pieces: list[ToolPiece]) -> None:
    """A strict server accepts all of them."""
    calls = [call.call for call in made(*pieces)]

    ids = [call.id for call in calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    for call in calls:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call.name)
        parsed: Any = json.loads(call.arguments)
        assert isinstance(parsed, dict)
        call.arguments.encode()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("raed_file", ["read_file", "write_file"]),
        ("readFile", ["read_file"]),
        ("search", ["search_files"]),
        ("bash", []),
        ("", []),
    ],
)
def test_names_that_look_alike_are_named(name: str, near: list[str]) -> None:
    """A model that is almost right can correct itself."""
    found = near_names(name, ["read_file", "write_file", "search_files", "run_command"])

    assert found[: len(near)] == near
    assert len(found) <= 3
    assert bool(found) == bool(near)
