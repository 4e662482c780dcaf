"""The APIs of Anthropic, Google and OpenAI (Responses): the same conversation in, the same events out."""

import json
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Say, reply_json
from service_answers import anthropic_answer, events, gemini_answer, responses_answer

from aish.model.anthropic_messages import AnthropicMessages, MessageReader
from aish.model.gemini import ContentReader, Gemini
from aish.model.http import Patience
from aish.model.openai_responses import OpenAIResponses, ResponseReader
from aish.model.signed_thoughts import SignedThoughts
from aish.model.streamed_api import ChunkReader, StreamedApi, merged
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, ToolPiece, Usage

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA}}
CALL = {"id": "c.1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
TALK = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is in a?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c.1", "content": "apples"},
)
TWO_CALLS = [ReasoningPiece("hm"), TextPiece("So."), ("read", '{"path": "a"}'), ("read", '{"path": "b"}')]
USAGE = Usage(450, 5, 400)


async def key() -> str:
    return "secret"


class Naps(list[float]):
    """Records sleeps without waiting."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


async def ask(
    adapter: type[StreamedApi], *answers: Answer, request: ChatRequest | None = None, model: str = "gemini-3-pro"
) -> tuple[list[ModelEvent], FakeServer, Naps]:
    naps = Naps()
    request = request or ChatRequest(TALK, (TOOL,), 100, stop=("END",))
    with FakeServer(*answers) as server:
        patience = Patience(connect=5, first=5, silence=5)
        api = adapter(endpoint=f"{server.url}/v1", model=model, key=key, patience=patience, sleep=naps, temperature=0.5)
        return [event async for event in api.stream(request)], server, naps


def told(given: list[ModelEvent]) -> list[Any]:
    """Return the events with each call as its name and arguments, and without what depends on the pieces."""
    found: list[Any] = []
    calls: dict[int, list[str]] = {}
    for event in merged(event for event in given if not isinstance(event, Usage)):
        if isinstance(event, ToolPiece):
            call = calls.setdefault(event.place, ["", ""])
            if not call[0]:
                found.append(call)
            call[0] += event.name
            call[1] += event.arguments
        else:
            found.append(event)
    return [tuple(one) if isinstance(one, list) else one for one in found]


THINKING = {"type": "thinking", "pieces": ("h", "m"), "signature": "sig"}
CALLED = {
    AnthropicMessages: anthropic_answer(
        blocks=(
            THINKING,
            {"type": "text", "pieces": ("So.",)},
            {"type": "tool_use", "id": "t1", "name": "read", "pieces": ('{"path"', ': "a"}')},
            {"type": "tool_use", "id": "t2", "name": "read", "pieces": ('{"path": "b"}',)},
        ),
        stop="tool_use",
    ),
    Gemini: gemini_answer(
        parts=(
            {"text": "hm", "thought": True},
            {"text": "So."},
            {"functionCall": {"id": "t1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "sig"},
            {"functionCall": {"name": "read", "args": {"path": "b"}}},
        )
    ),
    OpenAIResponses: responses_answer(
        items=(
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "So."},
            {
                "type": "response.output_item.added",
                "output_index": 2,
                "item": {"type": "function_call", "id": "fc", "call_id": "t1", "name": "read"},
            },
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"path": '},
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '"a"}'},
            {
                "type": "response.output_item.added",
                "output_index": 3,
                "item": {"type": "function_call", "call_id": "t2", "name": "read"},
            },
            {
                "type": "response.output_item.done",
                "output_index": 3,
                "item": {"type": "function_call", "arguments": '{"path": "b"}'},
            },
        )
    ),
}


@pytest.mark.parametrize("adapter", list(CALLED))
async def test_thinking_text_and_parallel_calls_come_in_their_order(adapter: type[StreamedApi]) -> None:
    """And the tokens count what was cached, and the thinking."""
    given, server, _ = await ask(adapter, CALLED[adapter])

    assert told(given) == [*TWO_CALLS, Finished("tool_calls")]
    assert [event for event in given if isinstance(event, Usage)][-1] == USAGE
    ids = [event.id for event in given if isinstance(event, ToolPiece) and event.name]
    assert ids[0] == "t1" and len(set(ids)) == 2
    assert "secret" not in server.asked[0].path


async def test_anthropic_gets_blocks_a_limit_and_a_place_to_cache() -> None:
    """Ids of other servers are changed to what the API accepts, for the call and its result alike."""
    _, server, _ = await ask(AnthropicMessages, anthropic_answer("Apples."))
    asked = server.asked[0]

    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == ("secret", "2023-06-01")
    cached = {"cache_control": {"type": "ephemeral"}}
    assert asked.json == {
        "model": "gemini-3-pro",
        "max_tokens": 100,
        "stream": True,
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "system": [{"type": "text", "text": "Be brief.", **cached}],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": SCHEMA}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is in a?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c_1", "name": "read", "input": {"path": "a"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c_1", "content": "apples", **cached}]},
        ],
    }


async def test_google_gets_contents_and_a_signature_for_each_call() -> None:
    """A call that it did not make itself has the one that its API names for that."""
    _, server, _ = await ask(Gemini, gemini_answer("Apples."))
    asked = server.asked[0]

    assert asked.path == "/v1/models/gemini-3-pro:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == "secret"
    call = {"functionCall": {"name": "read", "args": {"path": "a"}}}
    assert asked.json == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "temperature": 0.5,
            "maxOutputTokens": 100,
            "stopSequences": ["END"],
            "thinkingConfig": {"includeThoughts": True},
        },
        "tools": [
            {"functionDeclarations": [{"name": "read", "description": "Reads.", "parametersJsonSchema": SCHEMA}]}
        ],
        "contents": [
            {"role": "user", "parts": [{"text": "What is in a?"}]},
            {
                "role": "model",
                "parts": [{"text": "I look."}, {**call, "thoughtSignature": "skip_thought_signature_validator"}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"result": "apples"}}}]},
        ],
    }


async def test_responses_gets_items_and_stores_nothing() -> None:
    """The whole conversation is sent each time."""
    _, server, _ = await ask(OpenAIResponses, responses_answer("Apples."), model="gpt-5-mini")
    asked = server.asked[0]

    assert (asked.path, asked.headers["authorization"]) == ("/v1/responses", "Bearer secret")
    assert asked.json == {
        "model": "gpt-5-mini",
        "instructions": "Be brief.",
        "stream": True,
        "store": False,
        "temperature": 0.5,
        "max_output_tokens": 100,
        "reasoning": {"summary": "auto"},
        "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA, "strict": False}],
        "input": [
            {"role": "user", "content": "What is in a?"},
            {"role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c.1", "name": "read", "arguments": '{"path": "a"}'},
            {"type": "function_call_output", "call_id": "c.1", "output": "apples"},
        ],
    }


@pytest.mark.parametrize("adapter", [AnthropicMessages, Gemini])
async def test_what_was_signed_with_a_call_is_given_back_until_the_next_question(adapter: type[StreamedApi]) -> None:
    """The services refuse the result otherwise. Thinking of earlier questions is not sent."""
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    more = (
        {"role": "user", "content": "What is in a?"},
        {"role": "assistant", "content": "So.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "apples"},
    )
    with FakeServer(CALLED[adapter]) as server:
        api = adapter(endpoint=f"{server.url}/v1", model="gemini-3-pro")
        for messages in (more[:1], more, (*more, {"role": "user", "content": "And now?"})):
            _ = [event async for event in api.stream(ChatRequest(messages))]
    sent = [asked.body.decode() for asked in server.asked]

    assert ["sig" in body for body in sent][:2] == [False, True]
    assert ("hm" in sent[1]) is (adapter is AnthropicMessages)  # which has no signature without the thinking
    assert "hm" not in sent[2]


ENDS = [
    (AnthropicMessages, anthropic_answer("Hi", stop="max_tokens"), "length"),
    (AnthropicMessages, anthropic_answer("Hi", stop="refusal"), "content_filter"),
    (AnthropicMessages, anthropic_answer("Hi", stop="stop_sequence"), "stop"),
    (Gemini, gemini_answer("Hi", stop="MAX_TOKENS"), "length"),
    (Gemini, gemini_answer("Hi", stop="SAFETY"), "content_filter"),
    (Gemini, gemini_answer("Hi", stop="NEW_KIND_OF_STOP"), "stop"),
    (Gemini, gemini_answer("Hi", stop="MALFORMED_FUNCTION_CALL"), "error"),
    (OpenAIResponses, responses_answer("Hi", status="incomplete", details={"reason": "max_output_tokens"}), "length"),
    (OpenAIResponses, responses_answer("Hi"), "stop"),
]


@pytest.mark.parametrize(("adapter", "say", "reason"), ENDS)
async def test_stop_reasons_are_told_in_the_same_words(adapter: type[StreamedApi], say: Say, reason: str) -> None:
    """The loop knows those of the chat API."""
    given, _, _ = await ask(adapter, say)
    assert told(given) == [TextPiece("Hi"), Finished(reason)]


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
EXHAUSTED = {
    "error": {
        "code": 429,
        "message": "Quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}],
    }
}
BUSY = [
    (AnthropicMessages, reply_json(OVERLOADED, 529), anthropic_answer("Hi"), None),
    (AnthropicMessages, reply_json(OVERLOADED, 429, retry_after="3"), anthropic_answer("Hi"), 3.0),
    (Gemini, reply_json(EXHAUSTED, 429), gemini_answer("Hi"), 7.0),
    (OpenAIResponses, reply_json({"error": {"message": "slow"}}, 429, retry_after="2"), responses_answer("Hi"), 2.0),
]


@pytest.mark.parametrize(("adapter", "busy", "answer", "nap"), BUSY)
async def test_a_busy_service_is_asked_again_when_it_says(
    adapter: type[StreamedApi], busy: Say, answer: Say, nap: float | None
) -> None:
    """Google tells the time in the body."""
    given, _, naps = await ask(adapter, busy, answer)
    assert told(given) == [TextPiece("Hi"), Finished()]
    assert len(naps) == 1
    assert nap is None or naps == [nap]


FAILURES = [
    (AnthropicMessages, events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
    (Gemini, events({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}, named=False)),
    (OpenAIResponses, events({"type": "error", "code": "server_error", "message": "Overloaded"})),
    (
        OpenAIResponses,
        events(
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Overloaded"}},
            }
        ),
    ),
]


@pytest.mark.parametrize(("adapter", "say"), FAILURES)
async def test_an_error_within_the_stream_is_told_and_another_model_may_answer(
    adapter: type[StreamedApi], say: Say
) -> None:
    """The service said 200 before it knew."""
    given, _, _ = await ask(adapter, say)
    [failed] = given
    assert isinstance(failed, Failed)
    assert "Overloaded" in failed.reason
    assert failed.trouble == "unreachable"


LONG = [
    (AnthropicMessages, "prompt is too long: 210000 tokens > 200000 maximum"),
    (Gemini, "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."),
    (OpenAIResponses, "Your input exceeds the context window of this model."),
]


@pytest.mark.parametrize(("adapter", "said"), LONG)
async def test_a_prompt_that_is_too_long_is_named(adapter: type[StreamedApi], said: str) -> None:
    """With what to do about it."""
    given, _, naps = await ask(adapter, reply_json({"error": {"message": said}}, 400))
    assert given == [
        Failed(
            f"the prompt is too long for this model (400: {said}); set the window of its preset, or use :new", "refused"
        )
    ]
    assert naps == []


GIVEN_UP = [
    (
        AnthropicMessages,
        "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku",
        anthropic_answer("Hi"),
        lambda body: body["max_tokens"],
        [8192, 4096],
    ),
    (
        Gemini,
        "Thinking is not enabled for this model",
        gemini_answer("Hi"),
        lambda body: "generationConfig" in body,
        [True, True],
    ),
    (
        OpenAIResponses,
        "Your organization must be verified to generate reasoning summaries.",
        responses_answer("Hi"),
        lambda body: "reasoning" in body,
        [True, False],
    ),
]


@pytest.mark.parametrize(("adapter", "said", "answer", "look", "seen"), GIVEN_UP)
async def test_an_option_that_is_refused_is_given_up(
    adapter: type[StreamedApi], said: str, answer: Say, look: Any, seen: list[Any]
) -> None:
    """Models and accounts differ in what they accept."""
    request = ChatRequest(({"role": "user", "content": "hello"},))
    model = "gpt-5" if adapter is OpenAIResponses else "gemini-2.5-flash"
    given, server, _ = await ask(
        adapter, reply_json({"error": {"message": said}}, 400), answer, request=request, model=model
    )
    assert told(given) == [TextPiece("Hi"), Finished()]
    assert [look(asked.json) for asked in server.asked] == seen
    assert server.asked[0].body != server.asked[1].body


WHOLE = [
    (
        AnthropicMessages,
        {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
    ),
    (Gemini, [{"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}]),
    (
        OpenAIResponses,
        {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
        },
    ),
]


@pytest.mark.parametrize(("adapter", "value"), WHOLE)
async def test_an_answer_in_one_piece_is_read(adapter: type[StreamedApi], value: Any) -> None:
    """Some gateways do not stream."""
    given, _, _ = await ask(adapter, reply_json(value))
    assert told(given) == [TextPiece("Hi"), Finished()]


async def test_a_stream_that_is_called_json_is_read_as_a_stream() -> None:
    """Some gateways label it so."""
    say = gemini_answer("Hi", " there")
    say.kind = "application/json"
    given, _, _ = await ask(Gemini, say)
    assert "".join(event.text for event in given if isinstance(event, TextPiece)) == "Hi there"


async def test_a_refused_question_is_told() -> None:
    """Google answers 200 without a candidate."""
    given, _, _ = await ask(Gemini, events({"promptFeedback": {"blockReason": "SAFETY"}}, named=False))
    assert given == [Failed("the service refused the question (SAFETY)", "refused")]


KINDS = "content_block_start content_block_delta message_delta message error response.output_item.added".split()
KINDS += "response.completed response.failed response.output_text.delta".split()
STRANGE: list[Any] = [None, 7, [], {"type": 3, "stop_reason": []}, [{"content": 7}]]
LIES: list[dict[str, Any]] = [
    {"type": kind, "index": "x", "delta": lie, "item": lie, "content_block": lie, "response": lie, "usage": lie}
    for kind in KINDS
    for lie in STRANGE
]
LIES += [{"candidates": lie, "usageMetadata": lie} for lie in STRANGE]
LIES += [{"candidates": [{"content": {"parts": 7}}]}, {"object": "response", "output": [{"summary": 7, "content": 7}]}]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"null", b"[]", b"[1]", b'"x"', b"\xff", *(json.dumps(lie).encode() for lie in LIES)]
)
@pytest.mark.parametrize("reader", [MessageReader, ContentReader, lambda _: ResponseReader()])
def test_no_answer_breaks_the_readers(reader: Any, data: bytes) -> None:
    """Servers lie in every field."""
    reads: ChunkReader = reader(SignedThoughts())
    assert isinstance(reads.read(data), list)


@pytest.mark.parametrize(
    "block", [{"type": "thinking", "thinking": None, "signature": 7}, {"type": "redacted_thinking", "thinking": []}]
)
@pytest.mark.parametrize("delta", [{"type": "thinking_delta", "thinking": "a"}, {"type": "signature_delta"}])
def test_thinking_that_goes_on_after_a_strange_block_breaks_nothing(block: Any, delta: Any) -> None:
    """Gateways in front of the service make blocks of their own."""
    reads = MessageReader(SignedThoughts())
    assert reads.read(json.dumps({"type": "content_block_start", "content_block": block}).encode()) == []
    assert isinstance(reads.read(json.dumps({"type": "content_block_delta", "delta": delta}).encode()), list)


@pytest.mark.parametrize("arguments", ["ls -l", "[1]", "null", "{bad"])
@pytest.mark.parametrize("adapter", [AnthropicMessages, Gemini])
def test_an_earlier_call_without_an_object_can_be_sent(adapter: type[StreamedApi], arguments: str) -> None:
    """An imported conversation may have such calls, and a mask may cover a quote."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": arguments}}
    talk = (TALK[1], {"role": "assistant", "content": None, "tool_calls": [call]}, {**TALK[3], "tool_call_id": "c1"})
    sent = json.dumps(adapter(endpoint="http://x", model="m").body(ChatRequest(talk, ())))
    assert json.dumps({"arguments": arguments}) in sent
