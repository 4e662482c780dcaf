"""The limits of tool calls, on the whole path: server, loop, history, journal, and the next request.

Whatever a model calls, however much a tool returns and whenever the user stops it, a strict server accepts the
conversation afterwards, and so does one that resumes it.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import pytest
from fake_server import FakeServer, Say, reply_json, sse
from world import World, script_of

from aish.acting.gate import Decided
from aish.agent.calls import MOST_KEPT
from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, schema
from aish.context.messages import render
from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.conversation.turn_context import TurnContext
from aish.values.events import ToolProgress
from aish.values.outcomes import Outcome
from aish.values.person import Nobody
from aish.values.turns import Message, Turn

pytestmark = pytest.mark.anyio

SMALL: dict[str, Any] = {"context": {"token_budget": 4_000}}


def accept(messages: Sequence[Message]) -> None:
    """Check a request as the strictest servers do."""
    roles = [message["role"] for message in messages]
    assert roles[0] == "system"
    assert roles[-1] in ("user", "tool")
    open_calls: list[str] = []
    for before, message in zip([None, *roles], messages, strict=False):
        json.dumps(message, ensure_ascii=False).encode()  # no half characters
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls, "a result answers a call that was made just before"
            open_calls.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not open_calls, "each call has its result before the conversation goes on"
        assert message["role"] != before, "roles alternate"
        assert not (before == "tool" and message["role"] == "user"), "results are followed by an answer"
        calls = message.get("tool_calls", [])
        assert message["content"] or calls
        for call in calls:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        open_calls = [call["id"] for call in calls]
        assert len(set(open_calls)) == len(open_calls)
    assert not open_calls


def tool(name: str, *events: ToolEvent) -> Tool[TurnContext]:
    """Return a tool that yields these events, with a pause before each."""

    async def run(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
        for event in events:
            await asyncio.sleep(0)
            yield event

    return Tool(schema(name, "", {}, []), run, effect="read")


def with_tools(world: World, answers: Sequence[str], *tools: Tool[TurnContext], **settings: Any) -> Session:
    session = world.session(answers, settings)
    session.tools = tools
    return session


def streamed(calls: list[dict[str, Any]]) -> Say:
    """Return an answer that consists of these fragments of calls."""
    chunks: list[dict[str, Any]] = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    return Say(pieces=[f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks])


def fragment(name: object = "", arguments: object = "", id: object = "c1", index: int = 0) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


async def asked_after(world: World, answer: Say) -> tuple[Session, list[Message]]:
    """Ask a question that is answered with calls, and another one; return what followed the calls."""
    with FakeServer(answer, sse("I see."), sse("A2")) as server:
        preset = {"endpoint": server.url, "tools": True}
        settings = {"memory": {"propose": True}, "tokenize": {"use_endpoint": "false"}, "models": {"srv": preset}}
        session = world.program({"model": "srv", **settings}).session()
        assert (await world.ask(session, "q1")).text == "I see."
        assert (await world.ask(session, "q2")).text == "A2"
        requests = [asked.json["messages"] for asked in server.chats()]
    for messages in requests:
        accept(messages)
    return session, requests[1]


def results(messages: Sequence[Message]) -> list[str]:
    return [json.loads(message["content"])["reason"] for message in messages if message["role"] == "tool"]


@pytest.mark.proves("C10", "C12")
@pytest.mark.parametrize(
    ("fragments", "reasons"),
    [
        pytest.param([fragment("memory_add", "{")], ["the arguments are not a JSON object"], id="malformed"),
        pytest.param([fragment("memory_add", "[1]")], ["the arguments are not a JSON object"], id="a list"),
        pytest.param([fragment("memory_add", [1])], ["the arguments are not a JSON object"], id="a list, not as text"),
        pytest.param(
            [fragment("memory_add", '{"content":' * 500 + "1" + "}" * 500)],
            ["the arguments are not a JSON object"],
            id="deeply nested",
        ),
        pytest.param([fragment("", "{}")], ["the call has no name"], id="no name"),
        pytest.param([fragment(7, "{}")], ["the call has no name"], id="a name that is no text"),
        pytest.param(
            [fragment("memory_ad", "{}")], ["there is no tool 'memory_ad'; there is memory_add"], id="a wrong name"
        ),
        pytest.param(
            [fragment("memory add\x1b[2J", "{}")], ["there is no tool 'memory add\\x1b[2J'"], id="an impossible name"
        ),
        pytest.param(
            [
                fragment("nothing", "{}", "same", 0),
                fragment("nothing", "{}", "same", 1),
                fragment("nothing", "{}", "", 2),
            ],
            ["there is no tool 'nothing'"] * 3,
            id="no ids of their own",
        ),
        pytest.param(
            [fragment("memory_add", "x" * 65_536)] + [fragment("", "x" * 65_536, "")] * 160,
            ["the arguments have 10,551,296 characters, more than 1,000,000; give less at a time"],
            id="ten megabytes",
        ),
    ],
)
async def test_a_bad_call_has_a_result_and_leaves_a_conversation_that_any_server_accepts(
    world: World, fragments: list[dict[str, Any]], reasons: list[str]
) -> None:
    """Servers parse the calls of earlier answers, so one bad call used to make every later request fail."""
    session, messages = await asked_after(world, streamed(fragments))

    assert results(messages) == reasons
    assert sum(path.stat().st_size for path in world.places.sessions.iterdir()) < 20_000
    resumed = world.program().session()
    resumed.resume(session.journal.id)
    assert resumed.history.turns == session.history.turns


@pytest.mark.proves("C10", "C12")
async def test_a_thousand_calls_are_answered_in_a_bounded_conversation(world: World) -> None:
    """All that are kept have a result, also those that were not run."""
    calls = [fragment("nothing", "{}", f"c{place}", place) for place in range(1_000)]
    _, messages = await asked_after(world, streamed(calls))

    reasons = results(messages)
    assert len(reasons) == MOST_KEPT
    assert [reason.startswith("not run: 1,000 calls") for reason in reasons] == [False] * 32 + [True] * 32


@pytest.mark.proves("N23")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param(
            "x" * 50_000_000, "of 50,000,000 characters are left out; call again for less at a time", id="endless"
        ),
        pytest.param("\x00\x01\x02\x03" * 100_000, "the result is binary data (400,000 characters)", id="binary"),
        pytest.param(json.dumps({"output": "\0" * 9_000}), "the result is binary data", id="binary in JSON"),
        pytest.param("a\x1b[31mb\x07\ud800 end", "a␛[31mb␇� end", id="control bytes"),
    ],
)
async def test_what_a_tool_returns_is_clean_and_fits_into_the_prompt(world: World, text: str, kept: str) -> None:
    """Whatever the tool is: nothing may push the conversation out, and the model is told what is missing."""
    session = with_tools(world, ["TOOL: look {}", "done"], tool("look", ToolResult(text)), **SMALL)
    await world.ask(session, "q1")

    (turn,) = (turn for turn in session.history.turns if turn.role == "tool")
    assert kept in turn.content
    assert len(turn.content) < 8_000
    assert [entry.turn for entry in session.journal.entries() if entry.turn.role == "tool"] == [turn]


async def test_many_results_at_once_share_the_room(world: World) -> None:
    """Thirty long results would be ten prompts."""
    calls = "\n".join("TOOL: look {}" for _ in range(30))
    session = with_tools(world, [calls, "done"], tool("look", ToolResult("x" * 100_000)), **SMALL)
    await world.ask(session, "q1")

    assert sum(len(turn.content) for turn in session.history.turns) < 3 * 4 * 4_000


async def test_older_results_make_room_for_newer_ones(world: World) -> None:
    """Eight long results do not fit into a prompt: the newest stays, and the model knows about the others."""
    session = with_tools(world, [*["TOOL: look {}"] * 8, "done"], tool("look", ToolResult("word " * 2_000)), **SMALL)
    await world.ask(session, "q1")

    kept = [turn.content for turn in session.history.turns if turn.role == "tool"]
    assert kept[-1].startswith(('{"cut"', "word"))
    assert json.loads(kept[0])["status"] == "left out"
    assert session.last_size and session.last_size.total <= 4_000
    stored = [entry.turn.content for entry in session.journal.entries() if entry.turn.role == "tool"]
    assert all("word" in content for content in stored), "the journal has all of them"


def stopping_session(world: World) -> Session:
    """A conversation whose next answer calls two tools, then one, then says something."""
    answers = ["First answer.", "Let me look.\nTOOL: slow {}\nTOOL: fast {}", "TOOL: fast {}", "The end of it.", "A3"]
    slow = tool("slow", ToolProgress("x", "at work"), ToolProgress("x", "still at work"), ToolResult("slow result"))
    return with_tools(world, answers, slow, tool("fast", ToolResult("fast result")))


async def check_stopped(world: World, session: Session) -> None:
    """Check the conversation as it is after another question, and as another run resumes it."""
    *_, last = (entry.turn for entry in session.journal.entries())
    whole = last.content in ("First answer.", "The end of it.")
    assert last.role != "assistant" or last.state != "complete" or whole, "only an answer that ended is complete"
    accept(render("system", [*session.history.turns, Turn("user", "go on?")]))
    resumed = with_tools(world, ["A4"])
    resumed.resume(session.journal.id)
    await world.ask(resumed, "go on?")
    accept(script_of(resumed).requests[-1].messages)


@pytest.mark.proves("N24", "C12", "C14", "P5")
@pytest.mark.parametrize("after", range(1, 16))
async def test_a_turn_that_is_closed_after_any_event_leaves_a_conversation_that_goes_on(
    world: World, after: int
) -> None:
    """Ctrl-C during the stream, between two steps, or while a tool is at work."""
    session = stopping_session(world)
    await world.ask(session, "q1")
    seen = 0
    async with aclosing(take_turn(session, "q2", Nobody())) as events:
        async for _ in events:
            seen += 1
            if seen == after:
                break
    await check_stopped(world, session)


@pytest.mark.proves("N24", "C12", "C14", "P5")
async def test_a_turn_that_is_cancelled_at_any_moment_leaves_a_conversation_that_goes_on(world: World) -> None:
    """The event loop may deliver Ctrl-C wherever the turn waits: at each of these moments once."""

    async def whole_turn(session: Session) -> None:
        async for _ in take_turn(session, "q2", Nobody()):
            pass

    for moment in range(1_000):
        session = stopping_session(world)
        await world.ask(session, "q1")
        work = asyncio.create_task(whole_turn(session))
        for _ in range(moment):
            await asyncio.sleep(0)
        ended = work.done()
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await check_stopped(world, session)
        if ended:
            break
    assert 10 < moment < 999


@pytest.mark.proves("C11", "C12", "C13", "C21")
async def test_a_server_that_refuses_results_in_the_middle_of_an_answer_gets_them_as_text(world: World) -> None:
    """The call was made and has run; only the way to send its result changes, and the answer goes on."""
    refusal = reply_json({"error": {"message": "Unexpected role 'tool' after role 'assistant'"}}, status=400)
    with FakeServer(streamed([fragment("memory_ad", "{}")]), refusal, sse("I see.")) as server:
        settings = {"memory": {"propose": True}, "tokenize": {"use_endpoint": "false"}}
        session = world.program({"model": "srv", **settings, "models": {"srv": {"endpoint": server.url}}}).session()
        said = await world.ask(session, "q1")
        _, refused, folded = [asked.json["messages"] for asked in server.chats()]

    assert (said.text, said.done.state) == ("I see.", "complete")
    assert [notice for notice in said.notices if "tool role" in notice] == [
        "srv does not accept the tool role; tool results are sent as plain text from now on"
    ]
    assert [message["role"] for message in refused] == ["system", "user", "assistant", "tool"]
    assert [message["role"] for message in folded] == ["system", "user", "assistant"]
    assert folded[-1]["content"].startswith('[tool: memory_ad]\n{}\n[result]\n{"status": "refused"')


class PrintingGate:
    """A gate whose commands print eight thousand characters, as much as is kept of their output."""

    async def decide(self, command: str) -> Decided:
        return Decided(command, Outcome(0, "line of output\n" * 533, "/"))


@pytest.mark.proves("N23", "C16")
async def test_the_output_of_a_command_fits_into_a_small_window(world: World) -> None:
    """Eight thousand characters are most of a small prompt: the model gets the head, the tail and the size."""
    settings = {"context": {"token_budget": 1_500}, "commands": {"tool": True, "file_tools": False}}
    session = world.session(['TOOL: run_command {"command": "ls"}', "done"], settings)
    async for _ in take_turn(session, "q1", Nobody(), gate=PrintingGate()):
        pass

    (turn,) = (turn for turn in session.history.turns if turn.role == "tool")
    kept = json.loads(turn.content)
    assert "characters are left out; call again for less at a time" in kept["cut"]
    assert "line of output" in kept["text"]
    assert len(turn.content) < 7_500
