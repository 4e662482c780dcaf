"""What the model reads about tools is clean and bounded, whatever a server sends."""

import json
import re
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aish.mcp.results import read_question, result_text
from aish.mcp.schemas import LARGEST_SCHEMA, bounded_schema, clean, tool_names

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "enum", "required", "anyOf", "$ref", "text", "content", "oneOf"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(st.text(max_size=20), st.lists(st.text(max_size=90), max_size=12))
def test_every_name_is_accepted_by_chat_apis_and_no_two_are_the_same(server: str, tools: list[str]) -> None:
    """A server chooses its names freely."""
    names = list(tool_names(server, tools).values())

    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert len(set(names)) == len(names) == len(set(tools))


def test_names_that_need_no_change_are_kept_and_others_are_told_apart() -> None:
    """The same tool has the same name in every run."""
    names = tool_names("git", ["status", "a b", "a?b", "x" * 80])

    assert names["status"] == "git__status"
    assert names["a b"] == "git__a_b"
    assert re.fullmatch(r"git__a_b_[0-9a-f]{8}", names["a?b"])
    assert len(names["x" * 80]) == 64


@given(JSON)
def test_every_schema_becomes_a_small_object_schema(schema: Any) -> None:
    """A schema may be endless, wrong or a list."""
    bounded = bounded_schema(schema)

    assert bounded["type"] == "object" and isinstance(bounded["properties"], dict)
    assert len(json.dumps(bounded)) <= LARGEST_SCHEMA


def test_a_usual_schema_is_passed_on_unchanged() -> None:
    """The model needs all of it."""
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A file."},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "where": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["path"],
    }

    assert bounded_schema(schema) == schema


def test_a_schema_that_is_too_large_loses_its_descriptions_first() -> None:
    """Names and types are enough to call a tool."""
    properties = {f"field_{number}": {"type": "string", "description": "x" * 299} for number in range(40)}

    bounded = bounded_schema({"type": "object", "properties": properties, "required": ["field_1", "none"]})

    assert bounded["properties"]["field_7"] == {"type": "string"}
    assert bounded["required"] == ["field_1"]


def test_text_is_cleaned_of_codes_for_terminals_and_of_hidden_letters() -> None:
    """Hidden text is read by the model, but not by the user."""
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")

    assert clean(f"\x1b[31mred\x1b[0m \x1b]0;title\x07a\u200bb{hidden}\u202e.", 100) == "red ab\ufffd."
    assert clean("x" * 50, 10) == "x" * 9 + "…"


@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError"]), JSON, max_size=3))
def test_any_result_becomes_text_within_the_limit(result: dict[str, Any]) -> None:
    """Also one that breaks the protocol."""
    text = result_text(result, 200)

    assert text and len(text) < 300
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", text)


@given(st.dictionaries(st.sampled_from(["message", "mode", "url", "requestedSchema"]), JSON, max_size=4))
def test_any_request_for_input_becomes_a_question(params: dict[str, Any]) -> None:
    """A server may ask nonsense."""
    assert len(read_question(params).fields) <= 20


def test_structured_content_that_repeats_the_text_is_left_out() -> None:
    """It would take twice the tokens."""
    content = [{"type": "text", "text": '{"a": 1}'}]

    assert result_text({"content": content, "structuredContent": {"a": 1}}, 100) == '{"a": 1}'
    assert result_text({"content": content, "structuredContent": {"result": {"a": 1}}}, 100) == '{"a": 1}'
    assert result_text({"content": content, "structuredContent": {"b": 1}}, 100) == '{"a": 1}\n{"b": 1}'


def test_references_are_replaced_by_their_definitions_within_bounds() -> None:
    """The model must know what to write; and a schema that refers to itself never ends."""
    city = {"type": "object", "properties": {"name": {"type": "string"}}}
    endless = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/Endless"} for n in range(60)}}
    usual = {"properties": {"city": {"$ref": "#/$defs/City", "description": "where"}}, "$defs": {"City": city}}

    assert bounded_schema(usual)["properties"]["city"] == {**city, "description": "where"}
    started = time.monotonic()
    bounded_schema({"properties": {"a": {"$ref": "#/$defs/Endless"}}, "$defs": {"Endless": endless}})
    assert time.monotonic() - started < 2


def test_alternatives_at_the_top_are_left_out() -> None:
    """Some chat APIs refuse them, and with them every other tool."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "oneOf": [{"required": ["x"]}]}

    assert bounded_schema(schema) == {"type": "object", "properties": {"x": {"type": "string"}}}
