"""A client for the scenarios of `@modelcontextprotocol/conformance`: uses every tool of a server once.

    npx @modelcontextprotocol/conformance client --command 'python tools/mcp_conformance.py' --scenario tools_call

Questions of the server are answered with the values that it proposes.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any, Literal

from aish.acting.server_questions import answer_question
from aish.mcp.connection import McpServer
from aish.mcp.web import web_transport
from aish.values.person import Nobody
from aish.values.tool_servers import Answer, ServerQuestion

_EXAMPLES: dict[str, Any] = {"integer": 2, "number": 2, "boolean": True, "array": [], "object": {}}


class Agreeable(Nobody):
    """A user who answers every question, and takes what is proposed."""

    async def key(self, question: str, keys: str) -> str:
        return keys[0]

    async def line(self, question: str) -> str:
        return ""


class Answering:
    """Answers questions as a person at the terminal would."""

    def progress(self, text: str) -> None:
        print(text)

    async def ask(self, question: ServerQuestion) -> Answer | Literal["decline", "cancel"]:
        return await answer_question("test", question, Agreeable())


async def main(url: str) -> None:
    server = McpServer(
        "test", lambda log, flow, ended: web_transport(url, {}, flow, ended, 10), timeout=20, root=Path.cwd
    )
    try:
        for tool in await server.tools():
            properties = tool.parameters["properties"]
            arguments = {name: _EXAMPLES.get(about.get("type"), "x") for name, about in properties.items()}
            print(tool.name, arguments, await server.call(tool.name, arguments, Answering()))
    finally:
        await server.close()


asyncio.run(main(sys.argv[-1]))
