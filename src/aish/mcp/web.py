"""The transport to a server over streamable HTTP, with a limit on the size of each response."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from aish.mcp.stdio import LARGEST_MESSAGE, Flow

if TYPE_CHECKING:  # a private name, for types only
    from mcp.client._transport import TransportStreams


_PLAIN = "identity"  # the name of no compression


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of a response. If it is too long or too fast, it ends with an error, and so does the connection."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, flow: Flow, ended: Callable[[str], None]) -> None:
        self._stream, self._limit, self._flow, self._ended = stream, limit, flow, ended

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for data in self._stream:
            size += len(data)
            wrong = self._flow.take(len(data), data.count(b"\n"))
            if self._limit and size > self._limit:
                wrong = f"it sent an answer of more than {self._limit >> 20} MB"
            if wrong:
                self._ended(wrong)
                raise httpx2.ReadError(wrong)
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Limits every response, and takes none that is compressed. A stream of events may be longer than one message."""

    def __init__(self, flow: Flow, ended: Callable[[str], None]) -> None:
        super().__init__()
        self._flow, self._ended = flow, ended

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", _PLAIN).strip().lower() != _PLAIN:
            wrong = "it sent a compressed answer, which could be of any size"
            await response.aclose()
            self._ended(wrong)
            raise httpx2.ReadError(wrong)
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        limit = 0 if events else LARGEST_MESSAGE  # events come for hours; the flow limits how many at a time
        response.stream = _LimitedStream(response.stream, limit, self._flow, self._ended)
        return response


@asynccontextmanager
async def web_transport(
    url: str, headers: Mapping[str, str], flow: Flow, ended: Callable[[str], None], connect_seconds: float
) -> AsyncGenerator["TransportStreams"]:
    """Exchange messages with the server at this address. Redirects are not followed."""
    timeout = httpx2.Timeout(connect_seconds, read=None)  # the connection has its own limit for each call
    # the environment may hold a proxy and a netrc file with passwords: what goes to a server is in the settings only
    async with (
        httpx2.AsyncClient(
            headers={"Accept-Encoding": _PLAIN, **headers},
            timeout=timeout,
            transport=_LimitedTransport(flow, ended),
            trust_env=False,
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as streams,
    ):
        yield streams
