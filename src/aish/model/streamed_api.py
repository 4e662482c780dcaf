"""What all chat APIs have in common: one request, retries, events as they arrive, and what a refusal means.

An adapter is a subclass that knows the addresses of its API, and the JSON of requests and answers.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from aish.model.chunks import error_text, trouble_of
from aish.model.http import MAX_BODY, HttpResponse, HttpTrouble, Patience, send
from aish.model.sse import SseReader
from aish.model.thinking import ThoughtSplitter
from aish.values.errors import AishError
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, Usage

FindKey = Callable[[], Awaitable[str]]
_BUSY = (408, 429, 500, 502, 503, 504, 529)
_LONGEST_WAIT = 30.0
_EVENT_LINE = rb"\s*(?:data|event|id|retry)?:"
_TOO_LONG = (  # compiled on first use
    r"(?i)context.{0,3}length.{0,3}exceeded|prompt is too long|prompt too long|maximum context length"
    r"|exceeds? the (?:available )?context|input token count.{0,40}exceeds|too many (?:input )?tokens"
)


async def no_key() -> str:
    return ""


class ChunkReader(Protocol):
    """Reads the events of one answer. `ended`: nothing more comes, though the connection may stay open."""

    ended: bool

    def read(self, data: bytes) -> list[ModelEvent]: ...


class StreamedApi:
    """Streams answers from one model of one service."""

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
        self.endpoint = endpoint
        self.model = model
        self.temperature = temperature
        self._key = key
        self._patience = patience or Patience()
        self._retries = retries
        self._sleep = sleep
        self._holds = False  # the last answer closed its thinking without opening it

    # What an adapter says

    def url(self) -> str:
        """Return the address for questions."""
        raise NotImplementedError

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that the API wants; the key is empty if there is none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the request as the API wants it."""
        raise NotImplementedError

    def reader(self) -> ChunkReader:
        """Return what reads the next answer."""
        raise NotImplementedError

    def gives_up(self, status: int, body: bytes) -> bool:
        """Give up an option that the server refused, and return whether there was one; then it is asked again."""
        return False

    def listing(self) -> str:
        """Return the address of the list of models."""
        return f"{self.endpoint}/models"

    def names(self, listed: Any) -> list[str]:
        """Return the names of the models in the listing of the service."""
        entries = listed.get("data") if isinstance(listed, dict) else None
        found = entries if isinstance(entries, list) else []
        return [str(one["id"]) for one in found if isinstance(one, dict) and one.get("id")]

    # What all have in common

    async def close(self) -> None:
        """Do nothing: no connection stays open between answers."""

    async def models(self) -> tuple[int, list[str]]:
        """Return the status of the listing of models, and their names. Raises `HttpTrouble`."""
        reply = await send("GET", self.listing(), self.headers(await self._key()), b"", self._patience)
        async with reply:
            body = await reply.whole()
        try:
            return reply.status, self.names(json.loads(body)) if reply.status == 200 else []
        except (ValueError, RecursionError):
            return reply.status, []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        try:
            opened = await self._open(request)
        except AishError as error:  # no key
            yield Failed(str(error), "refused")
            return
        if isinstance(opened, Failed):
            yield opened
            return
        split, heard = ThoughtSplitter(holds=self._holds), False
        async with opened as reply:
            try:
                async with aclosing(_events(reply, self.reader())) as events:
                    async for event in events:
                        heard = True
                        for one in _split_thoughts(split, event):
                            yield one
            except HttpTrouble as error:
                for one in _split_thoughts(
                    split, Failed(f"the answer is incomplete: {error}" if heard else str(error))
                ):
                    yield one
        self._holds = split.unopened

    async def _open(self, request: ChatRequest) -> HttpResponse | Failed:
        """Return a streaming response, or the failure. Retries only while the server cannot have generated a token."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        headers |= self.headers(await self._key())
        attempt = 0
        while True:
            retry = attempt < self._retries
            try:
                body = json.dumps(self.body(request)).encode()
                reply = await send("POST", self.url(), headers, body, self._patience)
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
                    said = await reply.whole()
                except HttpTrouble:
                    said = b""
            trouble = trouble_of(reply.status, said)
            if self.gives_up(reply.status, said):
                continue
            if trouble == "refused" and reply.status in _BUSY and retry:
                await self._sleep(_pause(attempt, reply.headers.get("retry-after", ""), said))
                attempt += 1
            else:
                lasting = "unreachable" if reply.status in _BUSY and trouble == "refused" else trouble
                return Failed(_refusal(reply.status, said), lasting)


def _split_thoughts(split: ThoughtSplitter, event: ModelEvent) -> Sequence[ModelEvent]:
    """Return an event with the thinking in its text told apart; what was held back comes before the end."""
    match event:
        case TextPiece(text):
            return split.feed(text)
        case Finished() | Failed():
            return [*split.end(), event]
    return [event]


async def _events(reply: HttpResponse, reader: ChunkReader) -> AsyncGenerator[ModelEvent]:
    """Yield the events of one response. It is complete if the server sent a finish reason."""
    finished: Finished | None = None
    try:
        async with aclosing(_chunks(reply, reader)) as batches:
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
    yield finished or Failed("the server ended the answer without a finish reason; ask again, or check the endpoint")


async def _chunks(reply: HttpResponse, reader: ChunkReader) -> AsyncGenerator[list[ModelEvent]]:
    """Yield the events of an answer, one batch per read."""
    lines, whole = SseReader(), b"" if "json" in reply.headers.get("content-type", "") else None
    async with aclosing(reply.pieces()) as pieces:
        async for piece in pieces:
            if whole is not None:  # some servers ignore that we want a stream, others call one JSON
                piece = whole = whole + piece
                if not re.match(_EVENT_LINE, whole):
                    if len(whole) > MAX_BODY:
                        raise HttpTrouble("the server's response is larger than 8 MB")
                    continue
                whole = None
            chunks = lines.feed(piece)
            if lines.buffered > MAX_BODY:
                raise HttpTrouble("one event of the server's answer is larger than 8 MB")
            yield [event for chunk in chunks for event in reader.read(chunk)]
            if reader.ended:  # some servers keep the connection open after it
                return
    if whole is not None:
        yield reader.read(whole)
        return
    yield [event for chunk in lines.end() for event in reader.read(chunk)]


def call_input(arguments: str) -> dict[str, Any]:
    """Return the arguments of an earlier call as an object, also if an import or a mask left none."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else {"arguments": arguments}


def merged(given: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Return the events of one read, with adjacent text merged so that it is shown at once."""
    events: list[ModelEvent] = []
    for event in given:
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


def _pause(attempt: int, retry_after: str = "", said: bytes = b"") -> float:
    """Return the delay before a retry: what the server wants, else exponential back-off with jitter."""
    wanted = re.fullmatch(r"(\d+)", retry_after, re.ASCII) or re.search(
        r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"', said.decode("utf-8", "replace")
    )
    if wanted:
        return min(float(wanted[1]), _LONGEST_WAIT)
    longest: float = min(0.25 * 2**attempt, _LONGEST_WAIT)
    return longest * (0.5 + os.urandom(1)[0] / 510)


def _refusal(status: int, body: bytes) -> str:
    said = error_text(body)
    if status in (400, 413, 422) and (status == 413 or re.search(_TOO_LONG, said)):
        return f"the prompt is too long for this model ({status}: {said}); set the window of its preset, or use :new"
    if status == 400 and "HTTPS port" in said:
        return f"the server wants TLS ({said}); write https:// instead of http:// in the endpoint"
    if status == 400 and "SSL certificate" in said:
        return f"the server wants another client certificate ({said}); set client_cert and client_key of its preset"
    match status:
        case 401 | 403:
            return f"the server refused the key ({status}: {said}); check api_key_env, api_key_file or api_key_command"
        case 404:
            return f"the server does not know this model or address ({said}); check endpoint and model"
        case 429:
            return f"the server's rate limit is reached (429: {said}); wait, or choose another model with :model"
        case 529:
            return f"the server is overloaded ({said}); wait, or choose another model with :model"
    later = "; try again later, or choose another model with :model" if status >= 500 else ""
    return f"the server answered {status}: {said}{later}"
