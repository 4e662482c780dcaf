"""Servers over HTTP that are slow, too large, wrong, or somewhere else."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from aish.mcp.connection import McpServer
from aish.mcp.stdio import LARGEST_MESSAGE
from aish.mcp.web import web_transport
from aish.values.tool_servers import ServerTrouble

pytestmark = pytest.mark.anyio
Reply = Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {}}}
KNOWN = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "w", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
}


class Silent:
    def progress(self, text: str) -> None:
        pass

    async def ask(self, question: object) -> Any:
        return "cancel"


async def send(
    writer: asyncio.StreamWriter, body: bytes, kind: str = "application/json", status: str = "200 OK"
) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


@asynccontextmanager
async def serving(reply: Reply, **headers: str) -> AsyncIterator[tuple[McpServer, list[dict[str, str]]]]:
    """Serve MCP on loopback; `reply` answers calls of tools. Yields a client, and the headers that came."""
    seen: list[dict[str, str]] = []
    talks: set[asyncio.Task[Any]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.current_task())  # type: ignore[arg-type]  # it runs in a task
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError), closing(writer):
            while line := await reader.readline():
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                fields = dict(one.lower().split(": ", 1) for one in head.split("\r\n") if one)
                seen.append(fields)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                asked = json.loads(body) if line.startswith(b"POST") else {}
                method = asked.get("method")
                if method in KNOWN:
                    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": KNOWN[method]}
                    await send(writer, json.dumps(answer).encode())
                elif method == "tools/call":
                    await reply(asked, writer)
                elif "id" in asked:
                    error = {"code": -32601, "message": "no"}
                    await send(writer, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode())
                else:
                    await send(writer, b"", status="202 Accepted" if method else "405 Method Not Allowed")

    door = await asyncio.start_server(talk, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}/mcp"
    seconds = 2 if reply is silence else 10  # a busy machine needs a while to read a flood
    server = McpServer(
        "w", lambda log, flow, ended: web_transport(url, headers, flow, ended, 5), timeout=seconds, root=Path.cwd
    )
    try:
        yield server, seen
    finally:
        await server.close()
        door.close()
        for task in talks:
            task.cancel()
        await asyncio.wait(talks, timeout=5) if talks else None


async def too_large(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    await send(writer, b'{"jsonrpc": "2.0", "id": 1, "result": "' + b"x" * (9 << 20) + b'"}')


async def compressed(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    body = gzip.compress(b'{"jsonrpc": "2.0", "id": 1, "result": "' + b"x" * (9 << 20) + b'"}')
    await send(writer, body, kind="application/json\r\nContent-Encoding: gzip")


async def flood(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
    event = f"data: {json.dumps(note)}\n\n".encode() * 1000
    while True:
        writer.write(event)
        await writer.drain()


async def silence(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def no_json(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    await send(writer, b"<html>Bad gateway</html>", kind="text/html")


async def elsewhere(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 307 Moved\r\nLocation: http://example.invalid/mcp\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


async def broken(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    await send(writer, b"", status="500 Internal Server Error")


async def closed(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    writer.close()


TROUBLES: dict[Reply, str] = {
    too_large: "it sent an answer of more than 8 MB",
    compressed: "it sent a compressed answer",
    flood: "messages at once",
    silence: "no answer for",
    no_json: "text/html",
    elsewhere: "Redirect to http://example.invalid/mcp not followed",
    broken: "error response",
    closed: "closed",
}


@pytest.mark.parametrize("reply", TROUBLES)
async def test_a_bad_answer_is_told_in_time_and_the_server_can_be_used_again(reply: Reply) -> None:
    """Whatever is at the other end of the line."""
    started = asyncio.get_running_loop().time()
    async with serving(reply) as (server, _):
        with pytest.raises(ServerTrouble, match=TROUBLES[reply]):
            await server.call("echo", {}, Silent())

        assert asyncio.get_running_loop().time() - started < 12
        assert [tool.name for tool in await server.tools()] == ["echo"]


async def test_a_stream_of_events_may_be_longer_than_one_message() -> None:
    """A call that reports progress for hours sends more in all than any single answer may have."""

    async def talkative(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        note = {"method": "notifications/message", "params": {"level": "info", "data": "x" * (LARGEST_MESSAGE // 4)}}
        result = {"id": asked["id"], "result": {"content": [{"type": "text", "text": "done"}]}}
        for message in (note, note, note, note, note, result):
            writer.write(f"data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
            await writer.drain()
        writer.close()

    async with serving(talkative) as (server, _):
        assert (await server.call("echo", {}, Silent())).text == "done"


async def test_a_key_in_the_address_is_not_told() -> None:
    """The model reads why a call failed."""
    server = McpServer(
        "w",
        lambda log, flow, ended: web_transport("http://127.0.0.1:1/mcp", {}, flow, ended, 5),
        timeout=5,
        root=Path.cwd,
    )
    error = server._trouble("echo of", OSError("401 for url 'https://me:pw@x.org/mcp?api_key=hunter2#x'"))

    assert str(error) == "echo of w: 401 for url 'https://x.org/mcp'"


async def test_headers_of_the_settings_are_sent() -> None:
    """They carry the token."""

    async def hello(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        result = {"content": [{"type": "text", "text": "hello"}]}
        await send(writer, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())

    async with serving(hello, Authorization="Bearer abc") as (server, seen):
        reply = await server.call("echo", {}, Silent())

    assert reply.text == "hello"
    assert {one["authorization"] for one in seen} == {"Bearer abc".lower()}
    assert {one["accept-encoding"] for one in seen} == {"identity"}


async def test_an_address_where_nobody_listens_is_told() -> None:
    """The server is down."""
    server = McpServer(
        "w",
        lambda log, flow, ended: web_transport("http://127.0.0.1:9/mcp", {}, flow, ended, 2),
        timeout=2,
        root=Path.cwd,
    )

    with pytest.raises(ServerTrouble, match="cannot connect to w"):
        await server.tools()
    await server.close()
