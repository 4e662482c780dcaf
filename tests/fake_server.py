"""A server on loopback that sends exactly what a test wants, byte for byte, and records the requests."""

import json
import socketserver
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True, kw_only=True)
class Say:
    """One answer: raw pieces sent one by one.

    It waits for `hold` before the last piece; `cut` closes the connection early.
    """

    status: int = 200
    kind: str = "text/event-stream"
    pieces: list[bytes] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None
    cut: bool = False
    raw: bool = False  # send the pieces as they are, without an HTTP head
    seconds: float = 20  # that it waits at most


Answer = Say | Callable[[Asked], Say]


def sse(*texts: str, usage: tuple[int, int] | None = (450, 5), finish: str | None = "stop", end: str = "\n\n") -> Say:
    """Return a streamed chat answer in the shape that most servers use."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
    lines = [f"data: {json.dumps(chunk)}{end}" for chunk in chunks]
    return Say(pieces=[line.encode() for line in [*lines, f"data: [DONE]{end}"]])


def reply_json(value: object, status: int = 200, **headers: str) -> Say:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Say(status=status, kind="application/json", pieces=[json.dumps(value).encode()], headers=named)


class FakeServer:
    """Plays its answers in order and repeats the last one; answers by path come first."""

    def __init__(self, *answers: Answer, paths: dict[str, Answer] | None = None) -> None:
        self.answers = list(answers)
        self.paths = paths or {}
        self.asked: list[Asked] = []
        self.scheme = "http"
        self.gone = threading.Event()  # set when a client disconnects before the end of its answer
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                outer.serve(self)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 64  # with 5, the default, a connection that comes with others waits for a second

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def wrap(self, context: ssl.SSLContext) -> None:
        """Speak TLS from now on. A handshake takes place in the thread of its connection."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.scheme = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_address[1]}"

    def chats(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.path.endswith("/chat/completions")]

    def __enter__(self) -> "FakeServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def serve(self, handler: socketserver.StreamRequestHandler) -> None:
        try:
            asked = _read(handler)
        except OSError:  # a client that does not trust our certificate
            return
        if asked is None:
            return
        self.asked.append(asked)
        answer = self.paths.get(asked.path)
        if answer is None:
            if not self.answers:
                answer = reply_json({"error": {"message": "no such path"}}, status=404)
            else:
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        say = answer(asked) if callable(answer) else answer
        try:
            _send(handler, say)
        except OSError:
            self.gone.set()


def ollama(*models: str) -> FakeServer:
    """A server that lists its models, as Ollama does, and greets."""
    listed = {"object": "list", "data": [{"id": model, "object": "model"} for model in models]}
    return FakeServer(sse("Hello from it."), paths={"/v1/models": reply_json(listed)})


def host(server: FakeServer) -> str:
    """The address of a server as OLLAMA_HOST has it."""
    return server.url.removeprefix("http://")


def _read(handler: socketserver.StreamRequestHandler) -> Asked | None:
    first = handler.rfile.readline().decode("latin-1").split()
    if len(first) < 2:
        return None
    headers: dict[str, str] = {}
    while (line := handler.rfile.readline().decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = handler.rfile.read(int(headers.get("content-length", "0")))
    return Asked(first[0], first[1], headers, body)


def _send(handler: socketserver.StreamRequestHandler, say: Say) -> None:
    out = handler.wfile
    if not say.raw:
        fields = {"Content-Type": say.kind, "Transfer-Encoding": "chunked", "Connection": "close", **say.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        out.write(f"HTTP/1.1 {say.status} Whatever\r\n{head}\r\n".encode())
    for place, piece in enumerate(say.pieces):
        if say.hold and place == len(say.pieces) - 1:
            _wait(handler, say.hold, say.seconds)
        out.write(piece if say.raw else b"%x\r\n%s\r\n" % (len(piece), piece))
        out.flush()
    if not say.raw and not say.cut:
        out.write(b"0\r\n\r\n")


def _wait(handler: socketserver.StreamRequestHandler, event: threading.Event, seconds: float) -> None:
    """Wait for the test, or notice that the client has disconnected."""
    handler.connection.settimeout(0.01)
    deadline = time.monotonic() + seconds
    while not event.is_set() and time.monotonic() < deadline:
        try:
            if handler.connection.recv(1) == b"":
                raise ConnectionResetError
        except TimeoutError:
            continue
    handler.connection.settimeout(None)
