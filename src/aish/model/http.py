"""One HTTP request at a time over asyncio, parsed by llhttp (httptools).

General HTTP clients take longer to import than the rest of the program, and add more latency to a streamed answer
than the network. A chat needs only a small part of HTTP/1.1.
"""

import asyncio
import base64
import os
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import httptools

from aish.values.patterns import pattern

_LOOPBACK = pattern(r"localhost|::1|127(\.\d{1,3}){3}")
_READ = 1 << 16
_WHOLE_BUFFER = 1 << 20  # larger than the buffer of a StreamReader
MAX_BODY = 8 << 20  # for bodies and parts that are read whole


class HttpTrouble(Exception):
    """The request failed. `refused` means that no server accepted it, so it is safe to retry."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


class Patience(NamedTuple):
    """Timeouts in seconds: for the connection, for the first bytes of a response, between later bytes."""

    connect: float = 10.0
    first: float = 180.0
    silence: float = 60.0


class HttpResponse:
    """A response that is still arriving. Use it with `async with`, which closes the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: Patience) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._head_done = False
        self._ended = False
        self.status = 0
        self.headers: dict[str, str] = {}

    async def __aenter__(self) -> "HttpResponse":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()  # a graceful close would delay the prompt

    # Called by the parser
    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._head_done = self.status >= 200  # 1xx responses are only interim

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._ended = self._head_done

    async def head(self) -> None:
        """Wait for the status line and the headers."""
        while not self._head_done:
            await self._feed(self._patience.first)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives, one piece per read."""
        patience = self._patience.first
        while True:
            if self._body:
                yield b"".join(self._body)
                self._body.clear()
                patience = self._patience.silence
            if self._ended:
                return
            await self._feed(patience)

    async def whole(self) -> bytes:
        """Return the whole body, up to `MAX_BODY`."""
        parts: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            parts.append(piece)
            size += len(piece)
            if size > MAX_BODY:
                raise HttpTrouble("the server's response is larger than 8 MB")
        return b"".join(parts)

    async def _feed(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                data = await self._reader.read(_READ)
        except TimeoutError:
            raise HttpTrouble(f"the server sent nothing for {seconds:g} s") from None
        except OSError as error:
            raise HttpTrouble(f"the connection failed: {error}") from None
        if not data:
            if self._head_done and "content-length" not in self.headers and "transfer-encoding" not in self.headers:
                self._ended = True
                return
            raise HttpTrouble("the server closed the connection")
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            raise HttpTrouble("the server's response is not HTTP") from None


async def send(
    method: str, url: str, headers: Mapping[str, str], body: bytes, patience: Patience, *, proxy: str | None = None
) -> HttpResponse:
    """Send one request and wait for the head of the response. Raises `HttpTrouble`."""
    target = _split(url)
    if proxy is None:
        proxy = proxy_for(target, os.environ)
    hop = _split(proxy) if proxy else target
    reader, writer = await _connect(target, hop, patience)
    reply = HttpResponse(reader, writer, patience)
    try:
        path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        if proxy and target.scheme == "http":
            path = f"http://{_host(target)}{path}"
        fields = {
            "Host": _host(target),
            "Content-Length": str(len(body)),
            "Connection": "close",
            **(_login(hop) if proxy and target.scheme == "http" else {}),
            **headers,
        }
        head = "".join(f"{name}: {_plain(value)}\r\n" for name, value in fields.items())
        writer.write(f"{method} {_plain(path)} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace") + body)
        await reply.head()
    except BaseException:  # close the socket on cancellation too
        writer.transport.abort()
        raise
    return reply


async def _connect(
    target: SplitResult, hop: SplitResult, patience: Patience
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = f"{hop.hostname}:{_port(hop)}"
    tls = ssl.create_default_context() if hop.scheme == "https" else None
    try:
        async with asyncio.timeout(patience.connect):
            reader, writer = await asyncio.open_connection(hop.hostname, _port(hop), ssl=tls)
            if hop is not target and target.scheme == "https":
                try:
                    await _tunnel(reader, writer, target, hop)
                except BaseException:  # close the socket on cancellation too
                    writer.transport.abort()
                    raise
    except TimeoutError:
        raise HttpTrouble(f"cannot connect to {where} within {patience.connect:g} s", refused=True) from None
    except ssl.SSLError as error:
        raise HttpTrouble(f"TLS connection to {where} failed: {error.reason or error}") from None
    except OSError as error:
        raise HttpTrouble(f"cannot connect to {where}: {_reason(error)}", refused=True) from None
    except ValueError:  # raised by getaddrinfo for an invalid name
        raise HttpTrouble(f"{hop.hostname!r} is not a valid host name") from None
    return reader, writer


async def _tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: SplitResult, hop: SplitResult
) -> None:
    name = f"[{target.hostname}]" if ":" in (target.hostname or "") else target.hostname
    address = f"{name}:{_port(target)}"
    secret = "".join(f"{name}: {value}\r\n" for name, value in _login(hop).items())
    writer.write(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n{secret}\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        data = await reader.read(_WHOLE_BUFFER)
        if not data or len(head) > _READ:
            raise OSError(f"the proxy {hop.hostname} does not answer")
        head += data
    status = head.split(b"\r\n", 1)[0].decode("latin-1")
    if " 200" not in status:
        raise OSError(f"the proxy {hop.hostname} refused: {status}")
    if not head.endswith(b"\r\n\r\n"):  # leftover bytes would be read as the server's response
        raise OSError(f"the proxy {hop.hostname} sent data before the TLS connection was open")
    await writer.start_tls(ssl.create_default_context(), server_hostname=target.hostname)


def proxy_for(target: SplitResult, env: Mapping[str, str]) -> str:
    """Return the proxy set in the environment, if any. Loopback addresses never use one."""
    host = target.hostname or ""
    if is_this_machine(host):
        return ""
    for name in (f"{target.scheme}_proxy", "all_proxy"):
        proxy = env.get(name) or env.get(name.upper()) or ""
        if proxy:
            skipped = [
                part.strip().lstrip(".").lower()
                for part in (env.get("no_proxy") or env.get("NO_PROXY") or "").split(",")
            ]
            if any(part and (part == "*" or host == part or host.endswith(f".{part}")) for part in skipped):
                return ""
            return proxy if "://" in proxy else f"http://{proxy}"
    return ""


def is_this_machine(host: str) -> bool:
    """Is this a loopback host? `127.0.0.1.example` is not."""
    return bool(_LOOPBACK.fullmatch(host))


def _split(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        address.port  # noqa: B018  # raises for an invalid port
        host = address.hostname or ""
        if not host.isascii() or not all(0 < len(label) < 64 for label in host.split(".")):
            host.encode("idna")  # raises for an invalid name; its tables take 3 ms to load
    except ValueError as error:
        raise HttpTrouble(f"{_public(url)!r} is not an http(s) address: {error}") from None
    if address.scheme not in ("http", "https") or not address.hostname:
        raise HttpTrouble(f"{_public(url)!r} is not an http(s) address")
    return address


def _public(url: str) -> str:
    """Return an address without its login: error messages are shown and stored."""
    return re.sub(r"//.*@", "//", url, flags=re.DOTALL)


def _host(address: SplitResult) -> str:
    return address.netloc.rpartition("@")[2]


def _login(hop: SplitResult) -> dict[str, str]:
    if not hop.username:
        return {}
    login = f"{unquote(hop.username)}:{unquote(hop.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


def _port(address: SplitResult) -> int:
    return address.port or (443 if address.scheme == "https" else 80)


def _plain(value: str) -> str:
    """Remove newlines from a header value or path, to prevent header injection."""
    return value.replace("\r", "").replace("\n", "")


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error) or type(error).__name__
