"""The context window: aish asks the server, and derives the token budget from the answer."""

import asyncio
import socket
import threading
from collections.abc import Awaitable
from typing import Any

import pytest
from fake_server import Answer, Asked, FakeServer, Say, reply_json, sse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from world import World

from aish.model.backend import Backend
from aish.model.estimate import Estimates
from aish.model.known_windows import known_window
from aish.model.model_cards import ModelCards
from aish.model.scripted import ScriptedModel
from aish.model.tokenizer import Server, Tokenizer
from aish.model.window import ContextWindow, ContextWindows, ask_for_window, find_window
from aish.values.errors import AishError

pytestmark = pytest.mark.anyio
UNKNOWN: dict[str, Answer] = {
    path: reply_json({}, status=404) for path in ("/v1/models", "/api/v0/models", "/api/ps", "/api/show")
}


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
    asked = {(asked.method, asked.path) for asked in server.asked}
    assert asked <= {("GET", path) for path in ("/props", "/v1/models", "/api/v0/models", "/api/ps")}


async def test_all_questions_are_on_their_way_at_the_same_time() -> None:
    """A question of the user waits for one round trip, not for four."""
    together = threading.Barrier(4, timeout=10)  # breaks if they come one after the other

    def wait(asked: Asked) -> Say:
        together.wait()
        return models(max_model_len=32768) if asked.path == "/v1/models" else reply_json({}, status=404)

    with FakeServer(wait) as server:
        assert await find_window(Server(server.url), "mine", seconds=10) == 32768


@pytest.mark.parametrize("told", [8192, 0])
async def test_a_server_that_was_known_before_gets_the_question_first(world: World, told: int) -> None:
    """The window of the last run serves; the server is asked again while it answers, as it may have changed."""
    answering = threading.Event()
    now = {"n_ctx": told}

    def ask_props(_: Asked) -> Say:
        answering.set()
        return props(now["n_ctx"])

    budgets = []
    with FakeServer(sse("Yes."), paths={"/props": ask_props, **UNKNOWN}) as server:
        settings: dict[str, Any] = {
            "model": "m",
            "models": {"m": {"endpoint": server.url}},
            "tokenize": {"use_endpoint": "false"},
            "context": {"token_budget": "auto"},
        }
        for window in (told, 32768):
            now["n_ctx"] = window
            server.asked.clear()
            program = world.program(settings)
            session = program.session()
            answering.clear()
            await world.ask(session, "Hello?")
            assert await asyncio.to_thread(answering.wait, 5)
            first = server.asked[0].path
            await program.windows.wait()
            budgets.append((first == "/v1/chat/completions", session.endpoints.expected_limits(session.backend)))
            await program.close()

    assert [first for first, _ in budgets] == [False, True]
    assert budgets[1][1].token_budget == 24576


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
    assert len(server.asked) <= 4


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
    assert [asked.path for asked in server.asked].count("/props") == 1


def ollama(running: object, parameters: str = "") -> dict[str, Answer]:
    return {"/api/ps": reply_json({"models": running}), "/api/show": reply_json({"parameters": parameters})}


@pytest.mark.proves("T24")
@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (ollama([{"model": "mine", "context_length": 32768}]), ContextWindow(32768)),
        (ollama([{"model": "mine:latest", "context_length": 4096}]), ContextWindow(4096)),
        (ollama([], 'stop "x"\nnum_ctx          16384\n'), ContextWindow(16384, settled=False)),
        (ollama([{"model": "other", "context_length": 512}]), ContextWindow(0, settled=False)),
        ({"/api/v0/models": models(loaded_context_length=8192, max_context_length=131072)}, ContextWindow(8192)),
        ({"/api/v0/models": models(max_context_length=131072)}, ContextWindow(0, settled=False)),
        ({"/v1/models": models(context_window=131072)}, ContextWindow(131072)),
        ({"/api/ps": reply_json({"models": 5})}, ContextWindow(0)),
    ],
    ids=[
        "Ollama",
        "Ollama with a tag",
        "Ollama before the model is loaded",
        "Ollama with another model",
        "LM Studio",
        "LM Studio before the model is loaded",
        "Groq",
        "something else",
    ],
)
async def test_a_server_that_loads_models_tells_how_this_one_is_loaded(
    paths: dict[str, Answer], expected: ContextWindow
) -> None:
    """The largest window that a model could have is not the one that it has."""
    with FakeServer(paths=paths) as server:
        server.answers = [reply_json({}, status=404)]
        assert await ask_for_window(Server(server.url), "mine") == expected


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("openai/gpt-4o", 128_000),
        ("gpt-4", 8192),
        ("gpt-4-0613", 8192),
        ("o3-mini", 200_000),
        ("o365-assistant", 0),
        ("anthropic/claude-sonnet-4", 200_000),
        ("meta-llama/Llama-3.3-70B-Instruct", 128_000),
        ("meta-llama-3.1-8b", 128_000),
        ("my-model", 0),
        ("", 0),
    ],
)
def test_well_known_models_are_found_by_the_beginning_of_their_name(name: str, window: int) -> None:
    """Services name the same model with and without its vendor and its date."""
    assert known_window(name) == window


async def test_a_hosted_model_is_asked_for_once_a_week_and_its_table_helps(world: World) -> None:
    """Another run does not ask again; a service that tells nothing is looked up by the name of the model."""
    cards, told = ModelCards(world.directory / "cards.json"), list[str]()

    def hosted(name: str, windows: ContextWindows) -> Awaitable[int]:
        async def server() -> Server:
            told.append(name)
            return Server("https://127.0.0.1:9")

        tokenizer = Tokenizer(model=name, estimates=Estimates(world.directory / "ratios.json"))
        backend = Backend(
            name=name,
            model_name=name,
            endpoint="https://127.0.0.1:9",
            model=ScriptedModel([]),
            tokenizer=tokenizer,
            server=server,
        )
        return windows.of(backend)

    windows = ContextWindows(cards)
    assert [await hosted(name, windows) for name in ("gpt-4o", "gpt-4o", "mine")] == [128_000, 128_000, 0]
    assert told == ["gpt-4o", "mine"]  # a service that did not answer is left alone for a while

    cards.saw_window("https://127.0.0.1:9 mine", 5000)
    assert await hosted("mine", ContextWindows(cards)) == 5000
    assert told == ["gpt-4o", "mine"]
