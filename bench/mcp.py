"""MCP benchmarks: a call of a tool through our connection compared with the bare SDK, both to a program."""

import asyncio
import sys
import time
from functools import partial
from pathlib import Path

from mcp import Client, StdioServerParameters

from aish.mcp.connection import McpServer
from aish.mcp.stdio import ServerProgram, stdio_transport
from aish.values.tool_servers import Answer, ServerQuestion
from bench.timing import Figure, interleaved

CALLS = 200
ARGUMENTS = {"text": "hello"}
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tool = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    able = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}
    said = {"content": [{"type": "text", "text": "hello"}]}
    reply = {"initialize": able, "tools/list": {"tools": [tool]}, "tools/call": said}.get(asked["method"])
    answer = {"result": reply} if reply else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


class _Silent:
    """A listener for a server that asks and reports nothing."""

    def progress(self, text: str) -> None:
        pass

    async def ask(self, question: ServerQuestion) -> Answer:
        return {}


def measure(directory: Path) -> dict[str, float]:
    """Return the seconds for one call, with the SDK alone and through a connection of ours."""
    script = directory / "mcp_server.py"
    script.write_text(SERVER, encoding="utf-8")
    return interleaved(
        5,
        {
            "MCP call, bare SDK": lambda: asyncio.run(_bare(script)),
            "MCP call, aish": lambda: asyncio.run(_ours(script)),
        },
    )


async def _bare(script: Path) -> float:
    async with Client(StdioServerParameters(command=sys.executable, args=[str(script)])) as client:
        await client.list_tools()
        started = time.perf_counter()
        for _ in range(CALLS):
            result = await client.call_tool("echo", ARGUMENTS)
            assert result.content[0].type == "text" and result.content[0].text == "hello"
        return (time.perf_counter() - started) / CALLS


async def _ours(script: Path) -> float:
    program = ServerProgram(sys.executable, (str(script),), {}, script.parent)
    server = McpServer("bench", partial(stdio_transport, program), timeout=30, root=lambda: script.parent)
    try:
        await server.tools()
        started = time.perf_counter()
        for _ in range(CALLS):
            assert (await server.call("echo", ARGUMENTS, _Silent())).text == "hello"
        return (time.perf_counter() - started) / CALLS
    finally:
        await server.close()


def figures(times: dict[str, float]) -> list[Figure]:
    """Compute the figures from the times."""
    ratio = times["MCP call, aish"] / times["MCP call, bare SDK"]
    return [Figure(name="MCP call to a program", value=ratio, unit="× bare SDK", limit=2)]
