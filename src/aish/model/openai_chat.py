"""A model behind an OpenAI-compatible server: llama.cpp, Ollama, OpenRouter, OpenAI and the rest."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

from aish.model.addresses import api_root
from aish.model.chunks import error_text, read_chunk, trouble_of
from aish.model.http import MAX_BODY, HttpResponse, HttpTrouble, Patience, send
from aish.model.sse import SseReader
from aish.model.thinking import ThoughtSplitter
from aish.values.errors import AishError
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, Usage

FindKey = Callable[[], Awaitable[str]]
_BUSY = (408, 429, 500, 502, 503, 504, 529)
_LONGEST_WAIT = 30.0


async def no_key() -> str:
    return ""


class OpenAIChat:
    """Streams answers from one model of one server."""

    def __init__(
        self,
        *,
        endpoint: str,
        model: str,
        key: FindKey = no_key,
        patience: Patience | None = None,
        retries: int = 3,
        temperature: float | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoint = api_root(endpoint)
        self._model = model
        self._key = key
        self._patience = patience or Patience()
        self._retries = retries
        self._temperature = temperature
        self._sleep = sleep
        self._asks_usage = True  # until the server rejects the option
        self._holds = False  # the last answer closed its thinking without opening it

    async def close(self) -> None:
        """Do nothing: no connection stays open between answers."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        try:
            opened = await self._open(request)
        except AishError as error:  # no key
            yield Failed(str(error), "refused")
            return
        if isinstance(opened, Failed):
            yield opened
            return
        split = ThoughtSplitter(holds=self._holds)
        async with opened as reply:
            try:
                async with aclosing(_events(reply)) as events:
                    async for event in events:
                        for one in split_thoughts(split, event):
                            yield one
            except HttpTrouble as error:
                for one in split_thoughts(split, Failed(f"the answer is incomplete: {error}")):
                    yield one
        self._holds = split.unopened

    async def _open(self, request: ChatRequest) -> HttpResponse | Failed:
        """Return a streaming response, or the failure. Retries only while the server cannot have generated a token."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        key = await self._key()
        if key:
            headers["Authorization"] = f"Bearer {key}"
        attempt = 0
        while True:
            retry = attempt < self._retries
            try:
                reply = await send(
                    "POST", f"{self.endpoint}/chat/completions", headers, self._body(request), self._patience
                )
            except HttpTrouble as error:
                if error.refused and retry:
                    await self._sleep(_pause(attempt))
                    attempt += 1
                    continue
                return Failed(str(error), "unreachable")
            if reply.status == 200:
                return reply
            async with reply:
                try:
                    body = await reply.whole()
                except HttpTrouble:
                    body = b""
            trouble = trouble_of(reply.status, body)
            if trouble == "options" and self._asks_usage:
                self._asks_usage = False
            elif trouble == "refused" and reply.status in _BUSY and retry:
                await self._sleep(_pause(attempt, reply.headers.get("retry-after", "")))
                attempt += 1
            else:
                lasting = "unreachable" if reply.status in _BUSY and trouble == "refused" else trouble
                return Failed(_refusal(reply.status, body), lasting)

    def _body(self, request: ChatRequest) -> bytes:
        body: dict[str, Any] = {"model": self._model, "messages": request.messages, "stream": True}
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
        if self._temperature is not None:
            body["temperature"] = self._temperature
        return json.dumps(body).encode()


def split_thoughts(split: ThoughtSplitter, event: ModelEvent) -> Sequence[ModelEvent]:
    """Return an event with the thinking in its text told apart; what was held back comes before the end."""
    match event:
        case TextPiece(text):
            return split.feed(text)
        case Finished() | Failed():
            return [*split.end(), event]
    return [event]


async def _events(reply: HttpResponse) -> AsyncGenerator[ModelEvent]:
    """Yield the events of one response. It is complete if the server sent a finish reason."""
    finished: Finished | None = None
    try:
        async with aclosing(_chunks(reply)) as batches:
            async for batch in batches:
                for event in merged(batch):
                    if isinstance(event, Finished):
                        finished = finished or event  # usage comes after it
                        continue
                    yield event
                    if isinstance(event, Failed):
                        return
    except HttpTrouble:
        if finished is None:
            raise
    yield finished or Failed("the server ended the answer without a finish reason")


async def _chunks(reply: HttpResponse) -> AsyncGenerator[list[bytes]]:
    """Yield the chunks of an answer, one batch per read."""
    if "json" in reply.headers.get("content-type", ""):
        yield [await reply.whole()]  # some servers ignore `stream` and answer in one piece
        return
    reader = SseReader()
    async with aclosing(reply.pieces()) as pieces:
        async for piece in pieces:
            chunks = reader.feed(piece)
            if reader.buffered > MAX_BODY:
                raise HttpTrouble("one event of the server's answer is larger than 8 MB")
            yield chunks
            if b"[DONE]" in chunks:  # some servers keep the connection open after it
                return
    yield reader.end()


def merged(chunks: list[bytes]) -> list[ModelEvent]:
    """Return the events of the chunks of one read, with adjacent text merged so that it is shown at once."""
    events: list[ModelEvent] = []
    for chunk in chunks:
        for event in [Finished()] if chunk == b"[DONE]" else read_chunk(chunk):
            last = events[-1] if events else None
            if isinstance(event, TextPiece) and isinstance(last, TextPiece):
                events[-1] = TextPiece(last.text + event.text)
            elif isinstance(event, ReasoningPiece) and isinstance(last, ReasoningPiece):
                events[-1] = ReasoningPiece(last.text + event.text)
            elif isinstance(event, Usage) and isinstance(last, Usage):
                events[-1] = event  # some servers send a running total in every chunk
            else:
                events.append(event)
    return events


def _pause(attempt: int, retry_after: str = "") -> float:
    """Return the delay before a retry: the server's Retry-After, else exponential back-off with jitter."""
    if retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_WAIT)
    longest: float = min(0.25 * 2**attempt, _LONGEST_WAIT)
    return longest * (0.5 + os.urandom(1)[0] / 510)


def _refusal(status: int, body: bytes) -> str:
    said = error_text(body)
    match status:
        case 401 | 403:
            return f"the server refused the key ({status}: {said}); check api_key_env, api_key_file or api_key_command"
        case 404:
            return f"the server does not know this model or address ({said}); check endpoint and model"
        case 429:
            return f"the server's rate limit is reached (429: {said}); wait, or choose another model with :model"
    return f"the server answered {status}: {said}"
