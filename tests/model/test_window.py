"""The context window: aish asks the server, and derives the token budget from the answer."""

import asyncio
import socket
import threading
from typing import Any

import pytest
from fake_server import Answer, FakeServer, Say, reply_json
from hypothesis import example, given, settings
from hypothesis import strategies as st
from world import World

from aish.model.tokenizer import Server, find_window
from aish.values.errors import AishError

pytestmark = pytest.mark.anyio


def props(window: object) -> Say:
    return reply_json({"default_generation_settings": {"n_ctx": window, "params": {}}, "total_slots": 1})


def models(**entry: Any) -> Say:
    others = [{"id": "small", "max_model_len": 512}, {"id": "large", "max_model_len": 1_000_000}]
    return reply_json({"object": "list", "data": [others[0], {"id": "mine", **entry}, others[1]]})


@pytest.mark.proves("T24")
@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ({"/props": props(8192)}, 8192),
        ({"/props": props(8192), "/v1/models": models(max_model_len=32768)}, 8192),
        ({"/v1/models": models(max_model_len=32768)}, 32768),
        ({"/v1/models": models(context_length=131072)}, 131072),
        ({"/v1/models": models(meta={"n_ctx": 4096, "n_ctx_train": 131072})}, 4096),
        ({"/props": props(0), "/v1/models": models(max_model_len=32768)}, 32768),
        ({"/props": reply_json({"n_ctx": 5}), "/v1/models": models(max_model_len=32768)}, 32768),
        ({"/props": reply_json({}, status=501), "/v1/models": models(max_model_len=32768)}, 32768),
        ({"/props": props(None), "/v1/models": models()}, None),
        ({"/props": props("8192"), "/v1/models": models(max_model_len="many")}, None),
        ({"/v1/models": reply_json({"data": [{"id": "another", "max_model_len": 512}]})}, None),
        ({}, None),
    ],
    ids=[
        "llama.cpp",
        "llama.cpp before the list",
        "vLLM",
        "OpenRouter",
        "a router of llama.cpp",
        "props without a size",
        "props of another kind",
        "props not given out",
        "no size anywhere",
        "words instead of numbers",
        "another model only",
        "nothing at all",
    ],
)
@pytest.mark.parametrize("tail", ["", "/v1"])
async def test_the_window_is_what_the_server_says_of_this_model(
    paths: dict[str, Answer], expected: int | None, tail: str
) -> None:
    """The configured size counts, not the size from training, and not that of another model."""
    with FakeServer(paths=paths) as server:
        assert await find_window(Server(server.url + tail), "mine") == expected
    assert {(asked.method, asked.path) for asked in server.asked} <= {("GET", "/props"), ("GET", "/v1/models")}


async def test_a_server_that_is_silent_or_away_or_locked_has_no_known_window() -> None:
    """The question must not wait long, so each request has a timeout."""

    async def no_key() -> str:
        raise AishError("the key is missing")

    with FakeServer(Say(raw=True, pieces=[b"never"], hold=threading.Event())) as server:
        assert await find_window(Server(server.url), "mine", seconds=0.05) is None
        assert await find_window(Server(server.url, no_key), "mine") is None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but never listens
        assert await find_window(Server(f"http://127.0.0.1:{taken.getsockname()[1]}"), "mine") is None
    assert len(server.asked) == 1


names = st.sampled_from(
    ["default_generation_settings", "n_ctx", "data", "id", "meta", "max_model_len", "context_length"]
)
anything = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
)


async def test_no_answer_makes_the_search_stumble() -> None:
    """Another kind of server may listen there."""
    with FakeServer() as server:

        @settings(max_examples=100, deadline=None)
        @given(anything)
        @example({"data": [{"id": "mine", "meta": []}]})
        @example({"default_generation_settings": {"n_ctx": -1}})
        def check(answer: object) -> None:
            server.answers = [reply_json(answer)]
            window = asyncio.run(find_window(Server(server.url), "mine"))
            assert window is None or window > 0

        await asyncio.to_thread(check)


@pytest.mark.proves("T24")
async def test_the_automatic_budget_is_the_window_less_room_for_the_answer(world: World) -> None:
    """A quarter stays free for the answer. Without a reported window the default applies. A set number always wins."""
    with FakeServer(paths={"/props": props(8192)}) as server, FakeServer() as silent:
        presets = {
            "told": {"kind": "openai", "endpoint": server.url},
            "untold": {"kind": "openai", "endpoint": silent.url},
        }
        automatic = world.program({"models": presets, "context": {"token_budget": "auto"}}).session()
        fixed = world.program({"models": presets, "context": {"token_budget": 1234}}).session()

        budgets = [
            (await session.endpoints.limits(session.services.open_backend(name))).token_budget
            for session in (automatic, fixed)
            for name in ("told", "untold", "told")
        ]
    assert budgets == [6144, 4096, 6144, 1234, 1234, 1234]
    assert [asked.path for asked in server.asked] == ["/props"]
