"""Measure how fast an answer gets through our client, compared with reading the same bytes from a bare socket."""

import asyncio
import json
import multiprocessing
import socket
import time
from multiprocessing.connection import Connection

from aish.model.openai_chat import OpenAIChat
from aish.values.events import ChatRequest, TextPiece

EVENTS = 20_000
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def _chunk(text: str) -> bytes:
    event = {
        "id": "chatcmpl-0123456789",
        "object": "chat.completion.chunk",
        "created": 1794770424,
        "model": "bench",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}],
    }
    data = b"data: %s\n\n" % json.dumps(event).encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def _serve(pipe: Connection) -> None:
    """Serve answers: build each token separately and send it at once, as model servers do."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        pipe.send(server.getsockname()[1])
        while True:
            client, _ = server.accept()
            with client:
                seen = b""
                while b"\r\n\r\n" not in seen:
                    seen += client.recv(65536)
                client.sendall(_HEAD)
                for number in range(EVENTS):
                    client.sendall(_chunk(f" word{number}"))
                end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
                client.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))


class StreamServer:
    """The server in its own process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        self.port: int = ours.recv()

    def close(self) -> None:
        self._process.kill()
        self._process.join()

    def bare(self) -> float:
        """Return the seconds to read the whole answer from a socket and discard it."""
        started = time.perf_counter()
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Length: 0\r\n\r\n")
            tail = b""
            while not tail.endswith(b"0\r\n\r\n"):
                piece = client.recv(65536)
                if not piece:
                    break
                tail = (tail + piece)[-16:]
        return time.perf_counter() - started

    def ours(self) -> float:
        """Return the seconds to receive the same answer as text pieces."""
        chat = OpenAIChat(endpoint=f"http://127.0.0.1:{self.port}", model="bench")

        async def read() -> int:
            request = ChatRequest(messages=({"role": "user", "content": "go"},))
            return sum([len(event.text) async for event in chat.stream(request) if isinstance(event, TextPiece)])

        started = time.perf_counter()
        got = asyncio.run(read())
        seconds = time.perf_counter() - started
        assert got == sum(len(f" word{number}") for number in range(EVENTS))
        return seconds
