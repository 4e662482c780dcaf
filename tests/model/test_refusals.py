"""Refused requests: which are retried, which are explained, and which are about roles or options."""

import json
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Say, reply_json, sse

from aish.model.http import Patience
from aish.model.openai_chat import OpenAIChat
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, Trouble, Usage

pytestmark = pytest.mark.anyio

ASK = ChatRequest(messages=({"role": "user", "content": "hello"},))
HELLO = [TextPiece("Hello"), Usage(450, 5), Finished()]


class Naps(list[float]):
    """Records sleeps without waiting."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def chat(server: FakeServer, naps: Naps, **options: Any) -> OpenAIChat:
    patience = Patience(connect=5, first=5, silence=5)
    return OpenAIChat(endpoint=server.url, model="m", patience=patience, sleep=naps, **options)


def told(events: list[Any]) -> list[str]:
    return [repr(event) for event in events]


async def ask(*answers: Answer, **options: Any) -> tuple[list[ModelEvent], FakeServer, Naps]:
    naps = Naps()
    with FakeServer(*answers) as server:
        events = [event async for event in chat(server, naps, **options).stream(ASK)]
    return events, server, naps


def no(status: int, message: object = "because", **headers: str) -> Say:
    return reply_json({"error": {"message": message}}, status=status, **headers)


@pytest.mark.parametrize(
    ("status", "trouble", "words"),
    [
        (400, "refused", ["400", "because"]),
        (401, "refused", ["refused the key", "because", "api_key_env"]),
        (403, "refused", ["refused the key", "because", "api_key_env"]),
        (404, "refused", ["does not know this model", "because", "check endpoint and model"]),
        (413, "refused", ["413", "because"]),
    ],
)
async def test_a_plain_no_is_explained_and_not_tried_again(status: int, trouble: Trouble, words: list[str]) -> None:
    """The same request would be refused for the same reason."""
    events, server, naps = await ask(no(status))

    [failed] = events
    assert isinstance(failed, Failed)
    assert failed.trouble == trouble
    assert all(word in failed.reason for word in words), failed.reason
    assert (len(server.asked), naps) == (1, [])


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_a_busy_server_is_asked_again_and_its_answer_taken(status: int) -> None:
    """Most of these errors are temporary, and the user should not have to ask again."""
    events, server, naps = await ask(no(status), no(status), sse("Hello"))

    assert told(events) == told(HELLO)
    assert len(server.asked) == 3
    assert 0.125 <= naps[0] <= 0.25 <= naps[1] <= 0.5
    assert server.asked[0] == server.asked[2]


@pytest.mark.parametrize("retries", [0, 2, 3])
async def test_a_server_that_stays_busy_is_given_up_as_unreachable(retries: int) -> None:
    """Then a fallback model can answer. The number of retries is a setting."""
    events, server, naps = await ask(no(503, "loading model"), retries=retries)

    reason = "the server answered 503: loading model; try again later, or choose another model with :model"
    assert told(events) == told([Failed(reason, "unreachable")])
    assert len(server.asked) == retries + 1
    assert [0.125 * 2**place <= nap <= 0.25 * 2**place for place, nap in enumerate(naps)] == [True] * retries


@pytest.mark.parametrize(
    ("header", "expected"),
    [("2", [2.0, 2.0]), ("0", [0.0, 0.0]), ("86400", [30.0, 30.0])],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_the_wait_a_server_asks_for_is_kept_within_reason(
    status: int, header: str, expected: list[float]
) -> None:
    """An earlier retry makes the overload worse, but a user cannot wait for hours."""
    events, _, naps = await ask(no(status, Retry_After=header), retries=2)

    assert naps == expected
    assert isinstance(events[-1], Failed)


@pytest.mark.parametrize("header", ["Fri, 31 Dec 2100 23:59:59 GMT", "soon", "-1", "1.5"])
async def test_a_wait_that_is_no_number_of_seconds_is_our_own_to_choose(header: str) -> None:
    """A date would need two synchronized clocks."""
    _, _, naps = await ask(no(429, Retry_After=header), retries=1)

    assert len(naps) == 1
    assert 0.125 <= naps[0] <= 0.25


async def test_nothing_is_asked_again_once_a_token_has_come() -> None:
    """The text would appear twice and be billed twice."""
    events, server, naps = await ask(Say(pieces=sse("Hel", "lo").pieces[:2], cut=True), sse("Hello"))

    assert "".join(event.text for event in events if isinstance(event, TextPiece)) == "Hello"
    assert isinstance(events[-1], Failed)
    assert (len(server.asked), naps) == (1, [])


@pytest.mark.parametrize(
    "refusal",
    [
        no(400, "Extra inputs are not permitted, field: 'stream_options'"),
        no(400, "Validation error at #/stream_options: Extra inputs are not permitted"),
        reply_json(
            {
                "object": "error",
                "message": {
                    "detail": [
                        {
                            "type": "extra_forbidden",
                            "loc": ["body", "stream_options", "include_usage"],
                            "msg": "Extra inputs are not permitted",
                            "input": True,
                        }
                    ]
                },
                "type": "invalid_request_error",
            },
            status=422,
        ),
    ],
)
async def test_a_server_without_the_usage_option_is_asked_without_it_from_then_on(refusal: Say) -> None:
    """Usage can be estimated, so the request is sent without the option. The refusal is cached."""
    naps = Naps()
    with FakeServer(refusal, sse("Hello")) as server:
        model = chat(server, naps)
        for _ in range(2):
            assert told([event async for event in model.stream(ASK)]) == told(HELLO)
    first, *others = [asked.json for asked in server.asked]
    assert first.pop("stream_options") == {"include_usage": True}
    assert others == [first, first]
    assert naps == []


async def test_a_server_that_refuses_the_option_for_ever_is_not_asked_for_ever() -> None:
    """The server rejects an option that is no longer sent, so its message is shown."""
    events, server, naps = await ask(no(400, "stream_options is not known"))

    assert told(events) == told([Failed("the server answered 400: stream_options is not known", "options")])
    assert (len(server.asked), naps) == (2, [])


ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
MISTRAL = (
    "After the optional system message, conversation roles must alternate user and assistant roles "
    "except for tool calls and results."
)
JINJA = (
    "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) %}↵            "
    "{{- raise_exception('After the optional system message, con...\n                                           ^\n"
    f"Error: Jinja Exception: {MISTRAL}"
)
SCHEMA = {"type": "literal_error", "loc": ["body", "messages", 3, "role"], "input": "tool", "ctx": {}}
PROVIDER = {"object": "error", "message": "Unexpected role 'tool' after role 'user'", "type": "invalid_request_error"}


def error(message: str, code: int, kind: str) -> dict[str, object]:
    return {"error": {"code": code, "message": message, "type": kind}}


@pytest.mark.proves("C21")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(500, error(JINJA, 500, "server_error"), id="llama.cpp, Devstral"),
        pytest.param(
            500, error(f"{ALTERNATE} at row 19, column 27:\n {{%- if", 500, "server_error"), id="minja, Gemma"
        ),
        pytest.param(400, error("Unknown role: tool", 400, "invalid_request_error"), id="llama.cpp, unknown"),
        pytest.param(
            500, error("Jinja Exception: Unexpected message role.", 500, "server_error"), id="llama.cpp, Qwen"
        ),
        pytest.param(
            400, {"object": "error", "message": ALTERNATE, "type": "BadRequestError", "code": 400}, id="vLLM, Gemma"
        ),
        pytest.param(
            400, error("Only user and assistant roles are supported!", 400, "BadRequestError"), id="vLLM, Llama"
        ),
        pytest.param(
            400, error("Unexpected role 'user' after role 'tool'", 400, "BadRequestError"), id="vLLM, Mistral"
        ),
        pytest.param(400, {"object": "error", "message": "Unexpected role RoleEnum.tool"}, id="Mistral, old"),
        pytest.param(400, PROVIDER, id="Mistral"),
        pytest.param(
            400,
            {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(PROVIDER)}}},
            id="OpenRouter, Mistral",
        ),
        pytest.param(
            400, {"error": f'Error rendering prompt with jinja template: "Error: {ALTERNATE}"'}, id="LM Studio"
        ),
        pytest.param(
            422,
            {"detail": [{**SCHEMA, "msg": "Input should be 'system', 'user' or 'assistant'"}]},
            id="a server with a schema",
        ),
        pytest.param(
            400,
            error("'tool' is not one of ['system', 'assistant', 'user', 'function'] - 'messages.3.role'", 400, "x"),
            id="OpenAI, old",
        ),
        pytest.param(
            400,
            error("x" * 400 + f" {ALTERNATE}", 400, "x"),
            id="after many other words",
        ),
    ],
)
async def test_a_server_that_does_not_take_our_roles_is_recognised_by_its_words(status: int, body: object) -> None:
    """No status code exists for this. The turn must be rendered in another way, so a retry cannot help."""
    events, server, naps = await ask(reply_json(body, status=status))

    [failed] = events
    assert isinstance(failed, Failed)
    assert failed.trouble == "roles", failed.reason
    assert (len(server.asked), naps) == (1, [])


@pytest.mark.proves("C21")
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, your messages resulted in 5012 tokens."),
        (
            400,
            "the request exceeds the available context size. try increasing the context size or enable context shift",
        ),
        (400, "Invalid schema for function 'ls': schema must be a JSON Schema of 'type: \"object\"'"),
        (401, "Your role has no permission to use this model"),
        (404, "The model `tool-role` does not exist"),
    ],
)
async def test_other_complaints_are_not_taken_for_one_about_roles(status: int, message: str) -> None:
    """Removing the tool role would not help."""
    events, _, _ = await ask(no(status, message))

    [failed] = events
    assert isinstance(failed, Failed)
    assert failed.trouble == "refused"
