"""The loop: ask the model, run the tools it calls, give it the results, and ask again until it answers.

It knows only messages, tools and events. The caller provides the model (`ask`), the tools and the permission, and
records the events: each one is yielded before the next step starts.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TypeVar

from aish.agent.calls import MOST_CALLS, CallPieces, near_names
from aish.agent.permission import Permission
from aish.agent.tool import ParsedCall, Tool, ToolEvent, ToolResult, read_arguments, refused
from aish.agent.written_call import CallWatch, Heard
from aish.values.errors import AishError
from aish.values.events import (
    Failed,
    Finished,
    ModelEvent,
    Notice,
    ReasoningPiece,
    TextPiece,
    ThoughtSoFar,
    ToolPiece,
    ToolProgress,
    Usage,
    notice,
)
from aish.values.named_tuple import NamedTuple
from aish.values.turns import Message, ToolCall

C = TypeVar("C")
MAX_STEPS = 8  # rounds of tool calls before the model must answer
SIDE_BY_SIDE = 8  # tools that run at the same time
_MOST_WAITING = 64  # events of tools that wait to be read; a tool with more of them has to wait
AskEvent = ModelEvent | Notice
Ask = Callable[[bool], AsyncGenerator[AskEvent]]
"""Sends all turns so far to the model; the argument says whether tools are offered."""
Offered = Callable[[], Sequence[Message]]
"""The schemas of the tools that the model was offered, once its answer arrives: another model may have taken over."""
MayCall = Callable[[int], bool]
"""Says before each step, counted from 0, whether the model may still call tools. After a no it must answer."""

_TOO_LONG = "the answer was cut off at its maximum length; raise max_tokens for more"
_STOPPED = "the server ended the answer early ({})"
CUT = {  # finish reasons of an incomplete answer, with the message for the user
    "length": _TOO_LONG,
    "max_tokens": _TOO_LONG,
    **{reason: _STOPPED.format(reason) for reason in ("content_filter", "error", "abort")},
}


class StepDone(NamedTuple):
    """One answer of the model. If it called tools they run next, unless this step is the last.

    `written`: the calls were in its text, so they are not part of `text`.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    failure: Failed | None = None
    cut: bool = False
    last: bool = True
    written: bool = False


class ToolDone(NamedTuple):
    """A call has its result."""

    call: ToolCall
    result: ToolResult
    own_words: bool = False
    shown: bool = False  # the tool has shown the user what it does


LoopEvent = TextPiece | ReasoningPiece | ThoughtSoFar | Usage | Notice | ToolProgress | StepDone | ToolDone


async def run_loop(
    ask: Ask,
    tools: Mapping[str, Tool[C]],
    permission: Permission[C],
    context: C,
    *,
    max_steps: int = MAX_STEPS,
    may_call: MayCall | None = None,
    new_id: Callable[[], str] = lambda: "call",
    offered: Offered = tuple,
    heard: Heard = tuple,
) -> AsyncGenerator[LoopEvent]:
    """Let the model answer. The last event is a `StepDone` with `last` set.

    `may_call` decides instead of `max_steps` how long the model may call tools. Calls without an id get one that starts
    with `new_id()`. A call that the model wrote into its text counts too, if the tool is `offered`, and the model did
    not only repeat what it had `heard`.
    """
    for step in itertools.count():
        may = may_call(step) if may_call else step < max_steps
        reply = _Reply(offered if may else tuple, heard)
        async with aclosing(ask(may)) as events:
            async for event in events:
                for passed_on in reply.take(event):
                    yield passed_on
        for held in reply.end():
            yield held
        done = reply.done(step, new_id, may_call=may)
        yield done
        if done.last:
            return
        if reply.calls.number > MOST_CALLS:
            text = f"the model made {reply.calls.number:,} calls at once; only {MOST_CALLS} of them are run"
            yield notice("tools.too_many", text, warning=True, calls=reply.calls.number)
        async with aclosing(_run_calls(done.calls, reply.problems, tools, permission, context)) as results:
            async for result in results:
                yield result


class _Reply:
    """Collects the answer of one step while it arrives."""

    def __init__(self, offered: Offered, heard: Heard) -> None:
        self._offered, self._heard = offered, heard
        self._watch: CallWatch | None = None
        self.written = False
        self.text: list[str] = []
        self.calls = CallPieces()
        self.problems: dict[str, str] = {}  # by call id: why it cannot be run
        self.failure: Failed | None = None
        self.cut = False
        self.thought = False

    def take(self, event: AskEvent) -> Sequence[TextPiece | ReasoningPiece | ThoughtSoFar | Usage | Notice]:
        """Collect one event, and return the events to pass on."""
        match event:
            case TextPiece(text):
                self._watch = self._watch or CallWatch(self._offered(), self._heard)
                return self._say(self._watch.feed(text))
            case ThoughtSoFar():
                held = self._say(self._watch.held) if self._watch else []
                self.text, self.thought, self._watch = [], True, None
                return [*held, event]
            case ReasoningPiece():
                self.thought = True
                return [event]
            case Notice() | Usage():  # usage at once: it counts also if the answer is stopped
                return [event]
            case ToolPiece():
                self.calls.add(event)
            case Failed():
                self.failure = event
            case Finished(reason) if reason in CUT:
                self.cut = True
                return [notice("answer.cut", CUT[reason], warning=True, reason=reason)]
        return []

    def _say(self, text: str) -> list[TextPiece]:
        if not text:
            return []
        self.text.append(text)
        return [TextPiece(text)]

    def end(self) -> list[TextPiece]:
        """Take the calls in the text, if the answer is whole, and return the text that was held back otherwise."""
        if self._watch is None:
            return []
        held = self._watch.held
        text, calls = self._watch.end()
        if self.failure or self.cut or self.calls.number:
            return self._say(held)
        for place, call in enumerate(calls):
            self.calls.add(ToolPiece(place, "", call.name, call.arguments))
        self.written = bool(calls)
        return self._say(text)

    def done(self, step: int, new_id: Callable[[], str], *, may_call: bool) -> StepDone:
        text, failure = "".join(self.text), self.failure
        made = self.calls.made(lambda place: f"{new_id()}-{step}-{place}")
        if not failure and not text and not (made and may_call):
            only = "called tools" if made else "thought" if self.thought else ""
            failure = Failed(f"the model only {only} and gave no answer" if only else "the model gave an empty answer")
        last = not made or failure is not None or not may_call
        self.problems = {one.call.id: one.problem for one in made if one.problem}
        calls = () if last else tuple(one.call for one in made)
        return StepDone(text, calls, failure, self.cut, last, self.written)


async def _run_calls(
    calls: tuple[ToolCall, ...],
    problems: Mapping[str, str],
    tools: Mapping[str, Tool[C]],
    permission: Permission[C],
    context: C,
) -> AsyncGenerator[Notice | ToolProgress | ToolDone]:
    """Run the calls, some at a time. Yields their events as they arrive, and the results in the order of the calls.

    Permission is asked for one call at a time, and a tool that asks the user itself runs only while no other tool
    asks, so that two questions never appear at once.
    """
    queue: asyncio.Queue[tuple[int, ToolEvent] | BaseException] = asyncio.Queue(_MOST_WAITING)
    one_question, free = asyncio.Lock(), asyncio.Semaphore(SIDE_BY_SIDE)

    async def run(place: int, call: ToolCall) -> None:
        if call.id in problems:
            await queue.put((place, refused(problems[call.id])))
            return
        try:
            async with free, aclosing(_run_call(call, tools, permission, context, one_question)) as events:
                async for event in events:
                    await queue.put((place, event))
        except Exception as error:  # a bug in a tool: raised again by the reader of the queue
            await queue.put(error)

    tasks = [asyncio.create_task(run(place, call)) for place, call in enumerate(calls)]
    results: dict[int, ToolResult] = {}
    told = 0
    try:
        while told < len(calls):
            event = await queue.get()
            if isinstance(event, BaseException):
                raise event
            place, what = event
            if not isinstance(what, ToolResult):
                yield what
                continue
            results[place] = what
            while told in results:
                tool = tools.get(calls[told].name)
                own, shown = bool(tool and tool.trust == "own"), bool(tool and tool.asks_itself)
                yield ToolDone(calls[told], results[told], own_words=own, shown=shown)
                told += 1
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_call(
    call: ToolCall, tools: Mapping[str, Tool[C]], permission: Permission[C], context: C, one_question: asyncio.Lock
) -> AsyncGenerator[ToolEvent]:
    """Run one call. The model gets every error as a result; the user also sees failures of the tool."""
    tool = tools.get(call.name)
    if tool is None:
        near = near_names(call.name, tools)
        hint = f"; there is {' and '.join(near)}" if near else ""
        yield refused(f"there is no tool {call.name[:60]!r}{hint}")
        return
    arguments = read_arguments(call.arguments)
    if arguments is None:
        yield refused("the arguments are not a JSON object")
        return
    parsed = ParsedCall(call.id, call.name, arguments, one_question)
    async with AsyncExitStack() as alone:
        await alone.enter_async_context(one_question)
        decision = await permission.ask(tool, parsed, context)
        if not decision.allowed:
            yield refused(decision.reason)
            return
        shown = tool.plan and tool.effect != "read"  # what the user was shown must still be true when it is done
        if not (tool.asks_itself or shown):
            await alone.aclose()
        try:
            async with aclosing(tool.run(parsed, context)) as events:
                async for event in events:
                    yield event
                    if isinstance(event, ToolResult):
                        return
            yield refused(f"{tool.name} returned no result")
        except AishError as error:
            yield notice("tool.failed", str(error), warning=True, tool=tool.name)
            yield refused(str(error))
