"""Doubles of model servers: what each kind says about its models, in the shape that its documentation shows."""

from collections.abc import Mapping
from typing import Any

from fake_server import Asked, FakeServer, Say, reply_json, sse

GB = 1_000_000_000


def ollama_server(
    models: Mapping[str, Mapping[str, Any]], *, running: tuple[str, ...] = (), shown: Mapping[str, Any] | None = None
) -> FakeServer:
    """Ollama: `models` are the entries of /api/tags by name, `shown` the answers of /api/show."""
    tags = [{"name": name, "model": name, "details": {"format": "gguf"}, **entry} for name, entry in models.items()]
    loaded = [{"name": name, "model": name, "size": 5 * GB, "size_vram": 0} for name in running]
    told = shown or {}

    def show(asked: Asked) -> Say:
        found = told.get(asked.json["model"])
        return reply_json(found) if found is not None else reply_json({"error": "model not found"}, status=404)

    return FakeServer(
        sse("Hello from it."),
        paths={
            "/v1/models": _listing(list(models), owned_by="library"),
            "/api/tags": reply_json({"models": tags}),
            "/api/ps": reply_json({"models": loaded}),
            "/api/show": show,
        },
    )


def lm_studio_server(models: Mapping[str, Mapping[str, Any]], *, old: bool = False) -> FakeServer:
    """LM Studio: `models` are the entries of /api/v1/models by key, or those of /api/v0/models if it is an old one."""
    listed = [{"key": name, "id": name, **entry} for name, entry in models.items()]
    native = {"/api/v0/models": reply_json({"object": "list", "data": listed})}
    if not old:
        native = {"/api/v1/models": reply_json({"models": listed})}
    paths = {"/v1/models": _listing(list(models), owned_by="organization_owner"), **native}
    return FakeServer(reply_json({"error": "Unexpected endpoint"}), paths={**paths})


def listing_server(owner: str, *entries: Mapping[str, Any]) -> FakeServer:
    """llama.cpp, vLLM and KoboldCpp say in /v1/models what they have loaded; proxies only pass on names."""
    data = [{"object": "model", "owned_by": owner, **entry} for entry in entries]
    return FakeServer(paths={"/v1/models": reply_json({"object": "list", "data": data})})


def _listing(names: list[str], owned_by: str) -> Say:
    return reply_json(
        {"object": "list", "data": [{"id": name, "object": "model", "owned_by": owned_by} for name in names]}
    )
