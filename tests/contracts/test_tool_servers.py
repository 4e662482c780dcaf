"""The contract of `ToolServer`: for a server in this process, a program, and a server over HTTP."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import pytest
import uvicorn
from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from aish.mcp.connection import McpServer
from aish.mcp.server_log import ServerLog
from aish.mcp.stdio import Flow, ServerProgram, stdio_transport
from aish.mcp.web import web_transport
from aish.values.tool_servers import Answer, ServerQuestion, ServerReply, ServerTrouble

pytestmark = pytest.mark.anyio
FAKE = Path(__file__).parents[1] / "mcp_fake.py"


class Listener:
    """Records progress, and answers questions from a list."""

    def __init__(self, *answers: Answer | Literal["decline", "cancel"]) -> None:
        self.heard: list[str] = []
        self.questions: list[ServerQuestion] = []
        self._answers = list(answers)

    def progress(self, text: str) -> None:
        self.heard.append(text)

    async def ask(self, question: ServerQuestion) -> Answer | Literal["decline", "cancel"]:
        self.questions.append(question)
        return self._answers.pop(0)


def example() -> MCPServer:
    """Return a server of the SDK with two tools."""
    server = MCPServer("example")

    @server.tool()
    def echo(text: str) -> str:
        """Return the text."""
        return text

    @server.tool()
    async def grow(context: Context) -> str:
        """Add another tool."""
        server.add_tool(echo, name="shout")
        await context.notify_tools_changed()
        return "done"

    return server


def in_memory(log: ServerLog, flow: Flow, ended: Callable[[str], None]) -> Any:
    return InMemoryTransport(example()._lowlevel_server)


def fake(mode: str = "good", seen: Path | None = None, **env: str) -> Callable[..., Any]:
    args = (str(FAKE), mode, *([str(seen)] if seen else []))
    program = ServerProgram(sys.executable, args, {"PATH": os.environ["PATH"], **env}, Path("/"))
    return lambda log, flow, ended: stdio_transport(program, log, flow, ended)


@asynccontextmanager
async def over_http() -> AsyncIterator[Callable[..., Any]]:
    """Serve the example on loopback."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        config = uvicorn.Config(example().streamable_http_app(), log_level="error", lifespan="on")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([door]))
        try:
            url = f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
            yield lambda log, flow, ended: web_transport(url, {}, flow, ended, 5)
        finally:
            server.should_exit = server.force_exit = True
            await asyncio.wait([task], timeout=5)


def connection(transport: Callable[..., Any], **options: Any) -> McpServer:
    return McpServer("fake", transport, root=lambda: Path("/work place"), **{"timeout": 10.0, **options})


@asynccontextmanager
async def using(transport: Callable[..., Any], **options: Any) -> AsyncIterator[McpServer]:
    server = connection(transport, **options)
    try:
        yield server
    finally:
        await server.close()


@pytest.fixture(params=["in memory", "program", "http"])
async def any_server(request: pytest.FixtureRequest) -> AsyncGenerator[McpServer]:
    match request.param:
        case "in memory":
            async with using(in_memory) as server:
                yield server
        case "program":
            async with using(fake()) as server:
                yield server
        case _:
            async with over_http() as transport, using(transport) as server:
                yield server


@pytest.mark.proves("P9")
async def test_a_server_is_connected_on_first_use_and_its_tools_can_be_called(any_server: McpServer) -> None:
    """The same over every transport."""
    assert not any_server.connected

    tools = await any_server.tools()
    reply = await any_server.call("echo", {"text": "hello"}, Listener())

    assert any_server.connected
    assert "echo" in [tool.name for tool in tools]
    assert (reply.text, reply.failed) == ("hello", False)
    await any_server.close()
    assert not any_server.connected
    assert (await any_server.call("echo", {"text": "again"}, Listener())).text == "again"


async def test_a_tool_that_does_not_exist_is_an_error_and_the_connection_stays(any_server: McpServer) -> None:
    """The model may invent names."""
    with suppress(ServerTrouble):
        reply = await any_server.call("nothing of that name", {}, Listener())
        assert reply.failed or reply.text == "done"  # the fake has every tool

    assert (await any_server.call("echo", {"text": "hello"}, Listener())).text == "hello"


async def test_a_cancelled_call_leaves_the_connection_usable_and_tells_the_server(tmp_path: Path) -> None:
    """Ctrl-C stops one call, not the server."""
    seen = tmp_path / "seen"
    async with using(fake("hang", seen)) as server:
        await server.tools()
        task = asyncio.create_task(server.call("echo", {}, Listener()))
        await until(lambda: "tools/call" in seen.read_text())

        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

        await until(lambda: "notifications/cancelled" in seen.read_text())
        assert server.connected
        assert await server.tools()


TROUBLES = {
    "hang": "no answer for",
    "wrong id": "no answer for",
    "die": "it has ended (out of memory)",
    "flood": "messages at once",
    "long line": "a message of more than 8 MB",
    "bad result": "",
}


@pytest.mark.parametrize("mode", TROUBLES)
async def test_a_call_to_a_bad_server_ends_in_time_and_the_next_one_connects_again(mode: str) -> None:
    """A server that dies, hangs, floods or lies must not hurt the shell."""
    started = asyncio.get_running_loop().time()
    async with using(fake(mode), timeout=60.0 if mode in ("flood", "long line") else 1.0) as server:
        with pytest.raises(ServerTrouble, match=r"(?s).*") as told:
            await server.call("echo", {"text": "hello"}, Listener())

        assert TROUBLES[mode] in str(told.value)
        assert asyncio.get_running_loop().time() - started < 70
        assert server.connected == (mode in ("wrong id", "bad result"))  # a server that still speaks is kept
        assert [tool.name for tool in await server.tools()] == ["echo", "add", "wipe"]


async def test_lines_that_are_no_messages_are_logged_and_skipped() -> None:
    """Many servers print to standard output by mistake."""
    async with using(fake("bad json")) as server:
        reply = await server.call("echo", {"text": "hello"}, Listener())

        assert reply.text == "hello"
        assert "not a message: this is no JSON" in server.log()


@pytest.mark.parametrize(("mode", "reason"), [("no start", "no database"), ("silent", "no answer within")])
async def test_a_server_that_does_not_start_is_tried_again_after_growing_pauses(mode: str, reason: str) -> None:
    """A model that repeats its call must not start a program in a loop."""
    clock = [0.0]
    async with using(fake(mode), timeout=0.2 if mode == "silent" else 5.0, now=lambda: clock[0]) as server:
        waits = []
        for _ in range(3):
            with pytest.raises(ServerTrouble, match=reason):
                await server.tools()
            with pytest.raises(ServerTrouble, match="next attempt is in") as told:
                await server.tools()
            waits.append(str(told.value).split()[-2])
            clock[0] += 100

        assert waits == ["1", "2", "4"]
        with pytest.raises(ServerTrouble, match=reason):
            await server.connect()


async def test_a_program_that_does_not_exist_is_named() -> None:
    """The settings have a typing mistake."""
    program = ServerProgram("/no/such/program", (), {}, Path("/"))
    async with using(lambda log, flow, ended: stdio_transport(program, log, flow, ended)) as server:
        with pytest.raises(ServerTrouble, match="cannot start /no/such/program: No such file"):
            await server.tools()


async def test_progress_roots_and_the_log_reach_us_and_sampling_is_refused(tmp_path: Path) -> None:
    """What a server may ask and tell."""
    listener = Listener()
    async with using(fake("progress")) as server:
        await server.call("echo", {}, listener)
    assert listener.heard == ["1 of 3 step 1", "2 of 3 step 2", "3 of 3 step 3"]
    async with using(fake("roots")) as server:
        assert (await server.call("echo", {}, listener)).text == "file:///work%20place"
    async with using(fake("sampling")) as server:
        assert "not supported" in (await server.call("echo", {}, listener)).text
    async with using(fake("log")) as server:
        await server.call("echo", {}, listener)
        await until(lambda: "grumble" in server.log() and "cold" in server.log())
        assert "\x1b" not in server.log()


async def test_a_form_is_answered_and_an_address_is_only_shown() -> None:
    """The user decides, and nothing is opened."""
    form = Listener({"city": "Porto", "nights": 2})
    async with using(fake("form")) as server:
        reply = await server.call("echo", {}, form)
    assert '"action": "accept"' in reply.text and '"Porto"' in reply.text
    assert [(field.name, field.kind, field.required) for field in form.questions[0].fields] == [
        ("city", "text", True),
        ("nights", "integer", False),
        ("quiet", "boolean", False),
    ]
    address = Listener("decline")
    async with using(fake("url")) as server:
        reply = await server.call("echo", {}, address)
    assert '"decline"' in reply.text
    assert address.questions[0].url == "https://example.org/in"


async def test_odd_names_and_descriptions_are_cleaned_and_bounded() -> None:
    """A description is read by the model and shown to the user."""
    async with using(fake("odd")) as server:
        tools = await server.tools()

    assert [tool.name for tool in tools].count("echo") == 1
    for tool in tools:
        assert len(tool.about) <= 1000 and len(str(tool.parameters)) < 8000
        assert not any(letter in tool.about for letter in "\x1b\x00\u202e\u200b")
    async with using(fake("lying schema")) as server:
        with pytest.raises(ServerTrouble, match=r"breaks the protocol: tools\.0\.inputSchema"):
            await server.tools()


@pytest.mark.parametrize("era", ["older", "newer, in memory", "newer, http"])
async def test_a_changed_list_of_tools_is_noticed(era: str) -> None:
    """The next look at the tools asks the server again. The newer protocol tells changes in another way."""
    async with over_http() as http:
        transport = {"older": fake("list changed"), "newer, in memory": in_memory, "newer, http": http}[era]
        async with using(transport) as server:
            names = [tool.name for tool in await server.tools()]
            before = server.revision
            await server.call("echo" if era == "older" else "grow", {}, Listener())
            await until(lambda: server.revision > before)
            more = [] if era == "older" else ["shout"]
            assert [tool.name for tool in await server.tools()] == [*names, *more]


async def test_all_kinds_of_content_become_bounded_text() -> None:
    """Pictures are described, resources are quoted, and structured content is added."""
    async with using(fake()) as server:
        parts = await server.call("parts", {}, Listener())
        failed = await server.call("fail", {}, Listener())
    assert parts.text.splitlines() == [
        "[image, image/png, about 3,000 bytes, not shown]",
        "[resource file:///n.txt]",
        "a note",
        "[resource report file:///r.pdf]",
        '{"answer": 42}',
    ]
    assert (failed.text, failed.failed) == ("no such thing", True)
    async with using(fake("large")) as server:
        large = await server.call("echo", {}, Listener())
    assert len(large.text) < 210_000 and "characters left out" in large.text
    assert large.text.startswith("begin") and large.text.endswith("end")


async def test_nothing_runs_after_closing_even_if_the_server_ignores_it() -> None:
    """No process is left behind."""
    before, others = asyncio.all_tasks(), children()
    server = connection(fake("hang"))
    await server.tools()
    started = children() - others

    await server.close()

    assert asyncio.all_tasks() == before
    assert started and not children() & started


def children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110  # another process makes it true
            await asyncio.sleep(0)


async def test_nothing_that_a_server_started_runs_after_closing(tmp_path: Path) -> None:
    """Also not what has left its session."""
    noted = tmp_path / "child"
    async with using(fake("runaway", noted)) as server:
        await server.tools()
        child = Path("/proc") / noted.read_text(encoding="utf-8")
        assert child.exists()

    await until(lambda: not child.exists() or ") Z " in (child / "stat").read_text())


async def test_an_answer_with_half_an_emoji_is_read() -> None:
    """Servers in JavaScript cut texts inside of one."""
    async with using(fake("half a pair")) as server:
        assert await server.call("echo", {}, Listener()) == ServerReply("cut ?")


async def test_an_answer_that_cannot_be_read_fails_at_once() -> None:
    """Nobody waits for the time limit, and the connection stays."""
    async with using(fake("unreadable"), timeout=300.0) as server:
        with pytest.raises(ServerTrouble, match="echo of fake: its answer cannot be read"):
            await server.call("echo", {}, Listener())
        assert server.connected


async def test_a_question_has_one_line_and_only_choices_that_can_be_typed() -> None:
    """A server cannot write lines that look like those of aish."""
    listener = Listener("decline")
    async with using(fake("odd form")) as server:
        await server.call("echo", {}, listener)

    (question,) = listener.questions
    assert question.message == "Hello [aish] type yes"
    assert [(field.title, field.choices, field.default) for field in question.fields] == [
        ("a [aish] b", ("plain",), None),
        ("many", ("one",), ["one"]),
    ]
