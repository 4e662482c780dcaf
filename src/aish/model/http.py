"""One HTTP request at a time over asyncio, parsed by llhttp (httptools).

General HTTP clients take longer to import than the rest of the program, and add more latency to a streamed answer
than the network. A chat needs only a small part of HTTP/1.1. What most connections do not need (proxies, sockets in the
file system, certificates, compressed bodies) is in `detours.py`, which is loaded when it is needed.
"""

import asyncio
import os
import re
import ssl
from binascii import b2a_base64
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Protocol
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import httptools

from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

_READ = 1 << 16
_MOST_REDIRECTS = 5
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # Python itself knows SSL_CERT_FILE
MAX_BODY = 8 << 20  # for bodies and parts that are read whole
_MOST_HEAD = 1 << 18
_MOST_SHOWN = 200  # characters of an address in a message


class HttpTrouble(Exception):
    """The request failed. `refused` means that no server accepted it, so it is safe to retry."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


class Reach(NamedTuple):
    """What a server wants besides its address. `$NAME` and `${NAME}` in a header stand for variables of the user."""

    headers: Mapping[str, str] = MappingProxyType({})
    query: str = ""
    ca_file: str = ""
    client_cert: str = ""
    client_key: str = ""


class Patience(NamedTuple):
    """Timeouts in seconds: for the connection, for the first bytes of a response, between later bytes.

    `reach` is what else the settings say about connections to this server.
    """

    connect: float = 10.0
    first: float = 180.0
    silence: float = 60.0
    reach: Reach = Reach()


class Link(NamedTuple):
    """An open connection. A proxy may want the `origin` in front of the path, and headers of its own."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    origin: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    via: str = ""  # the proxy, in words
    refused_login: Callable[[str], str] | None = None  # says what a 407 means


class Decoder(Protocol):
    """Decodes a compressed body."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def ended(self) -> bool: ...


class Detours(Protocol):
    """What most connections do not need. All raise `HttpTrouble`."""

    async def connect(self, target: SplitResult, patience: Patience, proxy: str | None) -> Link: ...

    def tls_trouble(self, error: ssl.SSLError, where: str, host: str) -> HttpTrouble: ...

    def decoder(self, encoding: str) -> Decoder: ...

    def page_title(self, page: bytes) -> bytes: ...

    def not_http(self, data: bytes) -> str: ...


_load_detours: list[Callable[[], Detours]] = []


def provide_detours(load: Callable[[], Detours]) -> None:
    """Say how detours are loaded; done once, where the program is put together."""
    _load_detours[:] = [load]


def _detours() -> Detours:
    if not _load_detours:
        raise HttpTrouble("this part of aish was started without proxies and certificates")
    return _load_detours[0]()


class HttpResponse:
    """A response that is still arriving. Use it with `async with`, which closes the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: Patience) -> None:
        self._reader = reader
        self._writer = writer
        self._patience = patience
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._decoder: Decoder | None = None
        self._head_done = False
        self._head_size = 0  # bytes until now
        self._ended = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.via = ""  # the proxy on the way, in words
        self.speaks_for_proxy = False  # pages that report an error may be those of the proxy

    async def __aenter__(self) -> "HttpResponse":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
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
        """Wait for the status line and the headers; for all together as long as for the first bytes."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience.first
        while not self._head_done:
            await self._feed(max(deadline - clock(), 0.0))
        if self.headers.get("content-encoding", "identity") != "identity":
            self._decoder = _detours().decoder(self.headers["content-encoding"])

    @property
    def is_page(self) -> bool:
        """Is the body a page for people?"""
        return "html" in self.headers.get("content-type", "")

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives, one piece per read."""
        if self.is_page:
            raise HttpTrouble(f"the server sent a web page instead of an answer{self._way()}; check the endpoint")
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                yield piece

    async def _pieces(self) -> AsyncGenerator[bytes]:
        patience = self._patience.first
        while True:
            if self._body:
                data = b"".join(self._body)
                self._body.clear()
                for piece in self._decoder.feed(data) if self._decoder else (data,):
                    yield piece
                patience = self._patience.silence
            if self._ended:
                if self._decoder and not self._decoder.ended:
                    raise HttpTrouble("the server ended its compressed answer too early")
                return
            await self._feed(patience)

    async def whole(self) -> bytes:
        """Return the whole body, up to `MAX_BODY`; of a page that reports an error, only its title."""
        parts: list[bytes] = []
        size = 0
        try:
            async for piece in self._pieces():
                parts.append(piece)
                size += len(piece)
                if size > MAX_BODY:
                    raise HttpTrouble("the server's response is larger than 8 MB")
        except HttpTrouble:
            if self.status < 400:  # who refuses a request often hangs up before it has come
                raise
        body = b"".join(parts)
        if self.status < 400 or (body and not self.is_page):
            return body
        title = _detours().page_title(body) if body else b""
        return title + self._way().encode() if self.speaks_for_proxy else title

    def _way(self) -> str:
        return f" (by way of {self.via})" if self.via else ""

    async def _feed(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                data = await self._reader.read(_READ)
        except TimeoutError:
            raise HttpTrouble(self._too_late(seconds)) from None
        except ssl.SSLError as error:  # a server says only now that it wants a certificate
            raise _detours().tls_trouble(error, "the server", "") from None
        except OSError as error:
            wants_more = not self._head_done and self._writer.get_extra_info("ssl_object")
            hint = "; if it wants a client certificate, set client_cert of its preset" if wants_more else ""
            raise HttpTrouble(f"the connection failed: {reason(error)}{self._way()}{hint}") from None
        if not data:
            if self._head_done and "content-length" not in self.headers and "transfer-encoding" not in self.headers:
                self._ended = True
                return
            raise HttpTrouble(f"the server closed the connection{self._way()}; ask again, or look into its log")
        if not self._head_done:
            self._head_size += len(data)
            if self._head_size > _MOST_HEAD:  # headers, or interim responses, without end
                raise HttpTrouble(f"the head of the server's response{self._way()} is larger than 256 KB")
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            why = "" if self._head_done else _detours().not_http(data)
            why = why or "the server's response is not HTTP; check the port of the endpoint"
            what, _, remedy = why.partition("; ")
            raise HttpTrouble(f"{what}{self._way()}; {remedy}") from None

    def _too_late(self, seconds: float) -> str:
        setting = "silence_seconds" if self._head_done and seconds == self._patience.silence else "first_token_seconds"
        if self._head_size and not self._head_done:
            return f"the server took more than {self._patience.first:g} s for the head of its response{self._way()}"
        seconds = seconds if self._head_done else self._patience.first
        return f"the server sent nothing for {seconds:g} s{self._way()}; ask again, or raise network.{setting}"


async def send(
    method: str, url: str, headers: Mapping[str, str], body: bytes, patience: Patience, *, proxy: str | None = None
) -> HttpResponse:
    """Send one request and wait for the head of the response. Raises `HttpTrouble`.

    Redirects within the same host are followed with the same method and body. `proxy` is used instead of those of the
    environment; empty: none.
    """
    reach = patience.reach
    fields = _joined(headers, {name: _filled(name, value) for name, value in reach.headers.items()})
    target = _split(url)
    if reach.query:
        target = target._replace(query=f"{target.query}&{reach.query}".lstrip("&"))
    for _ in range(_MOST_REDIRECTS + 1):
        reply = await _send_once(method, target, fields, body, patience, proxy)
        moved = reply.headers.get("location") if reply.status in (301, 302, 303, 307, 308) else None
        if not moved:
            return reply
        reply.close()
        target = _redirected(target, moved)
    raise HttpTrouble(f"{public(url)} redirects again and again; set the endpoint to the address where it should end")


async def _send_once(
    method: str, target: SplitResult, headers: Mapping[str, str], body: bytes, patience: Patience, proxy: str | None
) -> HttpResponse:
    special = _is_special(target, patience.reach, proxy)
    link = await (_detours().connect(target, patience, proxy) if special else _connect(target, patience))
    reply = HttpResponse(link.reader, link.writer, patience)
    reply.via, reply.speaks_for_proxy = link.via, bool(link.origin)
    try:
        usual = {
            "Host": "localhost" if target.scheme == "unix" else target.netloc.rpartition("@")[2],
            "Content-Length": str(len(body)),
            "Connection": "close",
            **({"Authorization": _basic(target)} if target.username else {}),
            **link.headers,
        }
        head = "".join(f"{name}: {_plain(value)}\r\n" for name, value in _joined(usual, headers).items())
        path = f"{link.origin}{path_of(target)}"
        link.writer.write(f"{method} {_plain(path)} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace") + body)
        await reply.head()
        if reply.status == 407 and link.refused_login:
            raise HttpTrouble(link.refused_login(reply.headers.get("proxy-authenticate", "")))
        if reply.status == 401 and target.username and "Authorization" not in headers:
            raise HttpTrouble(f"the server refused the login of {target.username!r} (401); correct it in the endpoint")
    except BaseException:  # close the socket on cancellation too
        reply.close()
        raise
    return reply


def _is_special(target: SplitResult, reach: Reach, proxy: str | None) -> bool:
    """Is a detour needed? Not for most connections: no proxy is set, and the usual certificates are enough."""
    if target.scheme == "unix" or proxy:
        return True
    if proxy is None and any(map(os.environ.get, _PROXY_VARIABLES)) and not is_this_machine(target.hostname or ""):
        return True
    return target.scheme == "https" and bool(
        reach.ca_file or reach.client_cert or any(map(os.environ.get, CA_VARIABLES))
    )


async def _connect(target: SplitResult, patience: Patience) -> Link:
    """Connect straight to a server."""
    where = f"{target.hostname}:{port_of(target)}"
    try:
        async with asyncio.timeout(patience.connect):
            tls = _usual_tls() if target.scheme == "https" else None
            return Link(*await asyncio.open_connection(target.hostname, port_of(target), ssl=tls))
    except TimeoutError:
        raise HttpTrouble(f"cannot connect to {where} within {patience.connect:g} s", refused=True) from None
    except ssl.SSLError as error:
        raise _detours().tls_trouble(error, where, target.hostname or "") from None
    except OSError as error:
        raise HttpTrouble(f"cannot connect to {where}: {reason(error)}; {remedy(error)}", refused=True) from None
    except ValueError:  # raised by getaddrinfo for an invalid name
        raise HttpTrouble(f"{target.hostname!r} is not a valid host name") from None


_tls: list[ssl.SSLContext] = []


def _usual_tls() -> ssl.SSLContext:
    """Return the context for servers without settings of their own; it takes some milliseconds, so it is kept."""
    if not _tls:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])  # so that a server without it says so
        _tls.append(context)
    return _tls[0]


def _redirected(target: SplitResult, location: str) -> SplitResult:
    """Return where a redirect leads, if it may be followed: the key must not go to another server, or without TLS."""
    try:
        there = urljoin(target.geturl(), location)
    except ValueError as error:
        raise HttpTrouble(f"the server redirects to {public(location)!r}, which is no address: {error}") from None
    where = public(there)
    if target.scheme == "unix":
        raise HttpTrouble(f"the server redirects to {where}; if that is right, set the endpoint to it")
    goal = _split(there)
    if goal.hostname != target.hostname:
        raise HttpTrouble(f"the server redirects to another host, {where}; if that is right, set the endpoint to it")
    if target.scheme == "https" and goal.scheme != "https":
        raise HttpTrouble(f"the server redirects to {where}, without TLS; if that is right, set the endpoint to it")
    if goal.scheme == target.scheme and port_of(goal) != port_of(target):  # somebody else may listen there
        raise HttpTrouble(f"the server redirects to another port, {where}; if that is right, set the endpoint to it")
    login, _, _ = target.netloc.rpartition("@")
    if login and "@" not in goal.netloc:
        goal = goal._replace(netloc=f"{login}@{goal.netloc}")
    return goal


def is_this_machine(host: str) -> bool:
    """Is this a loopback host? `127.0.0.1.example` is not."""
    if host in ("localhost", "::1"):
        return True
    first, *rest = host.split(".")
    return first == "127" and len(rest) == 3 and all(part.isdecimal() and len(part) <= 3 for part in rest)


def _split(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        address.port  # noqa: B018  # raises for an invalid port
        host = address.hostname or ""
        if not host.isascii() or not all(0 < len(label) < 64 for label in host.split(".")):
            host.encode("idna")  # raises for an invalid name; its tables take 3 ms to load
    except ValueError as error:
        login = "check the port, and write special characters of the login as in %40"
        why = login if "@" in url else error  # which may quote a password
        raise HttpTrouble(f"{public(url)!r} is not an http(s) address: {why}") from None
    if address.scheme == "unix" and address.path.startswith("/") and not address.netloc:
        return address
    if address.scheme not in ("http", "https") or not address.hostname:
        raise HttpTrouble(
            f"{public(url)!r} is not an http(s) address; an endpoint begins with http://, https:// or unix:///"
        )
    return address


def public(url: str) -> str:
    """Return an address without its login and query, and not all of a long one: messages are shown and stored."""
    start = re.match(r"(?:[\w+.-]*:)?//|", url, re.ASCII)
    scheme = start[0] if start else ""
    rest = url.removeprefix(scheme)
    place = re.split("[/?#]", rest, maxsplit=1)[0]
    if ":" in place and "@" not in place and "@" in rest:  # perhaps a password with `/` that was not written as %2F
        return one_line(f"{scheme}{place.partition(':')[0]}/…", _MOST_SHOWN)
    return one_line(scheme + rest[place.rfind("@") + 1 :].partition("?")[0], _MOST_SHOWN)


def path_of(target: SplitResult) -> str:
    """Return path and query. In the address of a socket, the path of a request is behind `:`."""
    path = target.path.partition(":")[2] if target.scheme == "unix" else target.path
    return (path or "/") + (f"?{target.query}" if target.query else "")


def port_of(address: SplitResult) -> int:
    return address.port or (443 if address.scheme == "https" else 80)


def _basic(target: SplitResult) -> str:
    login = f"{unquote(target.username or '')}:{unquote(target.password or '')}"
    return f"Basic {b2a_base64(login.encode(), newline=False).decode()}"


def _joined(usual: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return both; what is given replaces a usual header, in whatever case its name is."""
    names = {name.lower() for name in given}
    return {**{name: value for name, value in usual.items() if name.lower() not in names}, **given}


def _filled(name: str, value: str) -> str:
    """Return the value of a header with the user's variables filled in."""

    def fill(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        if not (found := os.environ.get(variable, "").strip()):
            raise HttpTrouble(f"the header {name} needs the environment variable {variable}, which is not set")
        return found

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", fill, value) if "$" in value else value


def _plain(value: str) -> str:
    """Remove newlines from a header value or path, to prevent header injection."""
    return value.replace("\r", "").replace("\n", "")


def reason(error: OSError) -> str:
    if error.errno:  # those of getaddrinfo are negative
        return os.strerror(error.errno) if error.errno > 0 else error.strerror or str(error)
    return str(error) or type(error).__name__


def remedy(error: OSError) -> str:
    return "is the server running?" if isinstance(error, ConnectionError) else "check the endpoint, and the network"
