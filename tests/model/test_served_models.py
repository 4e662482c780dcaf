"""Of the models of a server, the largest one is used that chats, fits, and runs here."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from fake_server import FakeServer, Say, reply_json
from model_servers import GB, listing_server, lm_studio_server, ollama_server

from aish.model.discovery import FoundModel, find_at
from aish.model.served_models import ELSEWHERE, TOO_LARGE, UNTOLD, ServedModel, best_first

pytestmark = pytest.mark.anyio
MEMORY = 8 * GB
CHAT, TOOLS = {"capabilities": ["completion"]}, {"capabilities": ["completion", "tools"]}
SEES = {"capabilities": ["completion", "tools", "vision"]}
VECTORS = {"capabilities": ["embedding"]}


async def best(server: FakeServer, kind: str, seconds: float = 20) -> FoundModel:
    with server:
        found = await find_at(kind, kind, f"{server.url}/v1", MEMORY, seconds)
    assert found
    return found


async def test_ollama_answers_with_its_largest_model_that_chats_and_fits() -> None:
    """It lists the model first that was used last. Names do not tell an encoder from a model that chats."""
    models = {
        "tiny": {"size": GB},
        "vectors": {"size": 4 * GB},
        "good": {"size": 3 * GB},
        "huge": {"size": 40 * GB},
        "painter": {"size": 5 * GB},
    }
    told = {"tiny": TOOLS, "vectors": VECTORS, "good": CHAT, "huge": TOOLS, "painter": SEES}
    found = await best(ollama_server(models, shown=told), "ollama")

    assert (found.model, found.size, found.caution) == ("good", 3 * GB, "")
    assert found.models == ("good", "tiny", "painter", "huge")
    assert found.about == "ollama on this machine: good (3.0 GB, and 3 more)"


async def test_a_model_that_ollama_has_loaded_fits() -> None:
    """Its memory is in use, but by itself."""
    models = {"small": {"size": GB}, "large": {"size": 40 * GB}}
    found = await best(ollama_server(models, running=("large",), shown={"small": CHAT, "large": CHAT}), "ollama")

    assert (found.model, found.caution) == ("large", "")


async def test_a_model_that_sees_is_used_where_nothing_else_is() -> None:
    models = {"sees": {"size": 3 * GB}, "vectors": {"size": GB}}
    found = await best(ollama_server(models, shown={"sees": SEES, "vectors": VECTORS}), "ollama")

    assert (found.model, found.models, found.caution) == ("sees", ("sees",), "")


async def test_a_model_of_another_machine_is_not_used_unasked() -> None:
    """Ollama passes questions on to a service for some; their entries are small and name its host."""
    away = {"size": 400, "remote_host": "https://cloud.example:443", "remote_model": "big"}
    found = await best(ollama_server({"big-cloud": away, "here": {"size": GB}}, shown={"here": SEES}), "ollama")
    alone = await best(ollama_server({"big-cloud": away}), "ollama")

    assert (found.model, found.models, found.caution) == ("here", ("here", "big-cloud"), "")
    assert (alone.model, alone.caution) == ("big-cloud", ELSEWHERE)


async def test_where_nothing_fits_the_smallest_is_named_with_the_reason() -> None:
    models = {"huge": {"size": 90 * GB}, "large": {"size": 40 * GB}}
    found = await best(ollama_server(models, shown={"huge": CHAT, "large": CHAT}), "ollama")

    assert (found.model, found.caution) == ("large", TOO_LARGE)
    assert found.about.endswith(f"; {TOO_LARGE}")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"first": {"model_info": {"bert.pooling_type": 1}}, "second": {"model_info": {"llama.vocab": 1}}}, "second"),
        ({"first": {"model_info": {"a.vision.block_count": 1}}, "second": {"model_info": {"a.b": 1}}}, "second"),
        (
            {"first": {"model_info": {"a.b": 1}, "projector_info": {"x": 1}}, "second": {"model_info": {"a.b": 1}}},
            "second",
        ),
        ({}, "first"),
        ({"first": {"capabilities": 5}, "second": {"capabilities": []}}, "first"),
    ],
)
async def test_an_old_ollama_tells_by_the_values_of_a_file(shown: Mapping[str, Any], expected: str) -> None:
    models = {"first": {"size": 2 * GB}, "second": {"size": GB}}

    assert (await best(ollama_server(models, shown=shown), "ollama")).model == expected


async def test_ollama_is_asked_about_a_few_models_only() -> None:
    server = ollama_server({f"m{number}": {"size": GB + number} for number in range(30)})
    found = await best(server, "ollama")

    asked = [one.json["model"] for one in server.asked if one.path == "/api/show"]
    assert sorted(asked) == [f"m{number}" for number in range(22, 30)]
    assert found.model == "m29" and len(found.models) == 30


async def test_a_slow_answer_costs_no_more_than_the_limit() -> None:
    """What has arrived by then counts."""
    server, never = ollama_server({"a": {"size": GB}, "b": {"size": 2 * GB}}), threading.Event()
    server.paths["/api/show"] = Say(pieces=[b"{", b"}"], hold=never)
    start = time.monotonic()
    found = await best(server, "ollama", seconds=2)
    never.set()

    assert found.model == "b" and time.monotonic() - start < 10  # two seconds, on a busy machine


async def test_lm_studio_says_sizes_and_purposes() -> None:
    llm: dict[str, Any] = {"type": "llm", "capabilities": {"vision": False, "trained_for_tool_use": True}}
    models = {
        "tiny": {**llm, "size_bytes": GB, "loaded_instances": [{"id": "tiny", "config": {}}]},
        "vectors": {"type": "embedding", "size_bytes": 5 * GB, "loaded_instances": []},
        "good": {**llm, "size_bytes": 3 * GB, "loaded_instances": []},
        "sees": {"type": "llm", "size_bytes": 4 * GB, "loaded_instances": [], "capabilities": {"vision": True}},
    }
    found = await best(lm_studio_server(models), "lm-studio")

    assert (found.model, found.models, found.caution) == ("good", ("good", "tiny", "sees"), "")


async def test_an_old_lm_studio_says_no_sizes_so_its_order_counts() -> None:
    """What is loaded is the first choice: nobody knows whether another one fits."""
    models = {
        "vlm": {"type": "vlm", "state": "loaded", "max_context_length": 32768},
        "first": {"type": "llm", "state": "not-loaded", "max_context_length": 131072},
        "second": {"type": "llm", "state": "loaded", "max_context_length": 131072},
        "text-embedding-x": {"type": "embeddings", "state": "loaded", "max_context_length": 2048},
    }
    found = await best(lm_studio_server(models, old=True), "lm-studio")

    assert (found.models, found.caution) == (("second", "first", "vlm"), "")


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (listing_server("llamacpp", {"id": "../m.gguf", "meta": {"n_params": 8, "size": 90 * GB}}), ("../m.gguf", "")),
        (listing_server("vllm", {"id": "org/m", "root": "org/m", "max_model_len": 4096}), ("org/m", "")),
        (listing_server("koboldcpp", {"id": "koboldcpp/m", "root": "koboldcpp"}), ("koboldcpp/m", "")),
        (listing_server("openai", {"id": "gpt"}), ("gpt", UNTOLD)),  # a proxy, which may cost money
        (
            listing_server(  # llama.cpp with several models
                "llamacpp",
                {"id": "a", "status": {"value": "unloaded"}},
                {"id": "b", "status": {"value": "loaded"}, "architecture": {"input_modalities": ["text", "image"]}},
                {"id": "c", "status": {"value": "loaded"}, "architecture": {"output_modalities": ["decisions"]}},
                {"id": "d", "status": {"value": "loaded"}, "meta": None},
            ),
            ("d", ""),
        ),
    ],
)
async def test_servers_that_list_what_they_run_are_believed(server: FakeServer, expected: tuple[str, str]) -> None:
    found = await best(server, "llamacpp")

    assert (found.model, found.caution) == expected


@pytest.mark.parametrize(
    "answer",
    [
        {"models": [{"model": ["x"], "name": {}}, 5, {"model": "m", "size": "x", "capabilities": {"a": 1}}]},
        {"models": [{"key": [], "type": [], "size_bytes": True, "capabilities": []}, {"key": "m", "type": "llm"}]},
        {"data": [{"id": "m", "owned_by": [], "status": [], "meta": 1, "architecture": {"input_modalities": 1}}]},
        {"data": "m", "models": {}},
        [],
    ],
)
@pytest.mark.parametrize("kind", ["ollama", "lm-studio", "llamacpp"])
async def test_an_answer_of_another_shape_is_no_trouble(answer: object, kind: str) -> None:
    """Many programs listen at these ports."""
    paths = {path: reply_json(answer) for path in ("/api/tags", "/api/ps", "/api/show")}
    listing = {"data": [{"id": "m"}]}
    with FakeServer(reply_json(answer), paths={**paths, "/v1/models": reply_json(listing)}) as server:
        found = await find_at(kind, kind, f"{server.url}/v1", MEMORY)
    with FakeServer(reply_json(answer)) as server:
        await find_at(kind, kind, f"{server.url}/v1", MEMORY)

    assert found is None or found.model == "m"


def test_unknown_sizes_keep_the_order_of_the_server() -> None:
    models = [ServedModel("a", size=1, is_here=True), ServedModel("b", is_here=True), ServedModel("c", 9, is_here=True)]

    assert [one.name for one in best_first(models, MEMORY)] == ["a", "b", "c"]
