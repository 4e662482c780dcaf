"""The transport to a server that is a program: one JSON message per line over its standard input and output.

The transport of the SDK keeps a line of any length in memory, and passes on any number of messages. This one has
limits, keeps the standard error in a bounded log, and says when the server has ended.
"""

import asyncio
import json
import os
import re
import secrets
import signal
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from aish.mcp.server_log import ServerLog
from aish.values.named_tuple import NamedTuple
from aish.values.tool_servers import ServerTrouble

if TYPE_CHECKING:  # a private name, for types only
    from mcp.client._transport import TransportStreams

LARGEST_MESSAGE = 8 << 20
MOST_BYTES, MOST_MESSAGES, WINDOW_SECONDS = 32 << 20, 20_000, 10.0
_GRACE_SECONDS = 1.0  # to end after its input is closed, and again after SIGTERM
_LAST_WORDS_SECONDS = 0.2
_SWEEPS = 5  # a process may start another one while we look
_CHUNK = 1 << 16
_HALF = re.compile(rb"(?i)\\ud[89a-f]")
_ANSWER = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,9})\s*,\s*"(?:result|error)"')
_MARK = "AISH_MCP_SERVER"  # a variable of the server and all that it starts


class ServerProgram(NamedTuple):
    """How to start a server. `enter` runs in its process before it starts; `pass_fds` stay open in it."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    enter: Callable[[], None] | None = None
    pass_fds: tuple[int, ...] = ()


EnterFence = Callable[[ServerProgram], AbstractContextManager[ServerProgram]]
"""Makes a fence, and yields the program that starts in it. Raises `StoreTrouble`."""


class Flow:
    """Counts what a server sends in a window of time."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._since = now, now()
        self._bytes = self._messages = 0
        self.heard_at = self._since

    def take(self, size: int, messages: int) -> str:
        """Count, and return what is wrong if it is too much."""
        self.heard_at = now = self._now()
        if now - self._since > WINDOW_SECONDS:
            self._since, self._bytes, self._messages = now, 0, 0
        self._bytes += size
        self._messages += messages
        if self._bytes > MOST_BYTES or self._messages > MOST_MESSAGES:
            return f"it sent {self._bytes:,} bytes in {self._messages:,} messages at once"
        return ""


@asynccontextmanager
async def stdio_transport(
    program: ServerProgram, log: ServerLog, flow: Flow, ended: Callable[[str], None]
) -> AsyncGenerator["TransportStreams"]:
    """Start the server and exchange messages with it. `ended` is called with the reason when it stops speaking."""
    mark = secrets.token_hex(16)
    try:
        process = await asyncio.create_subprocess_exec(
            program.command,
            *program.args,
            env={**program.env, _MARK: mark},
            cwd=program.cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the shell; and the whole group can be ended
            preexec_fn=program.enter,
            pass_fds=program.pass_fds,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        # The system does not say which of the two is missing.
        if isinstance(error, FileNotFoundError) and not program.cwd.is_dir():
            reason = f"there is no directory {program.cwd}"
        raise ServerTrouble(f"cannot start {program.command}: {reason}") from error
    assert process.stdin and process.stdout and process.stderr
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process.stdout, incoming, log, flow, ended)
            tasks.start_soon(_write, process.stdin, to_send)
            tasks.start_soon(_read_log, process.stderr, log)
            try:
                yield received, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                    await anyio.to_thread.run_sync(end_marked, f"{_MARK}={mark}".encode())
                    with anyio.move_on_after(_LAST_WORDS_SECONDS):
                        while not process.stderr.at_eof():  # noqa: ASYNC110  # a stream has no event for it
                            await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
    finally:
        for stream in (incoming, received, outgoing, to_send):
            stream.close()
        transport = getattr(process, "_transport", None)  # a child of the server may hold the pipes open
        if transport is not None:
            transport.close()


@asynccontextmanager
async def fenced_transport(
    program: ServerProgram, enter: EnterFence, log: ServerLog, flow: Flow, ended: Callable[[str], None]
) -> AsyncGenerator["TransportStreams"]:
    """The same for a server in a fence."""
    with enter(program) as fenced:
        async with stdio_transport(fenced, log, flow, ended) as streams:
            yield streams


async def _read(
    stdout: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    log: ServerLog,
    flow: Flow,
    ended: Callable[[str], None],
) -> None:
    """Pass on messages until the server ends or breaks a limit."""
    reason = "it has ended"
    buffer = bytearray()
    try:
        async with incoming:
            while data := await stdout.read(_CHUNK):
                buffer += data
                lines = list[bytes]()
                if b"\n" in data:
                    *lines, rest = bytes(buffer).split(b"\n")
                    buffer = bytearray(rest)
                reason = flow.take(len(data), len(lines)) or reason
                if len(buffer) > LARGEST_MESSAGE or any(len(line) > LARGEST_MESSAGE for line in lines):
                    reason = f"it sent a message of more than {LARGEST_MESSAGE >> 20} MB"
                if reason != "it has ended":
                    log.add(f"[aish] closed: {reason}")
                    return
                for line in lines:
                    await _pass_on(line, incoming, log)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass  # our side has closed the connection
    finally:
        ended(reason)


async def _pass_on(line: bytes, incoming: MemoryObjectSendStream[SessionMessage | Exception], log: ServerLog) -> None:
    if not line.strip():
        return
    message = _parsed(line) or _parsed(_without_halves(line))
    if message is None:
        log.add(f"[aish] not a message: {line[:200].decode('utf-8', 'replace')}")
        if found := _ANSWER.match(line):  # the call that waits for it fails now, not after the time limit
            wrong = ErrorData(code=PARSE_ERROR, message="its answer cannot be read")
            await incoming.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=wrong)))
        return
    await incoming.send(SessionMessage(message))


def _parsed(line: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        return None


def _without_halves(line: bytes) -> bytes:
    """Replace halves of surrogate pairs, which JavaScript writes if it cuts a text inside an emoji."""
    if not _HALF.search(line):
        return b""
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return b""


async def _write(stdin: asyncio.StreamWriter, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
    try:
        async with to_send:
            async for item in to_send:
                stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()
    except (ConnectionError, OSError, RuntimeError):
        pass  # the reader notices that the server has ended


async def _read_log(stderr: asyncio.StreamReader, log: ServerLog) -> None:
    while data := await stderr.read(_CHUNK):
        log.feed(data)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the server as the protocol says: close its input, then SIGTERM, then SIGKILL, to its whole group."""
    assert process.stdin
    with suppress(ConnectionError, OSError, RuntimeError):
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        with anyio.move_on_after(_GRACE_SECONDS):
            while process.returncode is None:  # noqa: ASYNC110  # `wait` also waits for children with the pipes
                await anyio.sleep(0.01)
        if process.returncode is not None:
            break
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # children that it left behind


def end_marked(mark: bytes, processes: Path = Path("/proc")) -> None:
    """End processes that have left the group of their server, by a variable of their environment. Linux only."""
    for _ in range(_SWEEPS):
        found = [number for number in _numbers(processes) if _has_variable(processes / str(number) / "environ", mark)]
        for number in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        if not found:
            return


def _numbers(processes: Path) -> list[int]:
    try:
        return [int(name) for name in os.listdir(processes) if name.isdecimal()]  # noqa: PTH208  # names only
    except OSError:
        return []


def _has_variable(environ: Path, mark: bytes) -> bool:
    try:
        return mark in environ.read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to somebody else
        return False
