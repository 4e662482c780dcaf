"""The adapter of the port `ToolServer` for MCP, with the official SDK.

The SDK takes most of a second to load, so this module is loaded when a server is used first.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
from mcp.client import Client, ClientRequestContext, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from aish.mcp.launch import digest_of
from aish.mcp.results import LONGEST_RESULT, read_question, result_text
from aish.mcp.schemas import LONGEST_ABOUT, bounded_schema, clean
from aish.mcp.server_log import ServerLog
from aish.mcp.stdio import Flow
from aish.values.text import one_line
from aish.values.tool_servers import CallListener, Hint, ServerReply, ServerTool, ServerTrouble

if TYPE_CHECKING:  # a private name, for types only
    from mcp.client._transport import TransportStreams

MOST_TOOLS = 500
_MOST_PAGES = 50
_MOST_QUESTIONS = 10  # of one call
_LONGEST_CALL = 10  # times the limit, for a call that reports progress
_SLOWEST_RETRY = 60.0
_CLOSING_SECONDS = 8.0

OpenTransport = Callable[[ServerLog, Flow, Callable[[str], None]], AbstractAsyncContextManager["TransportStreams"]]

for _name in ("mcp", "client", "httpx2", "httpcore2"):  # their warnings would be printed over the shell
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class McpServer:
    """A connection to one server, made on first use. Its tasks belong to `_live`, which `close` ends."""

    def __init__(
        self,
        name: str,
        open_transport: OpenTransport,
        *,
        timeout: float,
        root: Callable[[], Path],
        identity: str = "",
        version: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._open_transport, self._identity, self._version = name, open_transport, identity, version
        self._timeout, self._root, self._now = timeout, root, now
        self._log = ServerLog()
        self._flow = Flow()
        self._owner: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._stop = asyncio.Event()
        self._ended = ""  # why the server stopped speaking
        self._failures, self._next_try = 0, 0.0
        self._tools: tuple[ServerTool, ...] | None = None
        self._listeners: list[_Call] = []  # of running calls
        self._connecting: asyncio.Lock | None = None
        self.revision = 0

    @property
    def connected(self) -> bool:
        return self._client is not None and not self._stop.is_set()

    def log(self) -> str:
        return self._log.text()

    # Connection

    async def _connect(self, *, at_once: bool = False) -> Client:
        """Return the client, connected. Only one attempt runs at a time."""
        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self.connected:
                assert self._client
                return self._client
            wait = self._next_try - self._now()
            if wait > 0 and not at_once:
                raise ServerTrouble(f"{self._name} could not be reached; the next attempt is in {wait:.0f} s")
            await self.close()
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._stop, self._ended, self._flow = asyncio.Event(), "", Flow()
            self._owner = asyncio.create_task(self._live(ready), name=f"mcp {self._name}")
            try:
                async with asyncio.timeout(self._timeout):
                    self._client = await ready
            except BaseException as error:  # a half-made connection must not stay, whatever happened
                await self.close()
                if isinstance(error, asyncio.CancelledError):
                    raise
                self._failures += 1
                self._next_try = self._now() + min(2.0 ** (self._failures - 1), _SLOWEST_RETRY)
                raise self._trouble("cannot connect to", error) from None
            self._failures, self._next_try = 0, 0.0
            return self._client

    async def _live(self, ready: "asyncio.Future[Client]") -> None:
        """Hold the connection until `_stop` is set. All tasks of the SDK run inside."""
        try:
            client = Client(
                _Entered(lambda: self._open_transport(self._log, self._flow, self._has_ended)),
                client_info=types.Implementation(name="aish", version=self._version or "0"),
                list_roots_callback=self._list_roots,
                elicitation_callback=self._elicit,
                logging_callback=self._take_log,
                message_handler=self._take_message,
                log_level="info",
                cache=None,
            )
            async with client, asyncio.TaskGroup() as watching:
                tools = client.server_capabilities.tools
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools and tools.list_changed:
                    watching.create_task(self._watch(client))
                stopped = watching.create_task(self._stop.wait())
                if not ready.done():
                    ready.set_result(client)
                await stopped
                raise _Stopped
        except BaseException as error:  # whatever the SDK or a server does ends here, and is told by the next use
            if not ready.done() and not isinstance(error, asyncio.CancelledError):
                ready.set_exception(_first(error))
                ready.exception()  # it may have been given up already
        finally:
            self._stop.set()
            if not ready.done():
                ready.set_exception(ServerTrouble("it has ended"))
                ready.exception()

    async def _watch(self, client: Client) -> None:
        """Notice changes of the tools at servers of the newer protocol."""
        with suppress(MCPError, TimeoutError, httpx2.HTTPError, RuntimeError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._forget_tools()

    def _has_ended(self, reason: str) -> None:
        self._ended = reason
        self._stop.set()

    async def close(self) -> None:
        """End the connection. Bounded: the transport ends its server by force if necessary."""
        owner, client = self._owner, self._client
        self._owner = self._client = None
        self._stop.set()
        if owner is None:
            return
        if client is None:  # it waits for the server, not for `_stop`
            owner.cancel()
        _, late = await asyncio.wait([owner], timeout=_CLOSING_SECONDS)
        if late:
            owner.cancel()
            await asyncio.wait([owner], timeout=_CLOSING_SECONDS)

    async def connect(self) -> None:
        """Connect now, without the pause after failed attempts."""
        await self._connect(at_once=True)

    # Tools

    def _forget_tools(self) -> None:
        self._tools = None
        self.revision += 1

    async def tools(self) -> tuple[ServerTool, ...]:
        client = await self._connect()
        if self._tools is None:
            self._tools = await self._bounded("cannot list the tools of", self._list(client))
        return self._tools

    async def _list(self, client: Client) -> tuple[ServerTool, ...]:
        found: dict[str, ServerTool] = {}
        cursor, left_out = None, 0
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                if len(found) >= MOST_TOOLS or tool.name in found:
                    left_out += 1
                else:
                    found[tool.name] = self._described(tool)
            cursor = page.next_cursor
            if not cursor:
                break
        if left_out:
            self._log.add(f"[aish] {left_out} tools with the same name as another, or too many, were left out")
        return tuple(found.values())

    def _described(self, tool: types.Tool) -> ServerTool:
        raw = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
        says = tool.annotations
        hint: Hint = "read" if says and says.read_only_hint else "destroy" if says and says.destructive_hint else ""
        about = clean(tool.description or tool.title or "", LONGEST_ABOUT)
        return ServerTool(tool.name, about, bounded_schema(tool.input_schema), hint, digest_of(self._identity, raw))

    async def call(self, tool: str, arguments: Mapping[str, Any], listener: CallListener) -> ServerReply:
        client = await self._connect()
        call = _Call(listener)
        self._listeners.append(call)
        try:
            sent = client.call_tool(tool, dict(arguments), progress_callback=call.progress)
            result = await self._bounded(f"{clean(tool, 60)} of", sent, call)
        finally:
            self._listeners.remove(call)
        raw = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return ServerReply(result_text(raw, LONGEST_RESULT), failed=bool(result.is_error))

    async def _bounded(self, doing: str, work: "Awaitable[Any]", call: "_Call | None" = None) -> Any:
        """Wait for an answer within the time limit. The limit rests while the user is asked."""
        started, heard = self._now(), self._flow.heard_at
        try:
            async with asyncio.timeout(self._timeout) as limit:
                if call:
                    call.limit, call.seconds = limit, self._timeout
                return await work
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the SDK raises many kinds, also for bad answers of a server
            late = isinstance(error, TimeoutError)
            if self._flow.heard_at == heard if late else self._lost(error):
                await self.close()  # the next use connects again
            if late:
                seconds = self._now() - started
                raise ServerTrouble(
                    f"{doing} {self._name}: no answer for {seconds:.0f} s; the call was stopped"
                ) from None
            raise self._trouble(doing, error) from None

    def _lost(self, error: BaseException) -> bool:
        if self._stop.is_set() or isinstance(_first(error), httpx2.HTTPError | OSError):
            return True
        return isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED

    def _trouble(self, doing: str, error: BaseException) -> ServerTrouble:
        error = _first(error)
        if isinstance(error, TimeoutError):
            why = f"no answer within {self._timeout:.0f} s"
        elif self._ended and not isinstance(error, ServerTrouble):
            why = self._ended + (f" ({self._log.last})" if self._log.last else "")
        elif isinstance(error, ValidationError):
            why = f"its answer breaks the protocol: {'.'.join(str(part) for part in error.errors()[0]['loc'])}"
        else:
            why = str(error) or type(error).__name__
        return ServerTrouble(f"{doing} {self._name}: {one_line(clean(_without_address(why), 300), 300)}")

    # What a server may ask and tell

    async def _list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        root = self._root()
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(root.as_uri()), name=root.name or "/")])

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the user, on behalf of the newest call. Without a call, nobody is disturbed."""
        call = self._listeners[-1] if self._listeners else None
        if call is None or call.questions >= _MOST_QUESTIONS:
            return types.ElicitResult(action="cancel")
        call.questions += 1
        question = read_question(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        with call.waiting():
            answer = await call.listener.ask(question)
        if answer == "decline" or answer == "cancel":
            return types.ElicitResult(action=answer)
        assert not isinstance(answer, str)
        return types.ElicitResult(action="accept", content=None if question.url else dict(answer))

    async def _take_log(self, params: types.LoggingMessageNotificationParams) -> None:
        self._log.add(f"{params.level}: {params.data if isinstance(params.data, str) else repr(params.data)[:400]}")

    async def _take_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._forget_tools()


class _Stopped(Exception):
    """Ends the task group of a connection, with the tasks in it."""


class _Call:
    """A running call: who listens, and the time limit that progress and questions move."""

    def __init__(self, listener: CallListener) -> None:
        self.listener, self.questions = listener, 0
        self.limit: asyncio.Timeout | None = None
        self.seconds = 0.0
        self._asking = 0
        self._first = asyncio.get_running_loop().time()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        part = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        self.listener.progress(one_line(clean(f"{part} {message or ''}".strip(), 200), 200))
        self._extend()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The limit rests in this block."""
        self._asking += 1
        self._extend()
        try:
            yield
        finally:
            self._asking -= 1
            self._first = asyncio.get_running_loop().time()
            self._extend()

    def _extend(self) -> None:
        if self.limit is None or self.limit.expired():
            return
        latest = self._first + _LONGEST_CALL * self.seconds
        next_limit = min(asyncio.get_running_loop().time() + self.seconds, latest)
        self.limit.reschedule(None if self._asking else next_limit)


class _Entered(AbstractAsyncContextManager["TransportStreams"]):
    """A transport that is made when it is entered."""

    def __init__(self, make: Callable[[], AbstractAsyncContextManager["TransportStreams"]]) -> None:
        self._make = make

    async def __aenter__(self) -> "TransportStreams":
        self._transport = self._make()
        return await self._transport.__aenter__()

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._transport.__aexit__(*error)


def _without_address(text: str) -> str:
    """Leave out what follows the path of an address: a query can hold a key, and the model reads this."""
    return re.sub(r"(https?://)(?:[^/\s'\"@]*@)?([^\s'\"?#]*)[?#][^\s'\"]*", r"\1\2", text)


def _first(error: BaseException) -> BaseException:
    """Return the first error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
