"""The loop: it needs a way to ask, tools and a permission, and no conversation."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from aish.agent.calls import MOST_CALLS
from aish.agent.loop import SIDE_BY_SIDE, AskEvent, LoopEvent, StepDone, ToolDone, run_loop
from aish.agent.permission import ALLOWED, AllowReading, Decision, Permission
from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, schema
from aish.values.errors import StoreTrouble
from aish.values.events import Failed, Finished, Notice, TextPiece, ToolPiece, ToolProgress, notice
from aish.values.verdicts import Effect

pytestmark = pytest.mark.anyio


@dataclass
class Desk:
    """The context of a loop in these tests: what happened, in order."""

    happened: list[str] = field(default_factory=list)


class Script:
    """A model that gives one list of events for each time it is asked."""

    def __init__(self, *steps: Sequence[AskEvent]) -> None:
        self.steps, self.offered = list(steps), list[bool]()

    async def ask(self, offer_tools: bool) -> AsyncGenerator[AskEvent]:
        self.offered.append(offer_tools)
        for event in self.steps.pop(0):
            yield event
        yield Finished()


class Rules(Permission[Desk]):
    """Says no to what it is told to, and notes what it was asked."""

    def __init__(self, *forbidden: str) -> None:
        self.forbidden = forbidden

    async def ask(self, tool: Tool[Desk], call: ParsedCall, context: Desk) -> Decision:
        context.happened.append(f"may {tool.name}?")
        await asyncio.sleep(0)
        context.happened.append(f"decided {tool.name}")
        return Decision(False, "not today") if tool.name in self.forbidden else ALLOWED


def call(name: str, place: int = 0, arguments: str = "{}", id: str = "") -> ToolPiece:
    return ToolPiece(place, id or f"id-{place}", name, arguments)


async def _echo(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
    desk.happened.append(f"ran {parsed.name}")
    yield ToolResult(json.dumps(parsed.arguments))


def tool(name: str, effect: Effect = "read") -> Tool[Desk]:
    return Tool(schema(name, "", {}, []), _echo, effect)


async def play(script: Script, *tools: Tool[Desk], rules: Rules | None = None, max_steps: int = 8) -> list[LoopEvent]:
    desk, named = Desk(), {one.name: one for one in tools}
    return [event async for event in run_loop(script.ask, named, rules or Rules(), desk, max_steps=max_steps)]


async def test_an_answer_without_calls_is_one_step() -> None:
    """Its pieces are passed on as they come."""
    events = await play(Script([TextPiece("Hel"), TextPiece("lo.")]))

    assert events == [TextPiece("Hel"), TextPiece("lo."), StepDone("Hello.")]


async def test_the_model_is_asked_again_with_the_results() -> None:
    """The words before a call belong to the first step, and the results come in the order of the calls."""
    script = Script([TextPiece("Wait. "), call("a", 0, '{"x": 1}'), call("b", 1)], [TextPiece("Done.")])

    events = await play(script, tool("a"), tool("b"))

    first, *results, text, last = events[1:]
    assert isinstance(first, StepDone)
    assert (first.text, [one.name for one in first.calls], first.last) == ("Wait. ", ["a", "b"], False)
    assert [(done.call.id, done.result.text) for done in results if isinstance(done, ToolDone)] == [
        ("id-0", '{"x": 1}'),
        ("id-1", "{}"),
    ]
    assert (text, last) == (TextPiece("Done."), StepDone("Done."))
    assert script.offered == [True, True]


async def test_calls_run_side_by_side_and_their_results_keep_their_order() -> None:
    """Each of the two waits for the other; the second is done first."""
    here, there = asyncio.Event(), asyncio.Event()

    async def first(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        here.set()
        await there.wait()
        yield ToolProgress(parsed.id, "half way")
        yield ToolResult("first")

    async def second(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        await here.wait()
        there.set()
        yield ToolResult("second")

    tools = (tool("one")._replace(run=first), tool("two")._replace(run=second))
    async with asyncio.timeout(5):
        events = await play(Script([call("one", 0), call("two", 1)], [TextPiece("ok")]), *tools)

    assert [event.result.text for event in events if isinstance(event, ToolDone)] == ["first", "second"]
    assert ToolProgress("id-0", "half way") in events


async def test_permission_is_asked_before_each_call_and_for_one_at_a_time() -> None:
    """Two questions at once on a screen could be answered the wrong way round."""
    desk = Desk()
    named = {"a": tool("a"), "b": tool("b")}
    script = Script([call("a", 0), call("b", 1)], [TextPiece("ok")])
    async for _ in run_loop(script.ask, named, Rules(), desk):
        pass

    order = {what: place for place, what in enumerate(desk.happened)}
    assert order["may a?"] < order["decided a"] < order["may b?"] < order["decided b"]
    assert order["decided a"] < order["ran a"]
    assert order["decided b"] < order["ran b"]


async def test_a_tool_that_asks_itself_runs_while_no_other_question_is_open() -> None:
    """Two commands at once would read the same key and share one terminal."""
    asking, most = 0, 0

    async def question() -> None:
        nonlocal asking, most
        asking += 1
        most = max(most, asking)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking -= 1

    async def ask_and_run(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        await question()
        yield ToolResult("done")

    class Asks(Rules):
        async def ask(self, tool: Tool[Desk], call: ParsedCall, context: Desk) -> Decision:
            if not tool.asks_itself:
                await question()
            return await super().ask(tool, call, context)

    tools = {"command": tool("command")._replace(run=ask_and_run, asks_itself=True), "a": tool("a", "change")}
    script = Script([call("command", 0), call("command", 1), call("a", 2)], [TextPiece("ok")])
    events = [event async for event in run_loop(script.ask, tools, Asks(), Desk())]

    assert [event.call.id for event in events if isinstance(event, ToolDone)] == ["id-0", "id-1", "id-2"]
    assert most == 1


async def test_a_call_that_is_not_allowed_does_not_run_and_the_model_reads_why() -> None:
    """It can then try something else."""
    desk, script = Desk(), Script([call("a")], [TextPiece("ok")])
    events = [event async for event in run_loop(script.ask, {"a": tool("a")}, Rules("a"), desk)]

    (done,) = (event for event in events if isinstance(event, ToolDone))
    assert json.loads(done.result.text) == {"status": "refused", "reason": "not today"}
    assert "ran a" not in desk.happened


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (call("nothing"), "there is no tool 'nothing'"),
        (call("a", 0, "[1]"), "the arguments are not a JSON object"),
        (call("a", 0, "{"), "the arguments are not a JSON object"),
        (call("a", 0, "[" * 100_000), "the arguments are not a JSON object"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered(piece: ToolPiece, reason: str) -> None:
    """The model reads what was wrong and can try again."""
    events = await play(Script([piece], [TextPiece("ok")]), tool("a"))

    (done,) = (event for event in events if isinstance(event, ToolDone))
    assert json.loads(done.result.text)["reason"] == reason


async def test_trouble_in_a_tool_is_told_to_the_model_and_to_the_user() -> None:
    """A full disk is no reason to lose the answer."""

    async def fails(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        yield notice("tool.began", "began")
        raise StoreTrouble("the disk is full")

    events = await play(Script([call("a")], [TextPiece("ok")]), tool("a")._replace(run=fails))

    assert [event.code for event in events if isinstance(event, Notice)] == ["tool.began", "tool.failed"]
    (done,) = (event for event in events if isinstance(event, ToolDone))
    assert json.loads(done.result.text)["reason"] == "the disk is full"


async def test_a_bug_in_a_tool_is_not_hidden_and_stops_the_others() -> None:
    """The caller of the loop decides what to do with it."""
    ended = list[str]()

    async def waits(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        try:
            await asyncio.Event().wait()
            yield ToolResult("never")
        finally:
            ended.append("stopped")

    async def breaks(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        await asyncio.sleep(0)
        raise RuntimeError("a bug")
        yield

    tools = (tool("waits")._replace(run=waits), tool("breaks")._replace(run=breaks))
    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError, match="a bug"):
            await play(Script([call("waits", 0), call("breaks", 1)]), *tools)
    assert ended == ["stopped"]


async def test_closing_the_loop_stops_a_tool_at_work() -> None:
    """Ctrl-C must not leave anything running."""
    at_work, stopped = asyncio.Event(), asyncio.Event()

    async def waits(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        try:
            yield ToolProgress(parsed.id, "at work")
            at_work.set()
            await asyncio.Event().wait()
            yield ToolResult("never")
        finally:
            stopped.set()

    script = Script([call("a")])
    async with asyncio.timeout(5):
        loop = run_loop(script.ask, {"a": tool("a")._replace(run=waits)}, Rules(), Desk())
        async with aclosing(loop) as events:
            async for event in events:
                if isinstance(event, ToolProgress):
                    await at_work.wait()
                    break
        assert stopped.is_set()


async def test_a_tool_that_gives_no_result_does_not_hang_the_loop() -> None:
    """The contract is one result; a tool that breaks it is answered for."""

    async def silent(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        yield ToolProgress(parsed.id, "hm")

    async with asyncio.timeout(5):
        events = await play(Script([call("a")], [TextPiece("ok")]), tool("a")._replace(run=silent))
    (done,) = (event for event in events if isinstance(event, ToolDone))
    assert json.loads(done.result.text)["status"] == "refused"


async def test_after_the_last_step_no_tools_are_offered_and_a_silent_model_has_failed() -> None:
    """Otherwise a model could call tools forever."""
    script = Script(*[[call("a", id=f"c{number}")] for number in range(3)])

    events = await play(script, tool("a"), max_steps=2)

    assert script.offered == [True, True, False]
    last = events[-1]
    assert isinstance(last, StepDone)
    assert last.last
    assert last.failure
    assert last.failure.reason == "the model only called tools and gave no answer"


async def test_calls_without_an_id_get_one_that_is_their_own() -> None:
    """A result must find its call, also in a conversation with many of them."""
    script = Script([ToolPiece(0, "", "a", "{}"), ToolPiece(1, "", "a", "{}")], [TextPiece("ok")])
    named = {"a": tool("a")}
    events = [event async for event in run_loop(script.ask, named, Rules(), Desk(), new_id=lambda: "call-7")]

    assert [event.call.id for event in events if isinstance(event, ToolDone)] == ["call-7-0-0", "call-7-0-1"]


@pytest.mark.parametrize("steps", [[], [Failed("gone")]])
async def test_an_answer_of_nothing_is_a_failure(steps: list[AskEvent]) -> None:
    """There is nothing to show, so somebody must be told."""
    last = (await play(Script(steps)))[-1]

    assert isinstance(last, StepDone)
    assert last.failure


async def test_a_loop_that_nobody_watches_may_only_read() -> None:
    """That is what a sub-agent gets unless it is given more."""
    desk, script = Desk(), Script([call("look", 0), call("write", 1)], [TextPiece("ok")])
    named = {"look": tool("look"), "write": tool("write", "change")}
    async for _ in run_loop(script.ask, named, AllowReading(), desk):
        pass

    assert desk.happened == ["ran look"]


async def test_of_a_thousand_calls_some_run_and_few_at_a_time() -> None:
    """A model gone wild must not start a thousand programs. The user is told, and each kept call has its result."""
    at_work, most, ran = 0, 0, 0

    async def work(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        nonlocal at_work, most, ran
        at_work, ran = at_work + 1, ran + 1
        most = max(most, at_work)
        for _ in range(100):
            await asyncio.sleep(0)
        at_work -= 1
        yield ToolResult("done")

    script = Script([call("a", place) for place in range(1_000)], [TextPiece("ok")])
    events = await play(script, tool("a")._replace(run=work))

    done = [event for event in events if isinstance(event, ToolDone)]
    assert (ran, most) == (MOST_CALLS, SIDE_BY_SIDE)
    assert [event.result.text for event in done[:MOST_CALLS]] == ["done"] * MOST_CALLS
    assert all("not run: 1,000 calls" in event.result.text for event in done[MOST_CALLS:])
    (step,) = (event for event in events if isinstance(event, StepDone) and not event.last)
    assert [event.call for event in done] == list(step.calls)
    assert [event.code for event in events if isinstance(event, Notice)] == ["tools.too_many"]


async def test_a_tool_that_reports_without_end_is_read_as_fast_as_it_is_shown() -> None:
    """It can be stopped, and does not fill the memory."""
    reported = 0

    async def endless(parsed: ParsedCall, desk: Desk) -> AsyncGenerator[ToolEvent]:
        nonlocal reported
        while True:
            reported += 1
            yield ToolProgress(parsed.id, "still here")

    async with asyncio.timeout(5):
        loop = run_loop(Script([call("a")]).ask, {"a": tool("a")._replace(run=endless)}, Rules(), Desk())
        read = 0
        async with aclosing(loop) as events:
            async for event in events:
                read += isinstance(event, ToolProgress)
                if read == 200:
                    break
    assert reported < 400


async def test_an_unknown_tool_is_answered_with_the_names_that_look_like_it() -> None:
    """The model can call the right one next."""
    events = await play(Script([call("raed_file")], [TextPiece("ok")]), tool("read_file"), tool("run_command"))

    (done,) = (event for event in events if isinstance(event, ToolDone))
    assert json.loads(done.result.text)["reason"] == "there is no tool 'raed_file'; there is read_file"
