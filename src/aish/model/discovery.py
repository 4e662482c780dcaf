"""Find models that this user could use: servers and files on this machine, and keys in the environment.

Only loopback is contacted here, unless `choose_model` is called for a provider whose key the user wants to use.
"""

import asyncio
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from urllib.parse import urlsplit

from aish.model.kept_files import KeptFile, find_kept_files
from aish.model.machine import Machine, available_memory, fits
from aish.model.served_models import (
    ANOTHER_USER,
    KOBOLDCPP,
    LLAMA_CPP,
    LM_STUDIO,
    OLLAMA,
    TOO_LARGE,
    UNTOLD,
    VLLM,
    best_first,
    list_names,
    served_models,
)
from aish.model.tokenizer import is_loopback
from aish.model.weights import Weights, chat_weights, find_here
from aish.storage.port_owner import is_trusted_port
from aish.values.named_tuple import NamedTuple
from aish.values.text import byte_size

_LOCAL_SECONDS = 1.0  # a server on this machine answers at once, or it is busy
_REMOTE_SECONDS = 8.0
_EMBEDDED = "embedded"  # the kind of preset for a file
NO_DISK = "it needs more room on the disk than is free"
_MOST_FILES, _LONGEST_PRESET = 12, 40


class FoundModel(NamedTuple):
    """A model that could be used: the name for its preset, whose it is, and how it is reached."""

    name: str
    title: str
    endpoint: str
    model: str
    models: tuple[str, ...] = ()  # all that the server lists
    api_key_env: str = ""  # the variable with the key; the key itself is never kept
    kind: str = "openai"  # of the preset
    path: str = ""  # a file, for an embedded model; without it, such a model is weights of the catalogue
    is_missing: bool = False  # weights that must be fetched first
    size: int = 0  # bytes of the weights; 0 if it is not known
    caution: str = ""  # why it is not used or offered unasked

    @property
    def about(self) -> str:
        """One line for people."""
        but = f"; {self.caution}" if self.caution not in ("", UNTOLD) else ""
        if self.api_key_env:
            return f"{self.title}: {self.model}, with the key in {self.api_key_env}"
        more = f"and {len(self.models) - 1} more" if len(self.models) > 1 else ""
        facts = ", ".join(fact for fact in (byte_size(self.size) if self.size else "", more) if fact)
        what = f"{self.model} ({facts})" if facts else self.model
        if self.is_weights:
            return f"{'can be fetched' if self.is_missing else 'installed'}: {what}{but}"
        if self.path:
            return f"{self.title} keeps {what} on this machine{but}"
        return f"{self.title} on this machine: {what}{but}"

    @property
    def is_server(self) -> bool:
        """Return whether a server on this machine has it."""
        return bool(self.endpoint) and not self.api_key_env

    @property
    def is_weights(self) -> bool:
        """Return whether these are weights of the catalogue."""
        return self.kind == _EMBEDDED and not self.path

    @property
    def preset(self) -> str:
        """Return the name of the preset: weights of the catalogue belong to that of the embedded model."""
        return _EMBEDDED if self.is_weights else self.name

    def with_model(self, model: str) -> "FoundModel":
        return self if model == self.model else self._replace(model=model, size=0, caution="")


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
    (OLLAMA, "Ollama", 11434),
    (LLAMA_CPP, "llama.cpp", 8080),
    (LM_STUDIO, "LM Studio", 1234),
    (VLLM, "vLLM", 8000),
    (KOBOLDCPP, "KoboldCpp", 5001),
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


def find_weights(machine: Machine, directories: Sequence[Path]) -> list[FoundModel]:
    """Return the weights of the catalogue that chat: those that are installed first, each time the largest first."""
    found = [_of_weights(one, machine, is_missing=not find_here(one, directories)) for one in chat_weights()]
    return sorted(found, key=lambda one: one.is_missing)


def _of_weights(weights: Weights, machine: Machine, *, is_missing: bool) -> FoundModel:
    caution = (
        TOO_LARGE if machine.memory < weights.memory else NO_DISK if is_missing and machine.disk < weights.disk else ""
    )
    return FoundModel(
        weights.name,
        "aish",
        "",
        weights.name,
        kind=_EMBEDDED,
        is_missing=is_missing,
        size=weights.size,
        caution=caution,
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
    """Return the model servers that answer on this machine, without those in `known`, each with its best model.

    It takes at most a second.
    """
    wanted = [place for place in _places(env) if place[2] not in known]
    memory = available_memory()
    found = await asyncio.gather(*(find_at(*place, memory) for place in wanted))
    return [one for one in found if one]


async def find_at(
    name: str, title: str, endpoint: str, memory: int, seconds: float = _LOCAL_SECONDS
) -> FoundModel | None:
    """Return the best model of the server at an endpoint; None if there is no server, or none of its models chats."""
    models = best_first(await served_models(name, endpoint, seconds, memory), memory)
    if not models:
        return None
    best, names = models[0], tuple(one.name for one in models)
    foreign = "" if is_trusted_port(urlsplit(endpoint).port or 80) else ANOTHER_USER
    return FoundModel(name, title, endpoint, best.name, names, size=best.size, caution=foreign or best.caution(memory))


def find_files(env: Mapping[str, str], home: Path, known: Set[str] = frozenset()) -> list[FoundModel]:
    """Return the files that other programs keep, without those in `known`: what memory has room for comes first."""
    memory = available_memory()
    found = [_of_file(one, memory) for one in find_kept_files(env, home) if str(one.path) not in known]
    return sorted(found, key=lambda one: (bool(one.caution), one.size if one.caution else -one.size))[:_MOST_FILES]


def _of_file(one: KeptFile, memory: int) -> FoundModel:
    name = re.sub(r"[^a-z0-9]+", "-", one.name.lower()).strip("-")[:_LONGEST_PRESET].strip("-") or _EMBEDDED
    caution = "" if fits(one.size, memory) else TOO_LARGE
    return FoundModel(
        name, one.keeper, "", one.name, kind=_EMBEDDED, path=str(one.path), size=one.size, caution=caution
    )


def _places(env: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Yield name, title and endpoint of the usual servers. Ollama's may be at another port."""
    for name, title, port in _LOCAL:
        yield name, title, _ollama_endpoint(env, port) if name == OLLAMA else f"http://127.0.0.1:{port}/v1"


def _ollama_endpoint(env: Mapping[str, str], port: int) -> str:
    usual, host = f"http://127.0.0.1:{port}/v1", env.get("OLLAMA_HOST", "").strip()
    if not host:
        return usual
    try:
        parts = urlsplit(host if "//" in host else f"//{host}")
        name = parts.hostname or "127.0.0.1"
        address = f"http://{f'[{name}]' if ':' in name else name}:{parts.port or port}/v1"
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
    listed = await list_names(provider.compatible or found.endpoint, _REMOTE_SECONDS, found.api_key_env)
    if not listed:
        return found, f"{found.title} could not be asked for its models; aish doctor checks it"
    listed = [model.removeprefix("models/") for model in listed]
    best = next((model for model in provider.models if model in listed), listed[0])
    return found._replace(model=best, models=tuple(listed)), ""
