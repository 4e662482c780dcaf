"""The models of a server on this machine: what it says about each, and which of them is best here.

Every server lists the names in `/v1/models`. What a model is for, how large it is, whether it is loaded and whether it
runs on this machine at all is in the API of the server's own kind. A name is used only if the server
reports nothing else.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from aish.model.addresses import server_root
from aish.model.http import HttpTrouble
from aish.model.keys import key_finder
from aish.model.machine import fits
from aish.model.openai_chat import FindKey, no_key
from aish.model.tokenizer import fetch_json
from aish.values.errors import AishError
from aish.values.named_tuple import NamedTuple

OLLAMA, LLAMA_CPP, LM_STUDIO, VLLM, KOBOLDCPP = "ollama", "llamacpp", "lm-studio", "vllm", "koboldcpp"
TOO_LARGE = "it needs more memory than is free"
ELSEWHERE = "it runs on another machine"
ANOTHER_USER = "it belongs to another user"
UNTOLD = "it may run elsewhere"  # a proxy to a service looks like that
_MOST_SHOWN = 8  # models that Ollama is asked about
_MOST_LISTED = 500
_LONGEST_NAME = 200  # characters of a model name that is believed
_HOLDS = (LLAMA_CPP, VLLM, KOBOLDCPP)  # they say that what they list is theirs, and list what they have loaded


class ServedModel(NamedTuple):
    """A model of a server. What the server does not tell is None, or 0 for the size."""

    name: str
    size: int = 0  # bytes of its weights
    is_loaded: bool = False
    chats: bool | None = None
    has_vision: bool = False
    is_here: bool | None = None  # it runs on this machine

    def caution(self, memory: int) -> str:
        """Return why it is not used unasked; empty if it can be."""
        if self.is_here is False:
            return ELSEWHERE
        if not self.is_loaded and self.size and not fits(self.size, memory):
            return TOO_LARGE
        return "" if self.is_here else UNTOLD


def best_first(models: Sequence[ServedModel], memory: int) -> list[ServedModel]:
    """Return the models that chat: those that can be used here before others, then by size, the largest first.

    A model that sees pictures is for them in the first place, so it comes after all that do not. Where a size is not
    known, what is loaded comes first, and then the order of the server counts. Of models that are too large, the
    smallest is first.
    """
    chats = [one for one in models if one.chats is not False]
    all_sizes = all(one.size for one in chats if one.is_here is not False)

    def rank(one: ServedModel) -> tuple[object, ...]:
        caution = one.caution(memory)
        size = (one.size if caution else -one.size) if all_sizes else 0
        order = one.is_here is False, caution == TOO_LARGE, one.has_vision, one.chats is None
        return (*order, not all_sizes and not one.is_loaded, size)

    return sorted(chats, key=rank)


async def list_names(endpoint: str, seconds: float, api_key_env: str = "") -> list[str]:
    """Return the names of the models that a server lists; none if it is not there or is another kind of server."""
    return [one.name for one in _listed(await _get(endpoint, "models", seconds, key_finder(env=api_key_env)))]


async def served_models(kind: str, endpoint: str, seconds: float, memory: int) -> list[ServedModel]:
    """Return the models of a server of this kind, with what it says about them. Takes no longer than `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    root = server_root(endpoint)
    listing = _get(endpoint, "models", seconds)
    if kind == OLLAMA:
        answer, tags, running = await asyncio.gather(
            listing, _get(root, "api/tags", seconds), _get(root, "api/ps", seconds)
        )
        models = _with_facts(_listed(answer), _of_ollama(tags, running))
        return await _shown(root, models, end - loop.time(), memory)
    if kind == LM_STUDIO:
        answer, new, old = await asyncio.gather(
            listing, _get(root, "api/v1/models", seconds), _get(root, "api/v0/models", seconds)
        )
        return _with_facts(_listed(answer), _of_old_lm_studio(old) | _of_lm_studio(new))
    return _listed(await listing)


async def _get(root: str, path: str, seconds: float, key: FindKey = no_key, body: object = None) -> Mapping[str, Any]:
    """Return an answer that is an object; empty if there is none in time."""
    method, content = ("POST", json.dumps(body).encode()) if body else ("GET", b"")
    try:
        async with asyncio.timeout(seconds):
            status, answer = await fetch_json(method, f"{root}/{path}", key, content)
    except (TimeoutError, HttpTrouble, AishError, OSError, ValueError):
        return {}
    return answer if status == 200 and isinstance(answer, dict) else {}


def _with_facts(listed: Sequence[ServedModel], facts: Mapping[str, ServedModel]) -> list[ServedModel]:
    """Return what can be used, with the facts about it."""
    return [facts.get(one.name, one) for one in listed]


def _listed(answer: Mapping[str, Any]) -> list[ServedModel]:
    """Return the models of `/v1/models`, with what llama.cpp and servers like it say there."""
    found = []
    for entry in _entries(answer, "data"):
        name = _name(entry.get("id"))
        if name:
            own = entry.get("owned_by") in _HOLDS
            state = _object(entry.get("status")).get("value")  # of llama.cpp with several models
            shape = _object(entry.get("architecture"))
            reads, writes = (_words(shape.get(f"{way}_modalities")) for way in ("input", "output"))
            found.append(
                ServedModel(
                    name,
                    size=_size(_object(entry.get("meta")).get("size")),
                    is_loaded=own and state in (None, "loaded"),
                    chats=_chats_by_name(name) if not writes or "text" in writes else False,
                    has_vision="image" in reads,
                    is_here=own or None,
                )
            )
    return found


def _of_ollama(tags: Mapping[str, Any], running: Mapping[str, Any]) -> dict[str, ServedModel]:
    """Return the facts in `/api/tags` and `/api/ps`, by name."""
    loaded = {_name(entry.get("model") or entry.get("name")) for entry in _entries(running, "models")}
    found = {}
    for entry in _entries(tags, "models"):
        name = _name(entry.get("model")) or _name(entry.get("name"))
        if name:
            one = ServedModel(
                name,
                size=_size(entry.get("size")),
                is_loaded=name in loaded,
                chats=_chats_by_name(name),
                is_here=not (entry.get("remote_host") or entry.get("remote_model")),
            )
            found[name] = _capable(one, entry.get("capabilities"))
    return found


async def _shown(root: str, models: list[ServedModel], seconds: float, memory: int) -> list[ServedModel]:
    """Ask Ollama what the models are for that come first; all at once, in the time that is left."""
    asked = [one for one in best_first(models, memory) if one.is_here][:_MOST_SHOWN]
    answers = await asyncio.gather(
        *(_get(root, "api/show", max(seconds, 0), body={"model": one.name}) for one in asked)
    )
    told = {one.name: _told(one, answer) for one, answer in zip(asked, answers, strict=True)}
    return _with_facts(models, told)


def _told(one: ServedModel, shown: Mapping[str, Any]) -> ServedModel:
    """Return a model with what `/api/show` says; old versions tell what it can do only by the values of its file."""
    if "capabilities" in shown:
        return _capable(one, shown["capabilities"])
    values = _object(shown.get("model_info"))
    if any(key.endswith(".pooling_type") and value for key, value in values.items()):
        return one._replace(chats=False)
    sees = bool(shown.get("projector_info")) or any(".vision." in key for key in values)
    return one._replace(has_vision=sees, chats=True if values else one.chats)


def _capable(one: ServedModel, capabilities: object) -> ServedModel:
    words = _words(capabilities)
    return one._replace(chats="completion" in words, has_vision="vision" in words) if words else one


def _of_lm_studio(answer: Mapping[str, Any]) -> dict[str, ServedModel]:
    """Return the facts in `/api/v1/models`, by name."""
    found = {}
    for entry in _entries(answer, "models"):
        name = _name(entry.get("key"))
        found[name] = ServedModel(
            name,
            size=_size(entry.get("size_bytes")),
            is_loaded=bool(entry.get("loaded_instances")),
            chats=entry.get("type") == "llm",
            has_vision=_object(entry.get("capabilities")).get("vision") is True,
            is_here=True,
        )
    return found


def _of_old_lm_studio(answer: Mapping[str, Any]) -> dict[str, ServedModel]:
    """Return the facts in `/api/v0/models`, by name. It tells no sizes."""
    found = {}
    for entry in _entries(answer, "data"):
        name, purpose = _name(entry.get("id")), entry.get("type")
        loaded, sees = entry.get("state") == "loaded", purpose == "vlm"
        found[name] = ServedModel(
            name, is_loaded=loaded, chats=purpose in ("llm", "vlm"), has_vision=sees, is_here=True
        )
    return found


def _chats_by_name(name: str) -> bool | None:
    """Return what a name tells where nothing else does: models that make vectors are called so by convention."""
    return False if "embed" in name.lower() else None


def _entries(answer: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    listed = answer.get(key)
    return [one for one in listed[:_MOST_LISTED] if isinstance(one, dict)] if isinstance(listed, list) else []


def _name(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_NAME else ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _size(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
