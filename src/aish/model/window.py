"""The context windows of models: told by the server, by the settings or by a table, and remembered.

A server is asked at the first question, once for each model. Its answer is believed for a week. Servers of your own
may be started again with another window, so they are asked again in each run, while their first answer arrives.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from aish.model.addresses import server_root
from aish.model.backend import Backend
from aish.model.http import HttpTrouble
from aish.model.known_windows import known_window
from aish.model.model_cards import ModelCards
from aish.model.tokenizer import Server, fetch_json
from aish.values.errors import AishError
from aish.values.named_tuple import NamedTuple

_MOST = 1 << 30  # tokens; a larger window is a mistake
_PAUSE = 30.0  # seconds before a server that did not answer is asked again


class ContextWindow(NamedTuple):
    """A window in tokens, 0 if nobody tells. One that is not `settled` is asked for again."""

    tokens: int = 0
    settled: bool = True


class ContextWindows:
    """The window of each model of this program."""

    def __init__(self, cards: ModelCards, clock: Callable[[], float] = time.monotonic) -> None:
        self._cards, self._clock = cards, clock
        self._known: dict[str, ContextWindow] = {}
        self._ask_again: dict[str, float] = {}
        self._remembered: set[str] = set()  # windows of own servers that are from an earlier run
        self._refreshing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Stop asking."""
        for task in self._refreshing:
            task.cancel()
        await self.wait()

    async def wait(self) -> None:
        """Wait for the answers of servers that are being asked again."""
        await asyncio.gather(*self._refreshing, return_exceptions=True)

    def expected(self, backend: Backend) -> int:
        """Return the window as far as it is known without asking; 0 if it is not."""
        if backend.window or not backend.server:
            return backend.window
        known = self._known.get(backend.identity)
        return (known.tokens if known else 0) or self._cards.of(backend.identity).window_tokens

    def was_asked(self, backend: Backend) -> bool:
        """Return whether the server has answered; one that could not be reached has told nothing."""
        known = self._known.get(backend.identity)
        return known is not None and known.settled

    @property
    def some_known(self) -> bool:
        return bool(self._known)

    async def of(self, backend: Backend) -> int:
        """Return the window, and ask the server for it if it must be; 0 if nobody tells."""
        if backend.window or not backend.server:
            self._known.setdefault(backend.identity, ContextWindow(backend.window))
            return backend.window
        known = self._known.get(backend.identity)
        if known and (known.settled or self._clock() < self._ask_again.get(backend.identity, 0.0)):
            return known.tokens
        own, remembered = is_own_server(backend.endpoint), self._cards.fresh_window(backend.identity)
        if known is None and (remembered or (own and remembered is not None)):
            window = ContextWindow(remembered)
            self._remembered |= {backend.identity} if own else set()
        else:
            window = await self._ask(backend)
        self._known[backend.identity] = window
        return window.tokens

    def refresh(self, backend: Backend) -> None:
        """Ask a server again whose window is from an earlier run. Called when it has begun to answer."""
        if backend.identity in self._remembered:
            self._remembered.discard(backend.identity)
            task = asyncio.create_task(self._refresh(backend))
            self._refreshing.add(task)
            task.add_done_callback(self._refreshing.discard)

    async def _refresh(self, backend: Backend) -> None:
        window = await self._ask(backend)
        if window.tokens or window.settled:
            self._known[backend.identity] = window

    async def _ask(self, backend: Backend) -> ContextWindow:
        assert backend.server
        try:
            window = await ask_for_window(await backend.server(), backend.model_name)
        except AishError:  # the server cannot be started; the question will fail with the reason
            window = ContextWindow(settled=False)
        if window.tokens or window.settled:
            self._cards.saw_window(backend.identity, window.tokens)
        if window.tokens:
            return window
        if not window.settled:
            self._ask_again[backend.identity] = self._clock() + _PAUSE
        known = known_window(backend.model_name) if not is_own_server(backend.endpoint) else 0
        return window._replace(tokens=self._cards.of(backend.identity).window_tokens or known)


def is_own_server(endpoint: str) -> bool:
    """Return whether a server is one of your own, as far as its address tells: it is spoken to without TLS."""
    try:
        return urlsplit(endpoint).scheme != "https"
    except ValueError:
        return True


async def find_window(server: Server, model: str, seconds: float = 2.0) -> int | None:
    """Return the context window if the server reports it."""
    return (await ask_for_window(server, model, seconds)).tokens or None


async def ask_for_window(server: Server, model: str, seconds: float = 2.0) -> ContextWindow:
    """Ask a server for the window: `/props` of llama.cpp, `/v1/models`, and what LM Studio and Ollama have.

    All are asked at the same time, and the first in this order that tells the window is believed.
    """
    questions = _QUESTIONS if is_own_server(server.endpoint) else _QUESTIONS[:2]
    asking: list[asyncio.Task[Mapping[str, Any]]] = []
    try:
        await server.key()  # once, because a command may print it
        asking += [asyncio.create_task(_get(server, path, seconds)) for path, _ in questions]
        for task, (_, pick) in zip(asking, questions, strict=True):
            window = pick(await task, model)
            if window is not None:
                if not window.tokens and pick is _of_running:
                    return await _when_loaded(server, model, seconds)
                return window
    except (TimeoutError, HttpTrouble, AishError):
        return ContextWindow(settled=False)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return ContextWindow()


async def _get(server: Server, path: str, seconds: float, body: bytes = b"") -> Mapping[str, Any]:
    """Return the answer, which is empty if the server does not know the path."""
    async with asyncio.timeout(seconds):
        url = server_root(server.endpoint) + path
        status, answer = await fetch_json("POST" if body else "GET", url, server.key, body, server.reach)
    return answer if status == 200 and isinstance(answer, dict) else {}


def _of_props(answer: Mapping[str, Any], _: str) -> ContextWindow | None:
    settings = answer.get("default_generation_settings")
    size = _positive(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return ContextWindow(size) if size else None


def _of_models(answer: Mapping[str, Any], model: str) -> ContextWindow | None:
    entry = _entry(answer.get("data"), "id", model)
    meta = entry.get("meta")
    names = ("max_model_len", "context_length", "context_window", "max_context_length")
    told = [entry.get(name) for name in names]
    told += [meta.get("n_ctx")] if isinstance(meta, dict) else []
    size = next((size for value in told if (size := _positive(value))), None)
    return ContextWindow(size) if size else None


def _of_lm_studio(answer: Mapping[str, Any], model: str) -> ContextWindow | None:
    """Return the window with which the model is loaded; LM Studio loads it at the first question."""
    entry = _entry(answer.get("data"), "id", model)
    size = _positive(entry.get("loaded_context_length"))
    return ContextWindow(size) if size else ContextWindow(settled=False) if "max_context_length" in entry else None


def _of_running(answer: Mapping[str, Any], model: str) -> ContextWindow | None:
    """Return the window with which Ollama runs the model; its largest window is rarely used."""
    running = answer.get("models")
    if not isinstance(running, list):
        return None  # not Ollama
    sizes = (_entry(running, "model", name).get("context_length") for name in (model, f"{model}:latest"))
    size = next((size for value in sizes if (size := _positive(value))), 0)
    return ContextWindow(size, settled=bool(size))


_Pick = Callable[[Mapping[str, Any], str], ContextWindow | None]
_QUESTIONS: tuple[tuple[str, _Pick], ...] = (
    ("/props", _of_props),
    ("/v1/models", _of_models),
    ("/api/v0/models", _of_lm_studio),
    ("/api/ps", _of_running),
)


async def _when_loaded(server: Server, model: str, seconds: float) -> ContextWindow:
    """Ask Ollama how a model will be loaded that does not run yet."""
    shown = await _get(server, "/api/show", seconds, json.dumps({"model": model}).encode())
    set_in_file = re.search(r"(?m)^\s*num_ctx\s+(\d{3,9})\s*$", str(shown.get("parameters", "")))
    return ContextWindow(int(set_in_file[1]) if set_in_file else 0, settled=False)


def _entry(listed: object, key: str, name: str) -> Mapping[str, Any]:
    entries = listed if isinstance(listed, list) else []
    return next((entry for entry in entries if isinstance(entry, dict) and entry.get(key) == name), {})


def _positive(value: object) -> int | None:
    return value if type(value) is int and 0 < value < _MOST else None
