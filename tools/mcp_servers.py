"""Use public MCP servers through the client of aish, and print what came. They are installed from PyPI and npm.

    python tools/mcp_servers.py [NAME…]

Nothing of this is part of the tests: registries may be out of reach, and other people's servers change.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
import venv
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from aish.mcp.connection import McpServer
from aish.mcp.launch import server_environment
from aish.mcp.stdio import ServerProgram, stdio_transport
from aish.values.tool_servers import Answer, ServerQuestion, ServerTrouble

HOME = Path(sys.prefix) / "mcp-servers"


class PublicServer(NamedTuple):
    """A package, how it is started, and calls with a word that their result must have. `{work}` is a directory."""

    package: str
    program: str
    args: tuple[str, ...]
    calls: tuple[tuple[str, dict[str, Any], str], ...]
    npm: bool = False


SERVERS = {
    "time": PublicServer(
        "mcp-server-time",
        "mcp-server-time",
        (),
        (
            ("get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
            ("get_current_time", {"timezone": "Nowhere/Land"}, "Invalid timezone"),
        ),
    ),
    "git": PublicServer(
        "mcp-server-git",
        "mcp-server-git",
        ("--repository", "{work}"),
        (
            ("git_status", {"repo_path": "{work}"}, "hello.txt"),
            ("git_log", {"repo_path": "/"}, ""),
        ),
    ),
    "fetch": PublicServer(
        "mcp-server-fetch",
        "mcp-server-fetch",
        ("--ignore-robots-txt",),
        (("fetch", {"url": "http://127.0.0.1:9/nothing"}, "error: "),),
    ),
    "filesystem": PublicServer(
        "@modelcontextprotocol/server-filesystem",
        "mcp-server-filesystem",
        ("{work}",),
        (
            ("list_directory", {"path": "{work}"}, "hello.txt"),
            ("read_text_file", {"path": "{work}/hello.txt"}, "hello world"),
            ("read_text_file", {"path": "/etc/hostname"}, "denied"),
        ),
        npm=True,
    ),
    "memory": PublicServer(
        "@modelcontextprotocol/server-memory",
        "mcp-server-memory",
        (),
        (
            ("create_entities", {"entities": [{"name": "Miso", "entityType": "cat", "observations": []}]}, "Miso"),
            ("search_nodes", {"query": "Miso"}, "cat"),
        ),
        npm=True,
    ),
    "everything": PublicServer(
        "@modelcontextprotocol/server-everything",
        "mcp-server-everything",
        ("stdio",),
        (
            ("echo", {"message": "hello"}, "hello"),
            ("get-sum", {"a": 2, "b": 40}, "42"),
            ("get-tiny-image", {}, "image/png"),
            ("get-structured-content", {"location": "Chicago"}, "temperature"),
            ("trigger-long-running-operation", {"duration": 1, "steps": 3}, "completed"),
            ("trigger-elicitation-request", {}, "declined"),
            ("get-roots-list", {}, "root"),
        ),
        npm=True,
    ),
}


class Printer:
    """Counts progress, and declines every question."""

    def __init__(self) -> None:
        self.progressed = self.asked = 0

    def progress(self, text: str) -> None:
        self.progressed += 1

    async def ask(self, question: ServerQuestion) -> Answer | Any:
        self.asked += 1
        return "decline"


def install(server: PublicServer) -> Path:
    """Install a server, and return its program."""
    if server.npm:
        bin = HOME / "node_modules" / ".bin" / server.program
        if not bin.exists():
            subprocess.run(["npm", "install", "--silent", "--prefix", str(HOME), server.package], check=True)
        return bin
    bin = HOME / "python" / "bin" / server.program
    if not bin.exists():
        if not (HOME / "python").exists():
            venv.create(HOME / "python", with_pip=True)
        pip = [str(HOME / "python" / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, server.package], check=True)
    return bin


async def use(name: str, server: PublicServer, program: Path, work: Path) -> bool:
    """Connect, list and call. Returns whether every result was as expected."""
    env = server_environment({"MEMORY_FILE_PATH": str(work / "memory.json")}, [], os.environ)
    started = time.perf_counter()
    how = ServerProgram(str(program), tuple(arg.format(work=work) for arg in server.args), env, work)
    connection = McpServer(name, partial(stdio_transport, how), timeout=30, root=lambda: work)
    try:
        tools = await connection.tools()
        print(f"{name}: {len(tools)} tools after {time.perf_counter() - started:.1f} s")
        good = True
        for tool, arguments, wanted in server.calls:
            printer, began = Printer(), time.perf_counter()
            filled = {
                key: value.format(work=work) if isinstance(value, str) else value for key, value in arguments.items()
            }
            try:
                reply = await connection.call(tool, filled, printer)
                text = f"{'error: ' if reply.failed else ''}{reply.text}"
            except ServerTrouble as error:
                text = f"trouble: {error}"
            ok = wanted.lower() in text.lower()
            good = good and ok
            more = f", {printer.progressed} × progress" if printer.progressed else ""
            more += f", asked {printer.asked} ×" if printer.asked else ""
            shown = " ".join(text.split())[:110]
            print(f"  {'ok ' if ok else 'BAD'} {tool} ({1000 * (time.perf_counter() - began):.0f} ms{more}): {shown}")
        return good
    except ServerTrouble as error:
        print(f"{name}: {error}")
        return False
    finally:
        await connection.close()


def main() -> int:
    wanted = sys.argv[1:] or list(SERVERS)
    good = True
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        (work / "hello.txt").write_text("hello world\n", encoding="utf-8")
        subprocess.run(["git", "init", "--quiet", str(work)], check=True)
        for name in wanted:
            good = asyncio.run(use(name, SERVERS[name], install(SERVERS[name]), work)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
