"""A server from its settings: program or address, environment, headers, directory."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from aish import __version__
from aish.mcp.connection import McpServer
from aish.mcp.launch import filled, server_environment, server_headers
from aish.mcp.server_log import ServerLog
from aish.mcp.stdio import EnterFence, Flow, ServerProgram, fenced_transport, stdio_transport
from aish.mcp.web import web_transport
from aish.values.tool_servers import ServerTrouble

if TYPE_CHECKING:  # a private name, for types only
    from mcp.client._transport import TransportStreams


def make_server(
    name: str,
    *,
    command: str,
    args: list[str],
    cwd: str,
    env: Mapping[str, str],
    env_from: list[str],
    url: str,
    headers: Mapping[str, str],
    headers_env: Mapping[str, str],
    timeout: float,
    root: Callable[[], Path],
    home: Path,
    fence: EnterFence | None = None,
    identity: str,
    variables: Mapping[str, str],
) -> McpServer:
    """Return a server that is not connected yet. Variables are looked up when it connects.

    A program starts in `home`, unless it has a `cwd`: in a project, `npx`, `uvx` and `python -m` take code and settings
    from the current directory, and a project may be anybody's.
    """

    def open_transport(
        log: ServerLog, flow: Flow, ended: Callable[[str], None]
    ) -> AbstractAsyncContextManager["TransportStreams"]:
        if url:
            address = filled(url, variables)
            if not address.startswith(("http://", "https://")):
                raise ServerTrouble("its url must begin with http:// or https://")
            return web_transport(address, server_headers(headers, headers_env, variables), flow, ended, timeout)
        program = ServerProgram(
            filled(command, variables),
            tuple(filled(arg, variables) for arg in args),
            server_environment(env, env_from, variables),
            root() / Path(cwd).expanduser() if cwd else home,
        )
        if fence:
            return fenced_transport(program, fence, log, flow, ended)
        return stdio_transport(program, log, flow, ended)

    return McpServer(
        name,
        open_transport,
        timeout=timeout,
        root=root,
        identity=identity,
        version=__version__,
    )
