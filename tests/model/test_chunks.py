"""The JSON of chat servers in all its shapes. No input makes the parser raise."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aish.model.chunks import error_text, read_chunk, trouble_of
from aish.values.events import Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, ToolPiece, Usage


def told(events: list[ModelEvent]) -> list[str]:
    """Return events with their type names: as plain tuples, pieces of two types with the same text would be equal."""
    return [repr(event) for event in events]


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def parts(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (delta(role="assistant", content=""), []),
        (delta(role="assistant", content=None), []),
        (delta(content="Hi"), [TextPiece("Hi")]),
        (delta(content=parts("H", "i")), [TextPiece("Hi")]),
        (
            delta(content=[{"type": "thinking", "thinking": parts("hm")}, *parts("Hi")]),
            [ReasoningPiece("hm"), TextPiece("Hi")],
        ),
        (delta(content=[{"type": "reasoning", "text": "hm"}]), [ReasoningPiece("hm")]),
        (delta(thinking="hm"), [ReasoningPiece("hm")]),
        (delta(content=None, refusal="I cannot"), [TextPiece("I cannot")]),
        (delta(reasoning_content="hm", content=None), [ReasoningPiece("hm")]),
        (delta(reasoning="hm", content=""), [ReasoningPiece("hm")]),
        (delta(reasoning="hm", reasoning_content="hm"), [ReasoningPiece("hm")]),
        (delta(reasoning_content="hm", content="Hi"), [ReasoningPiece("hm"), TextPiece("Hi")]),
        (delta(refusal=None, function_call=None, audio=None), []),
        ({"choices": []}, []),
        ({"choices": [{"delta": {}, "finish_reason": "length"}]}, [Finished("length")]),
        ({"choices": [{"delta": {"content": "."}, "finish_reason": "stop"}]}, [TextPiece("."), Finished("stop")]),
        (
            {"choices": [{"message": {"role": "assistant", "content": "All."}, "finish_reason": "stop"}]},
            [TextPiece("All."), Finished("stop")],
        ),
    ],
)
def test_text_thoughts_and_the_end_are_found_in_every_usual_shape(
    chunk: dict[str, Any], expected: list[ModelEvent]
) -> None:
    """Servers agree only on the outline of a chunk."""
    assert told(read_chunk(json.dumps(chunk).encode())) == told(expected)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}, Usage(7, 3)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}, Usage(7, 3, 5)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(7, 3)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": None}}, Usage(7, 3)),
        ({"prompt_tokens": -1, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": -5}}, Usage(0, 3)),
        ({"prompt_tokens": 7}, None),
        ({"prompt_tokens": "7", "completion_tokens": 3}, None),
        (None, None),
        (12, None),
    ],
)
def test_usage_is_taken_only_when_it_is_a_count(usage: object, expected: Usage | None) -> None:
    """Costs are computed from usage, so a partial report is ignored and negative numbers become zero."""
    chunk = {"choices": [], "usage": usage}
    assert told(read_chunk(json.dumps(chunk).encode())) == told([expected] if expected else [])


def test_fragments_of_tool_calls_keep_the_place_they_belong_to() -> None:
    """Two calls arrive interleaved. Only the first fragment of each has a name and an id."""
    first = {"index": 1, "id": "c2", "type": "function", "function": {"name": "ls", "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": '{"a"'}}, {"index": 1, "function": {"arguments": "{}"}}]
    bare = {"id": "c3", "function": {"name": "cat", "arguments": {"file": "x"}}}  # complete, as Ollama sends it

    assert told(read_chunk(json.dumps(delta(tool_calls=[first])).encode())) == told([ToolPiece(1, "c2", "ls")])
    assert told(read_chunk(json.dumps(delta(tool_calls=rest)).encode())) == told(
        [ToolPiece(0, "", "", '{"a"'), ToolPiece(1, "", "", "{}")]
    )
    assert told(read_chunk(json.dumps(delta(tool_calls=[bare])).encode())) == told(
        [ToolPiece(0, "c3", "cat", '{"file": "x"}')]
    )


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (b'{"error": {"message": "out of memory", "code": 500}}', "the server reports: out of memory"),
        (b'{"error": "out of memory"}', "the server reports: out of memory"),
        (b'{"choices": [', "the server sent invalid JSON; ask again, or check the endpoint"),
        (b"\xff\xfe\x00", "the server sent invalid JSON; ask again, or check the endpoint"),
        (b"[1, 2]", "the server sent JSON that is not a chat answer; check the endpoint"),
    ],
)
def test_errors_and_garbage_in_a_stream_are_a_failure_with_a_reason(chunk: bytes, expected: str) -> None:
    """A server that already sent status 200 can report an error only in the stream."""
    assert told(read_chunk(chunk)) == told([Failed(expected, "broken")])


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
names = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "text",
        "tool_calls",
        "function",
        "arguments",
        "usage",
        "error",
        "detail",
    ]
) | st.sampled_from(["finish_reason", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens"])
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4))
chats = st.fixed_dictionaries({"choices": st.lists(st.dictionaries(names, values, max_size=3), max_size=2)})
bodies = st.binary(max_size=40) | (values | chats).map(lambda value: json.dumps(value).encode())


@given(bodies)
@example(b"[" * 100_000)
@example(b"1" * 5_000)
@example(b'{"error":' * 900 + b"1" + b"}" * 900)
def test_no_chunk_and_no_error_page_makes_the_reader_stumble(body: bytes) -> None:
    """A server may send anything, so no shape is taken for granted."""
    events = read_chunk(body)

    assert all(
        isinstance(event, TextPiece | ReasoningPiece | ToolPiece | Usage | Finished | Failed) for event in events
    )
    assert 0 < len(error_text(body)) <= 300
    assert trouble_of(400, body) in ("roles", "options", "refused")


@pytest.mark.parametrize("depth", [100, 300, 400, 100_000])
def test_parts_inside_parts_are_no_trouble_at_any_depth(depth: int) -> None:
    """Deeply nested JSON can exhaust the stack of a recursive parser."""
    content = b'[{"text":' * depth + b'"x"' + b"}]" * depth

    events = read_chunk(b'{"choices":[{"delta":{"content":' + content + b"}}]}")
    assert all(isinstance(event, TextPiece | Failed) for event in events)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error": {"message": "no such\\nmodel", "type": "x"}}', "no such model"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"object": "error", "message": "no such model"}', "no such model"),
        (b'{"detail": "no such model"}', "no such model"),
        (b'{"message": {"detail": "no such model"}}', "no such model"),
        (b"<h1>502  Bad Gateway</h1>\n", "<h1>502 Bad Gateway</h1>"),
        (b"", "no reason given"),
        (b"{}", "{}"),
    ],
)
def test_the_words_of_an_error_are_found_wherever_they_are(body: bytes, expected: str) -> None:
    """The user needs the message, not the JSON around it."""
    assert error_text(body) == expected
