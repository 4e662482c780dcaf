"""Servers that lie in every field: the answer is shown, and no number of theirs is believed that cannot be."""

import json
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Say, reply_json
from world import World

pytestmark = pytest.mark.anyio

LIES: list[Any] = [None, True, -1, 0, 1e400, float("nan"), 10**30, 0.5, "8192", "", [], {}, [[[]]], {"a": {"b": None}}]


def lying(lie: Any) -> dict[str, Answer]:
    text = json.dumps(lie).encode()  # NaN and Infinity as Python writes them
    raw = Say(kind="application/json", pieces=[text])
    entry = {"id": lie, "max_model_len": lie, "context_length": lie, "meta": lie, "loaded_context_length": lie}
    return {
        "/props": reply_json({"default_generation_settings": {"n_ctx": lie}}),
        "/v1/models": reply_json({"data": [entry, lie]}),
        "/api/v0/models": reply_json({"data": lie}),
        "/api/ps": reply_json({"models": [lie, {"model": "m", "context_length": lie}]}),
        "/api/show": raw,
        "/tokenize": reply_json({"tokens": lie}),
    }


def answer_with(lie: Any) -> Say:
    """A streamed answer whose every field but the text is the lie."""
    usage = {"prompt_tokens": lie, "completion_tokens": lie, "prompt_tokens_details": {"cached_tokens": lie}}
    chunks = [
        {
            "id": lie,
            "created": lie,
            "model": lie,
            "choices": [{"index": lie, "delta": {"role": lie, "content": "Yes."}}],
        },
        {"choices": lie, "usage": lie},
        {"choices": [{"delta": {"content": lie if isinstance(lie, list) else None}, "finish_reason": None}]},
        {"choices": [{"delta": lie, "finish_reason": "stop"}], "usage": usage},
    ]
    return Say(pieces=[f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"])


@pytest.mark.parametrize("lie", LIES, ids=str)
async def test_an_answer_of_a_server_that_lies_is_shown_and_its_numbers_are_not_believed(
    world: World, lie: Any
) -> None:
    """Somebody's own server, a gateway in trouble, or something else on that port."""
    with FakeServer(answer_with(lie), paths=lying(lie)) as server:
        settings = {"model": "m", "models": {"m": {"endpoint": server.url}}, "context": {"token_budget": "auto"}}
        session = world.program(settings | {"prices": {"m": {"input": 1.0, "output": 1.0}}}).session()
        answers = [await world.ask(session, f"Hello {number}?") for number in range(2)]

    for answer in answers:
        assert (answer.text, answer.done.state) == ("Yes.", "complete")
        assert answer.done.dollars is not None and 0 <= answer.done.dollars < 1
    assert 0 < session.endpoints.expected_limits(session.backend).token_budget < 1 << 30
    assert sum(len(answer.notices) for answer in answers) <= 1
