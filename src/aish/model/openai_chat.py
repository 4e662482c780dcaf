"""A model behind an OpenAI-compatible server: llama.cpp, Ollama, OpenRouter, OpenAI and the rest."""

from typing import Any

from aish.model.addresses import api_root
from aish.model.chunks import read_chunk, trouble_of
from aish.model.streamed_api import FindKey, StreamedApi, no_key
from aish.values.events import ChatRequest, Finished, ModelEvent

__all__ = ["FindKey", "OpenAIChat", "no_key"]


class OpenAIChat(StreamedApi):
    """Streams answers from the chat API, `/chat/completions`."""

    def __init__(self, *, endpoint: str, **options: Any) -> None:
        super().__init__(endpoint=api_root(endpoint), **options)
        self._asks_usage = True  # until the server rejects the option

    def url(self) -> str:
        return f"{self.endpoint}/chat/completions"

    def body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "messages": request.messages, "stream": True}
        if self._asks_usage:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = request.tools
        if request.grammar:
            body["grammar"] = request.grammar
        if request.stop:
            body["stop"] = request.stop
        if request.max_tokens:
            body["max_tokens"] = request.max_tokens
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return body

    def reader(self) -> "ChatReader":
        return ChatReader()

    def gives_up(self, status: int, body: bytes) -> bool:
        asked = self._asks_usage and trouble_of(status, body) == "options"
        self._asks_usage = self._asks_usage and not asked
        return asked


class ChatReader:
    """Reads the chunks of the chat API."""

    def __init__(self) -> None:
        self.ended = False

    def read(self, data: bytes) -> list[ModelEvent]:
        if data == b"[DONE]":
            self.ended = True
            return [Finished()]
        return read_chunk(data)
