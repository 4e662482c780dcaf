"""Find models that this user could use: servers on this machine, and keys in the environment.

Only loopback is contacted here, unless `choose_model` is called for a provider whose key the user wants to use.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any
from urllib.parse import urlsplit

from aish.model.http import HttpTrouble
from aish.model.keys import key_finder
from aish.model.tokenizer import fetch_json, is_loopback
from aish.values.errors import AishError
from aish.values.named_tuple import NamedTuple

_LOCAL_SECONDS = 1.0  # a server on this machine answers at once, or it is busy
_REMOTE_SECONDS = 8.0
_LONGEST_NAME = 200  # characters of a model name that is believed


class FoundModel(NamedTuple):
    """A model that could be used: the name for its preset, whose it is, and how it is reached."""

    name: str
    title: str
    endpoint: str
    model: str
    models: tuple[str, ...] = ()  # all that the server lists
    api_key_env: str = ""  # the variable with the key; the key itself is never kept
    kind: str = "openai"  # of the preset

    @property
    def about(self) -> str:
        """One line for people."""
        if self.api_key_env:
            return f"{self.title}: {self.model}, with the key in {self.api_key_env}"
        more = f" (and {len(self.models) - 1} more)" if len(self.models) > 1 else ""
        return f"{self.title} on this machine: {self.model}{more}"

    def with_model(self, model: str) -> "FoundModel":
        return self._replace(model=model)


class _Provider(NamedTuple):
    name: str
    title: str
    variables: tuple[str, ...]
    endpoint: str
    models: tuple[str, ...]  # which to prefer; the first one is used if the provider cannot be asked
    lists_models: bool = True
    kind: str = "openai"
    compatible: str = ""  # where the service is OpenAI-compatible: presets that use it know its key, too


_LOCAL = (
    ("ollama", "Ollama", 11434),
    ("llamacpp", "llama.cpp", 8080),
    ("lm-studio", "LM Studio", 1234),
    ("vllm", "vLLM", 8000),
    ("koboldcpp", "KoboldCpp", 5001),
)
_PROVIDERS = (
    _Provider(
        "openai",
        "OpenAI",
        ("OPENAI_API_KEY",),
        "https://api.openai.com/v1",
        ("gpt-5-mini", "gpt-4.1-mini", "gpt-4o-mini"),
    ),
    _Provider(
        "anthropic",
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        "https://api.anthropic.com/v1",
        ("claude-sonnet-4-5",),
        lists_models=False,  # only with headers of its own
        kind="anthropic",
    ),
    _Provider(
        "gemini",
        "Google Gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "https://generativelanguage.googleapis.com/v1beta",
        ("gemini-2.5-flash", "gemini-2.0-flash"),
        kind="google",
        compatible="https://generativelanguage.googleapis.com/v1beta/openai",
    ),
    _Provider(
        "openrouter",
        "OpenRouter",
        ("OPENROUTER_API_KEY",),
        "https://openrouter.ai/api/v1",
        ("openai/gpt-5-mini", "openrouter/auto"),
    ),
    _Provider(
        "mistral",
        "Mistral",
        ("MISTRAL_API_KEY",),
        "https://api.mistral.ai/v1",
        ("mistral-medium-latest", "mistral-small-latest"),
    ),
    _Provider("deepseek", "DeepSeek", ("DEEPSEEK_API_KEY",), "https://api.deepseek.com/v1", ("deepseek-chat",)),
    _Provider(
        "groq",
        "Groq",
        ("GROQ_API_KEY",),
        "https://api.groq.com/openai/v1",
        ("openai/gpt-oss-120b", "llama-3.3-70b-versatile"),
    ),
    _Provider("xai", "xAI", ("XAI_API_KEY",), "https://api.x.ai/v1", ("grok-4-fast", "grok-3-mini")),
    _Provider(
        "together",
        "Together",
        ("TOGETHER_API_KEY",),
        "https://api.together.xyz/v1",
        ("openai/gpt-oss-120b", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    ),
)


def find_keys(env: Mapping[str, str], known: Set[str] = frozenset()) -> list[FoundModel]:
    """Return the providers whose key is in the environment and not in use already. No network."""
    found = []
    for one in _PROVIDERS:
        variable = next((name for name in one.variables if env.get(name, "").strip()), "")
        if variable and not known & {variable, one.endpoint, one.compatible or one.endpoint}:
            found.append(
                FoundModel(one.name, one.title, one.endpoint, one.models[0], api_key_env=variable, kind=one.kind)
            )
    return found


async def find_local(env: Mapping[str, str], known: Set[str] = frozenset()) -> list[FoundModel]:
    """Return the model servers that answer on this machine, without those in `known`. Takes at most a second."""
    wanted = [place for place in _places(env) if place[2] not in known]
    answers = await asyncio.gather(*(_list_models(endpoint, _LOCAL_SECONDS) for _, _, endpoint in wanted))
    found = []
    for (name, title, endpoint), models in zip(wanted, answers, strict=True):
        chats = [model for model in models if "embed" not in model.lower()]
        if chats:
            found.append(FoundModel(name, title, endpoint, chats[0], tuple(chats)))
    return found


def _places(env: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Yield name, title and endpoint of the usual servers. Ollama's may be at another port."""
    for name, title, port in _LOCAL:
        yield name, title, _ollama_endpoint(env, port) if name == "ollama" else f"http://127.0.0.1:{port}/v1"


def _ollama_endpoint(env: Mapping[str, str], port: int) -> str:
    usual, host = f"http://127.0.0.1:{port}/v1", env.get("OLLAMA_HOST", "").strip()
    if not host:
        return usual
    try:
        parts = urlsplit(host if "//" in host else f"//{host}")
        address = f"http://{parts.hostname or '127.0.0.1'}:{parts.port or port}/v1"
    except ValueError:
        return usual
    return address if is_loopback(address) else usual  # others are not contacted unasked


async def choose_model(found: FoundModel, env: Mapping[str, str] = os.environ) -> tuple[FoundModel, str]:
    """Ask a provider which models this key has, and return the best known one, and what could not be checked.

    This uses the network and the key, so the user must have agreed.
    """
    provider = next((one for one in _PROVIDERS if one.title == found.title), None)
    if provider is None or not provider.lists_models or not env.get(found.api_key_env):
        return found, ""
    listed = await _list_models(provider.compatible or found.endpoint, _REMOTE_SECONDS, found.api_key_env)
    if not listed:
        return found, f"{found.title} could not be asked for its models; aish doctor checks it"
    listed = [model.removeprefix("models/") for model in listed]
    best = next((model for model in provider.models if model in listed), listed[0])
    return found._replace(model=best, models=tuple(listed)), ""


async def _list_models(endpoint: str, seconds: float, api_key_env: str = "") -> list[str]:
    """Return the names of the models that a server lists; none if it is not there or is another kind of server."""
    try:
        async with asyncio.timeout(seconds):
            status, answer = await fetch_json("GET", f"{endpoint}/models", key_finder(env=api_key_env))
    except (TimeoutError, HttpTrouble, AishError, OSError, ValueError):
        return []
    listed = answer.get("data") if status == 200 and isinstance(answer, dict) else None
    return _names(listed) if isinstance(listed, list) else []


def _names(listed: Sequence[Any]) -> list[str]:
    names = [entry.get("id") for entry in listed if isinstance(entry, dict)]
    return [name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME]
