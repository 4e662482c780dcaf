"""One contract for every model: how an answer ends, that it is complete, and that closing it stops the work."""

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_server import Asked, FakeServer, Say, sse
from service_answers import anthropic_answer, gemini_answer, responses_answer

from aish.model.anthropic_messages import AnthropicMessages
from aish.model.embedded import EmbeddedModel, LlamaProcess
from aish.model.gemini import Gemini
from aish.model.http import Patience
from aish.model.openai_chat import OpenAIChat
from aish.model.openai_responses import OpenAIResponses
from aish.model.port import Model
from aish.model.scripted import ScriptedModel
from aish.model.streamed_api import StreamedApi
from aish.model.tokenizer import fetch_json
from aish.model.weights import SMOLLM2, find_here
from aish.places import find_places, model_directories
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece

pytestmark = pytest.mark.anyio

PATIENCE = Patience(connect=10, first=60, silence=60)
SHORT = ChatRequest(messages=({"role": "user", "content": "Say hello to the world in one sentence."},), max_tokens=24)
LONG = ChatRequest(messages=({"role": "user", "content": "Write a very long story about a dragon."},), max_tokens=2000)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An adapter under test: its answer to `SHORT`, a check that it stopped working, and a broken variant."""

    model: Model
    whole: str
    stopped: Callable[[], Awaitable[bool]]
    broken: Model


Open = Callable[[Path], AbstractAsyncContextManager[Case]]


@asynccontextmanager
async def scripted(directory: Path) -> AsyncIterator[Case]:
    """The scripted model works only while its stream is read."""
    whole = "Hello, big  world.\n\nIt is\tgood. " + "And so on. " * 100

    async def stopped() -> bool:
        return len(asyncio.all_tasks()) <= before

    before = len(asyncio.all_tasks())
    yield Case(
        model=ScriptedModel([whole] * 20), whole=whole, stopped=stopped, broken=ScriptedModel(["!nobody is there"])
    )


def served(adapter: type[StreamedApi], streamed: Callable[..., Say]) -> Open:
    """An adapter of a server, which stops when the client disconnects. `streamed` makes an answer of its API."""

    @asynccontextmanager
    async def opened(directory: Path) -> AsyncIterator[Case]:
        whole = "Hello, wörld 🌍!\n"

        def answer(asked: Asked) -> Say:
            if b"dragon" in asked.body:
                pieces = streamed("Once").pieces
                told = next(place for place, piece in enumerate(pieces) if b"Once" in piece)
                return Say(pieces=[*pieces[: told + 1], b"never"], hold=threading.Event())
            return streamed("Hello,", " wörld ", "🌍", "!\n")

        async def stopped() -> bool:
            gone = await asyncio.to_thread(server.gone.wait, 5)
            server.gone.clear()
            return gone

        with FakeServer(answer) as server, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound, but never listens
            nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
            yield Case(
                model=adapter(endpoint=f"{server.url}/v1", model="m", patience=PATIENCE),
                whole=whole,
                stopped=stopped,
                broken=adapter(endpoint=nobody, model="m", patience=PATIENCE, retries=0),
            )

    return opened


@asynccontextmanager
async def embedded(directory: Path) -> AsyncIterator[Case]:
    """The embedded server reports whether it is busy, and can send the same answer in one piece."""
    weights = find_here(SMOLLM2, model_directories(find_places(os.environ), os.environ))
    assert weights, f"run: aish models pull {SMOLLM2.name}"
    process = LlamaProcess(weights, directory / "log", window=4096, threads=1)
    missing = LlamaProcess(directory / "no.gguf", directory / "log")
    model = EmbeddedModel(process, patience=PATIENCE, temperature=0.0)
    try:
        address = await process.address()

        async def key() -> str:
            return address.key

        async def stopped() -> bool:
            made = 0
            async with asyncio.timeout(10):
                while True:
                    _, [slot] = await fetch_json("GET", f"{address.url}/slots", key)
                    if not slot["is_processing"]:
                        return made < 1000
                    made = max(made, slot["next_token"][0]["n_decoded"])

        body = {"messages": list(SHORT.messages), "max_tokens": SHORT.max_tokens, "temperature": 0.0}
        _, answer = await fetch_json("POST", f"{address.url}/v1/chat/completions", key, json.dumps(body).encode())
        whole = answer["choices"][0]["message"]["content"]
        yield Case(
            model=model,
            whole=whole,
            stopped=stopped,
            broken=EmbeddedModel(missing, patience=PATIENCE),
        )
    finally:
        await model.close()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all tests here, so that the embedded model is started once."""
    return "asyncio"


ADAPTERS = [
    pytest.param(scripted, id="scripted"),
    pytest.param(served(OpenAIChat, sse), id="openai"),
    pytest.param(served(AnthropicMessages, anthropic_answer), id="anthropic"),
    pytest.param(served(Gemini, gemini_answer), id="google"),
    pytest.param(served(OpenAIResponses, responses_answer), id="responses"),
    pytest.param(embedded, marks=pytest.mark.real, id="embedded"),
]


@pytest.fixture(scope="module", params=ADAPTERS)
async def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Case]:
    adapter: Open = request.param
    async with adapter(tmp_path_factory.mktemp("case")) as opened:
        yield opened


def ends(events: list[ModelEvent]) -> list[ModelEvent]:
    return [event for event in events if isinstance(event, Finished | Failed)]


async def test_exactly_one_end_comes_and_it_comes_last(case: Case) -> None:
    """The screen and the journal rely on it."""
    events = [event async for event in case.model.stream(SHORT)]

    assert len(ends(events)) == 1
    assert isinstance(events[-1], Finished)


async def test_the_pieces_join_to_the_answer(case: Case) -> None:
    """No text is lost, repeated or trimmed, including blanks and newlines."""
    events = [event async for event in case.model.stream(SHORT)]
    pieces = [event.text for event in events if isinstance(event, TextPiece)]

    assert "".join(pieces) == case.whole
    assert case.whole
    assert all(pieces)


async def test_trouble_is_an_event_and_not_an_exception(case: Case) -> None:
    """A partial answer can then be shown with the reason."""
    events = [event async for event in case.broken.stream(SHORT)]

    assert ends(events) == events[-1:]
    assert isinstance(events[-1], Failed)
    assert events[-1].reason
    assert events[-1].trouble in ("unreachable", "missing")


async def test_closing_the_stream_early_stops_the_work(case: Case) -> None:
    """Ctrl-C must stop the server, and the model can be used again."""
    async with aclosing(case.model.stream(LONG)) as events:
        async for event in events:
            if isinstance(event, TextPiece):
                break

    assert [event async for event in events] == []
    assert await case.stopped()
    again = [event async for event in case.model.stream(SHORT)]
    assert "".join(event.text for event in again if isinstance(event, TextPiece)) == case.whole


async def test_cancelling_the_listener_stops_the_work(case: Case) -> None:
    """A task group ends an answer by cancellation."""
    begun = asyncio.Event()

    async def listen() -> None:
        async with aclosing(case.model.stream(LONG)) as events:
            async for _ in events:
                begun.set()

    task = asyncio.create_task(listen())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert await case.stopped()


async def test_two_answers_at_once_do_not_mix(case: Case) -> None:
    """A summary may run while the user asks the next question."""

    async def answer() -> str:
        return "".join([event.text async for event in case.model.stream(SHORT) if isinstance(event, TextPiece)])

    assert list(await asyncio.gather(answer(), answer())) == [case.whole] * 2
