"""The chat client: what it sends, and how it handles every kind of response."""

import asyncio
import json
import socket
import threading
from typing import Any

import pytest
from fake_server import FakeServer, Say, reply_json, sse

from aish.model.addresses import api_root, server_root
from aish.model.http import Patience
from aish.model.openai_chat import OpenAIChat
from aish.values.errors import AishError
from aish.values.events import (
    ChatRequest,
    Failed,
    Finished,
    ModelEvent,
    ReasoningPiece,
    TextPiece,
    ToolPiece,
    Usage,
)

pytestmark = pytest.mark.anyio

ASK = ChatRequest(messages=({"role": "user", "content": "hello"},))
PATIENCE = Patience(connect=5, first=5, silence=5)
DONE = b"data: [DONE]\n\n"


def chat(url: str, patience: Patience = PATIENCE, **options: Any) -> OpenAIChat:
    return OpenAIChat(endpoint=url, model="some-model", patience=patience, **options)


async def answer(model: OpenAIChat, request: ChatRequest = ASK) -> list[str]:
    """Return the events with adjacent text merged (the number of reads varies) and only the last usage."""
    heard = [event async for event in model.stream(request)]
    usage = [event for event in heard if isinstance(event, Usage)][-1:]
    events: list[ModelEvent] = []
    for event in heard:
        last = events[-1] if events else None
        if isinstance(event, TextPiece) and isinstance(last, TextPiece):
            events[-1] = TextPiece(last.text + event.text)
        elif isinstance(event, ReasoningPiece) and isinstance(last, ReasoningPiece):
            events[-1] = ReasoningPiece(last.text + event.text)
        elif not isinstance(event, Usage):
            events.append(event)
    return told(*events[:-1], *usage, *events[-1:])


def told(*events: ModelEvent) -> list[str]:
    """Return events with their type names: as plain tuples, pieces of two types with the same text would be equal."""
    return [repr(event) for event in events]


def chunk(finish: str | None = None, usage: object = None, **delta: Any) -> bytes:
    return (
        b"data: %s\n\n"
        % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}).encode()
    )


async def test_a_request_is_sent_as_the_api_wants_it() -> None:
    """The body has only fields that some server needs."""
    tools = ({"type": "function", "function": {"name": "ls", "parameters": {}}},)
    messages = ({"role": "system", "content": "be brief"}, {"role": "user", "content": "¿qué?\n\ud800"})

    async def key() -> str:
        return "s3cret"

    with FakeServer(sse("yes")) as server:
        model = chat(server.url, key=key, temperature=0.0)
        await answer(model, ChatRequest(messages=messages, tools=tools, max_tokens=77, stop=("\nX",)))
    [asked] = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers == {
        "host": server.url.removeprefix("http://"),
        "content-length": str(len(asked.body)),
        "connection": "close",
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "authorization": "Bearer s3cret",
    }
    assert asked.json == {
        "model": "some-model",
        "messages": list(messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": list(tools),
        "max_tokens": 77,
        "stop": ["\nX"],
        "temperature": 0.0,
    }


async def test_what_was_not_asked_for_is_not_sent() -> None:
    """Strict servers refuse null instead of a number, and treat an empty key as a wrong one."""
    with FakeServer(sse("yes")) as server:
        await answer(chat(server.url))
    [asked] = server.asked
    assert "authorization" not in asked.headers
    assert asked.json == {
        "model": "some-model",
        "messages": list(ASK.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("say", "expected"),
    [
        pytest.param(sse("Hel", "lo"), [TextPiece("Hello"), Usage(450, 5), Finished()], id="plain"),
        pytest.param(sse("Hel", "lo", end="\r\n\r\n"), [TextPiece("Hello"), Usage(450, 5), Finished()], id="CRLF"),
        pytest.param(sse("Hello", usage=None), [TextPiece("Hello"), Finished()], id="no usage"),
        pytest.param(sse("Hello", finish="length"), [TextPiece("Hello"), Usage(450, 5), Finished("length")], id="cut"),
        pytest.param(
            Say(pieces=[b": OPENROUTER PROCESSING\n\n", chunk(content="Hi"), b": \n\n", chunk("stop"), DONE]),
            [TextPiece("Hi"), Finished()],
            id="keep-alive comments",
        ),
        pytest.param(
            Say(pieces=[chunk(content="Hi"), chunk("stop")]), [TextPiece("Hi"), Finished()], id="no DONE at the end"
        ),
        pytest.param(
            Say(
                pieces=[
                    chunk(content="H", usage={"prompt_tokens": 9, "completion_tokens": 1}),
                    chunk(content="i", usage={"prompt_tokens": 9, "completion_tokens": 2}),
                    chunk("stop", usage={"prompt_tokens": 9, "completion_tokens": 3}),
                    DONE,
                ]
            ),
            [TextPiece("Hi"), Usage(9, 3), Finished()],
            id="usage in every chunk",
        ),
        pytest.param(
            Say(pieces=[chunk(reasoning_content="hm"), chunk(reasoning=" hm"), chunk(content="Hi"), chunk("stop")]),
            [ReasoningPiece("hm hm"), TextPiece("Hi"), Finished()],
            id="thoughts",
        ),
        pytest.param(
            Say(
                pieces=[
                    chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "ls", "arguments": ""}}]),
                    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"dir":'}}]),
                    chunk(tool_calls=[{"index": 0, "function": {"arguments": '"/"}'}}]),
                    chunk("tool_calls"),
                    DONE,
                ]
            ),
            [
                ToolPiece(0, "c1", "ls"),
                ToolPiece(0, "", "", '{"dir":'),
                ToolPiece(0, "", "", '"/"}'),
                Finished("tool_calls"),
            ],
            id="a tool call in fragments",
        ),
        pytest.param(
            Say(pieces=[chunk(content=[{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]), chunk("stop")]),
            [TextPiece("Hi"), Finished()],
            id="content as parts",
        ),
        pytest.param(
            reply_json(
                {
                    "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 4, "completion_tokens": 2},
                }
            ),
            [TextPiece("Hi"), Usage(4, 2), Finished()],
            id="one piece although a stream was asked for",
        ),
        pytest.param(
            Say(pieces=[chunk(content="Hi"), b'data: {"error": {"message": "out of memory"}}\n\n', chunk("stop")]),
            [TextPiece("Hi"), Failed("the server reports: out of memory")],
            id="an error inside the stream",
        ),
        pytest.param(
            reply_json({"error": {"message": "out of memory"}}),
            [Failed("the server reports: out of memory")],
            id="an error instead of a stream",
        ),
        pytest.param(
            Say(pieces=[chunk(content="Hi"), b"data: {oops\n\n"]),
            [TextPiece("Hi"), Failed("the server sent invalid JSON; ask again, or check the endpoint")],
            id="garbage inside the stream",
        ),
        pytest.param(
            Say(pieces=[chunk(content="Hi")]),
            [
                TextPiece("Hi"),
                Failed("the server ended the answer without a finish reason; ask again, or check the endpoint"),
            ],
            id="an end without a reason",
        ),
    ],
)
async def test_every_way_to_answer_is_understood(say: Say, expected: list[ModelEvent]) -> None:
    """Servers send different formats, but the events are the same."""
    with FakeServer(say) as server:
        assert await answer(chat(server.url)) == told(*expected)


async def test_an_answer_ends_with_done_though_the_connection_stays_open() -> None:
    """Some servers keep the connection open, and the prompt would not return."""
    pieces = [chunk(content="Hi"), chunk("stop") + DONE, b": never sent\n\n"]
    patience = Patience(connect=5, first=5, silence=60)
    with FakeServer(Say(pieces=pieces, hold=threading.Event())) as server:
        async with asyncio.timeout(5):
            assert await answer(chat(server.url, patience)) == told(TextPiece("Hi"), Finished())
        assert await asyncio.to_thread(server.gone.wait, 5)


async def test_pieces_come_when_they_are_sent() -> None:
    """Each piece must be shown when it arrives."""
    go_on = threading.Event()
    with FakeServer(Say(pieces=[chunk(content="Hi"), chunk("stop")], hold=go_on)) as server:
        events = chat(server.url).stream(ASK)
        assert repr(await anext(events)) == repr(TextPiece("Hi"))
        go_on.set()
        assert [repr(event) async for event in events] == told(Finished())


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def framed(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([HEAD + framed(chunk(content="Hi"))], [TextPiece("Hi"), "the answer is incomplete: the server closed"]),
        (
            [HEAD + framed(chunk(content="Hi")) + b"1000\r\ndata: {"],
            [TextPiece("Hi"), "the answer is incomplete: the server closed"],
        ),
        ([HEAD], ["the server closed"]),
    ],
)
async def test_an_answer_that_breaks_off_keeps_what_came_and_fails(pieces: list[bytes], expected: list[Any]) -> None:
    """No retry: the first tokens may be billed already, and a partial answer is worth showing."""
    with FakeServer(Say(raw=True, pieces=pieces)) as server:
        events = [event async for event in chat(server.url).stream(ASK)]
    assert told(*events[:-1]) == told(*expected[:-1])
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(expected[-1])
    assert failed.trouble == "broken"
    assert len(server.asked) == 1


@pytest.mark.parametrize("tail", [b"", b"1000\r\ndata: {"], ids=["between chunks", "inside one"])
async def test_an_answer_whose_end_was_told_is_whole_though_the_connection_breaks_after_it(tail: bytes) -> None:
    """The finish reason decides. Only the usage can be missing after it."""
    with FakeServer(
        Say(raw=True, pieces=[HEAD + framed(chunk(content="Hi")) + framed(chunk("stop")) + tail])
    ) as server:
        assert await answer(chat(server.url)) == told(TextPiece("Hi"), Finished())


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([b"SSH-2.0-OpenSSH_9.2\r\n"], "an SSH server answers at this address; check the port of the endpoint"),
        ([], "the server closed the connection; ask again, or look into its log"),
        ([b"HTTP/1.1 200 OK\r\nConte"], "the server closed the connection; ask again, or look into its log"),
    ],
)
async def test_what_is_no_model_server_counts_as_unreachable(pieces: list[bytes], reason: str) -> None:
    """A fallback model may answer. There is no retry, because the server accepted the request."""
    with FakeServer(Say(raw=True, pieces=pieces)) as server:
        assert await answer(chat(server.url)) == told(Failed(reason, "unreachable"))
    assert len(server.asked) == 1


FIRST, LATER = (f"; ask again, or raise network.{name}_seconds" for name in ("first_token", "silence"))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"never"], [Failed(f"the server sent nothing for 0.05 s{FIRST}", "unreachable")]),
        ([HEAD, b"never"], [Failed(f"the server sent nothing for 0.05 s{FIRST}")]),
        (
            [HEAD + framed(chunk(content="Hi")), b"never"],
            [TextPiece("Hi"), Failed(f"the answer is incomplete: the server sent nothing for 0.07 s{LATER}")],
        ),
    ],
    ids=["before the head", "before the first token", "between tokens"],
)
async def test_silence_ends_with_a_failure_that_says_how_long_it_was(
    pieces: list[bytes], expected: list[ModelEvent]
) -> None:
    """The first token has a longer timeout than the next ones. Both disconnect from the server."""
    patience = Patience(connect=5, first=0.05, silence=0.07)
    with FakeServer(Say(raw=True, pieces=pieces, hold=threading.Event())) as server:
        assert await answer(chat(server.url, patience)) == told(*expected)
        assert await asyncio.to_thread(server.gone.wait, 5)


async def test_a_refused_connection_is_tried_again_a_few_times_and_then_told() -> None:
    """A starting server gets time. The message names an unreachable one."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but never listens
        port = taken.getsockname()[1]
        naps: list[float] = []

        async def sleep(seconds: float) -> None:
            naps.append(seconds)

        events = await answer(chat(f"http://127.0.0.1:{port}", retries=2, sleep=sleep))
    reason = f"cannot connect to 127.0.0.1:{port}: Connection refused; is the server running?"
    assert events == told(Failed(reason, "unreachable"))
    assert len(naps) == 2


async def test_a_key_that_cannot_be_had_is_a_failure_before_anything_is_sent() -> None:
    """Without the key the server would refuse the request with a less helpful message."""

    async def key() -> str:
        raise AishError("the key is missing: set it")

    with FakeServer(sse("never")) as server:
        assert await answer(chat(server.url, key=key)) == told(Failed("the key is missing: set it", "refused"))
    assert server.asked == []


@pytest.mark.parametrize(
    ("endpoint", "api", "root"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1", "https://openrouter.ai/api"),
        ("https://one.example/paas/v4/", "https://one.example/paas/v4", "https://one.example/paas/v4"),
    ],
)
async def test_an_endpoint_may_be_written_with_or_without_its_version(endpoint: str, api: str, root: str) -> None:
    """Every project documents its endpoint differently."""
    assert (api_root(endpoint), server_root(endpoint)) == (api, root)
