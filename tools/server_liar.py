"""A scripted server that lies in every field, and proxies that do; each lie has a name, which is the path or the port.

What is expected of aish is written beside the lie: an answer, or one line that names the cause.
"""

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from server_programs import ANSWER, PROXY, listen

PORT = 4020
URL = f"http://127.0.0.1:{PORT}"
_LONGEST = 20.0  # seconds that a lie lasts
Pieces = Iterator[bytes]


class Lie(NamedTuple):
    """What a server does, and what aish should say: a pattern of the message, or nothing if it should answer."""

    tried: str
    pieces: Callable[[], Pieces]
    named: str = ""


def _head(kind: str = "text/event-stream", status: str = "200 OK", *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *more]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


def _event(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _said(text: str = ANSWER, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, **fields}]}


_STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
_DONE = b"data: [DONE]\n\n"


def _stream(*values: object) -> Callable[[], Pieces]:
    """An answer of these chunks."""
    return lambda: iter([_head(), *map(_event, values), _DONE])


def _counted(usage: object) -> Callable[[], Pieces]:
    return _stream(_said(), _STOP, {"choices": [], "usage": usage})


def _raw(*pieces: bytes) -> Callable[[], Pieces]:
    return lambda: iter(pieces)


def _slowly(first: bytes, again: bytes, seconds: float) -> Callable[[], Pieces]:
    """Pieces without an end, with a pause between them."""

    def pieces() -> Pieces:
        yield first
        deadline = time.monotonic() + _LONGEST
        while time.monotonic() < deadline:
            yield again
            time.sleep(seconds)

    return pieces


def _packed(how: str) -> Callable[[], Pieces]:
    body = b"".join([_event(_said()), _event(_STOP), _DONE])
    raw = zlib.compressobj(wbits=-15)
    packed = {
        "gzip": gzip.compress(body),
        "deflate": zlib.compress(body),
        "raw": raw.compress(body) + raw.flush(),
        "br": b"\x0b\x02\x80" + body,
        "bomb": gzip.compress(b"data: " + b" " * (64 << 20)),
    }[how]
    name = {"raw": "deflate", "bomb": "gzip"}.get(how, how)
    return _raw(_head("text/event-stream", "200 OK", f"Content-Encoding: {name}"), packed)


def _pinging() -> Pieces:
    yield _head()
    for _ in range(20):
        yield b": ping\n\n"
        time.sleep(0.3)


_WHOLE = json.dumps({"choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}]}).encode()
_UTF8 = "Zwölf Füchse und ein Bär".encode()
_CALL = {"index": 0, "id": "c1", "function": {"name": "no_such_tool", "arguments": "{"}}

LIES: dict[str, Lie] = {
    "countless": Lie("no usage at all", _stream(_said(), _STOP)),
    "sse-as-json": Lie(
        "a stream that is labelled as JSON",
        lambda: iter([_head("application/json"), _event(_said()), _event(_STOP), _DONE]),
    ),
    "json-as-sse": Lie("one JSON object that is labelled as a stream", _raw(_head(), _WHOLE)),
    "plain-json": Lie("one JSON object, though a stream was asked for", _raw(_head("application/json"), _WHOLE)),
    "text-plain": Lie(
        "a stream that is labelled as text/plain",
        lambda: iter([_head("text/plain"), _event(_said()), _event(_STOP), _DONE]),
    ),
    "refusal": Lie(
        "`delta.refusal` instead of `content`", _stream({"choices": [{"delta": {"refusal": ANSWER}}]}, _STOP)
    ),
    "no-done": Lie("no `[DONE]`, but a finish reason", lambda: iter([_head(), _event(_said()), _event(_STOP)])),
    "open-end": Lie(
        "connection kept open after `[DONE]`",
        _slowly(b"".join([_head(), _event(_said()), _event(_STOP), _DONE]), b"", 0.2),
    ),
    "comments": Lie(
        "comments between the events, CRLF and a byte order mark",
        lambda: iter(
            [
                _head(),
                b"\xef\xbb\xbf: ping\r\n\r\n",
                _event(_said()).replace(b"\n", b"\r\n"),
                b": ping\r\n\r\n",
                _event(_STOP),
            ]
        ),
    ),
    "gzip": Lie("gzip that was not asked for", _packed("gzip")),
    "deflate": Lie("deflate with a zlib header", _packed("deflate")),
    "deflate-raw": Lie("deflate without a header", _packed("raw")),
    "half-utf8": Lie(
        "a character cut in two by the reads",
        lambda: iter([_head(), *(bytes([byte]) for byte in _event(_said())), _event(_STOP), _DONE]),
    ),
    "bad-utf8": Lie(
        "half a character inside the text",
        _raw(
            _head(),
            b'data: {"choices":[{"delta":{"content":"' + ANSWER.encode() + b' \xc3"}}]}\n\n',
            _event(_STOP),
            _DONE,
        ),
    ),
    "usage-huge": Lie("usage of 10^30 tokens", _counted({"prompt_tokens": 10**30, "completion_tokens": 10**30})),
    "usage-negative": Lie("negative usage", _counted({"prompt_tokens": -5, "completion_tokens": -1})),
    "usage-strings": Lie("usage as strings", _counted({"prompt_tokens": "12", "completion_tokens": "many"})),
    "usage-null": Lie(
        "usage that is null, a list, a word",
        _stream(_said(), _STOP, {"choices": [], "usage": None}, {"usage": []}, {"usage": "much"}),
    ),
    "usage-wrong": Lie("usage of one token for a long prompt", _counted({"prompt_tokens": 1, "completion_tokens": 1})),
    "usage-float": Lie(
        "usage with fractions and NaN",
        _raw(
            _head(),
            _event(_said()),
            _event(_STOP),
            b'data: {"choices":[],"usage":{"prompt_tokens":NaN,"completion_tokens":1.5}}\n\n',
            _DONE,
        ),
    ),
    "null-choices": Lie(
        "chunks with null, empty and strange choices",
        _stream({"choices": None}, {"choices": []}, {"choices": [None]}, {"choices": {"0": 1}}, _said(), _STOP),
    ),
    "null-delta": Lie(
        "null in every field of a chunk",
        _stream(
            {"id": None, "choices": [{"index": None, "delta": None, "finish_reason": None}]}, _said(role=None), _STOP
        ),
    ),
    "call-unknown": Lie(
        "a call of an unknown tool with half an object",
        _stream(
            {"choices": [{"delta": {"tool_calls": [_CALL]}}]},
            {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
        ),
        r".",
    ),
    "empty": Lie("an empty answer with a finish reason", _stream(_STOP), r"empty|no answer|nothing"),
    "no-finish": Lie(
        "an answer without a finish reason", lambda: iter([_head(), _event(_said())]), "without a finish reason"
    ),
    "html": Lie(
        "a web page with 200",
        _raw(_head("text/html"), b"<title>Sign in</title>"),
        "web page instead of an answer; check the endpoint",
    ),
    "html-as-sse": Lie(
        "a web page that is labelled as a stream",
        _raw(_head(), b"<!doctype html><title>Sign in</title><p>Sign in\n\n"),
        "without a finish reason; .*check the endpoint",
    ),
    "error-200": Lie(
        "an error in a stream with 200",
        _stream({"error": {"message": "out of memory", "code": 500}}),
        "the server reports: out of memory",
    ),
    "bad-json": Lie("an event that is not JSON", _raw(_head(), b"data: {oops\n\n"), "invalid JSON"),
    "json-list": Lie("an event that is a list", _raw(_head(), b"data: [1, 2]\n\n"), "not a chat answer"),
    "deep-json": Lie("JSON with 100,000 brackets", _raw(_head(), b"data: " + b"[" * 100_000 + b"\n\n"), "invalid JSON"),
    "length-long": Lie(
        "Content-Length that is too large",
        _raw(_head("application/json", "200 OK", f"Content-Length: {len(_WHOLE) + 50}"), _WHOLE),
        "closed the connection",
    ),
    "length-short": Lie(
        "Content-Length that is too small",
        _raw(_head("application/json", "200 OK", f"Content-Length: {len(_WHOLE) - 20}"), _WHOLE),
        "not HTTP; check",
    ),
    "length-bad": Lie(
        "Content-Length that is no number",
        _raw(_head("application/json", "200 OK", "Content-Length: many"), _WHOLE),
        "not HTTP",
    ),
    "chunk-cut": Lie(
        "a chunk that is cut off",
        _raw(_head("text/event-stream", "200 OK", "Transfer-Encoding: chunked"), b"400\r\n" + _event(_said())),
        "closed the connection",
    ),
    "chunk-bad": Lie(
        "a chunk whose size is no number",
        _raw(_head("text/event-stream", "200 OK", "Transfer-Encoding: chunked"), b"zz\r\n" + _event(_said())),
        "not HTTP",
    ),
    "br": Lie("brotli that was not asked for", _packed("br"), "encoding 'br', which was not asked for"),
    "bomb": Lie("64 MB in 64 KB of gzip", _packed("bomb"), "larger than 8 MB"),
    "head-endless": Lie(
        "headers without an end",
        _slowly(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 8000 + b"\r\n", 0.0),
        "head of the server's response is larger",
    ),
    "interim": Lie(
        "interim responses without an end",
        _slowly(b"", b"HTTP/1.1 100 Continue\r\nX: " + b"x" * 8000 + b"\r\n\r\n", 0.0),
        "head of the server's response is larger",
    ),
    "body-endless": Lie(
        "one event without an end", _slowly(_head() + b"data: ", b"x" * 60_000, 0.0), "larger than 8 MB"
    ),
    "head-drip": Lie(
        "headers, one byte every 0.3 s",
        _slowly(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.3),
        "took more than 3 s for the head",
    ),
    "silent": Lie("nothing at all", _slowly(b"", b"", 0.5), "sent nothing for 3 s"),
    "stops": Lie("half an answer, then nothing", _slowly(_head() + _event(_said()), b"", 0.5), "sent nothing for 3 s"),
    "pings": Lie("comments for 6 s, which show that it works, and no answer", _pinging, "without a finish reason"),
    "closes": Lie("closes at once", _raw(b""), "closed the connection"),
    "ssh": Lie("an SSH server", _raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "SSH server answers at this address; check the port"),
    "garbage": Lie("random bytes", _raw(bytes(range(256)) * 4), "not HTTP"),
    "status-999": Lie(
        "status 999 with a long HTML page",
        _raw(_head("text/html", "999 Odd") + b"<title>Odd</title>" + b"<p>x" * 9999),
        "answered 999: Odd",
    ),
    "redirect-nowhere": Lie(
        "a redirect to no address",
        _raw(_head("text/plain", "302 Found", "Location: http://[oops")),
        "redirects to .* no address",
    ),
    "key": Lie(
        "401 with a page",
        _raw(_head("text/html", "401 No") + b"<title>Who are you?</title>"),
        "refused the key .*; check api_key_env",
    ),
}

# Proxies: what they answer to the first bytes.
_PAGE = b"<html><title>Access denied</title><body>Ask the help desk</body></html>"
PROXY_LIES: dict[int, Lie] = {
    3200: Lie(
        "hangs",
        _slowly(b"", b"", 0.5),
        "(did not connect|sent nothing).*proxy.test:3200|proxy.test:3200 .*did not connect",
    ),
    3201: Lie("answers a page with 200", _raw(_head("text/html") + _PAGE), "proxy.test:3201"),
    3202: Lie("answers a page with 403", _raw(_head("text/html", "403 Forbidden") + _PAGE), "proxy.test:3202"),
    3203: Lie(
        "wants Negotiate",
        _raw(_head("text/html", "407 Login", "Proxy-Authenticate: Negotiate") + _PAGE),
        "login by Negotiate",
    ),
    3204: Lie("closes at once", _raw(b""), "proxy.test:3204"),
    3205: Lie("answers with an SSH banner", _raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "proxy.test:3205"),
    3206: Lie(
        "sends headers without an end",
        _slowly(b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 8000 + b"\r\n", 0.0),
        "proxy.test:3206",
    ),
}
REFUSED_PORT = 3299  # where nobody listens


class Liar:
    """Listens, and tells the lie that the path or the port names."""

    def __init__(self) -> None:
        self._sockets = [listen("127.0.0.1", PORT), *(listen(PROXY, port) for port in PROXY_LIES)]
        for one in self._sockets:
            threading.Thread(target=self._accept, args=(one,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_tell, args=(connection,), daemon=True).start()


def _tell(connection: socket.socket) -> None:
    with connection:
        connection.settimeout(_LONGEST)
        try:
            lie = PROXY_LIES.get(connection.getsockname()[1]) or LIES.get(_asked(connection))
            for piece in lie.pieces() if lie else iter((_head("text/plain", "404 Not Found"),)):
                connection.sendall(piece)
                if len(piece) == 1:
                    time.sleep(0.001)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(1)
            while connection.recv(1 << 16):  # a reset would take away what was sent
                pass
        except OSError:
            return


def _asked(connection: socket.socket) -> str:
    """Read a request, and return the name in its path; empty for questions about the window."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(1 << 16)):
            return ""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += connection.recv(1 << 16)
    path = head.split(b" ")[1].decode()
    return path.split("/")[1] if path.endswith("/chat/completions") else ""
