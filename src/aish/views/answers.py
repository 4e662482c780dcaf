"""Show answers on the terminal while they stream. Loaded after the first prompt, and only if a model is asked."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Protocol

from aish.acting.steps import StepList, is_short
from aish.action.proposals import proposals
from aish.storage.files import write_all
from aish.values.events import (
    CommandProposed,
    GateEvent,
    Notice,
    ReasoningPiece,
    Remark,
    TextPiece,
    ThoughtSoFar,
    ToolProgress,
    ToolUsed,
    TurnDone,
    TurnEvent,
)
from aish.values.text import counted, exactly, for_terminal, foreign
from aish.views.kept_output import KeptOutput
from aish.views.proposal_filter import ProposalFilter
from aish.views.screen import Screen
from aish.views.status_line import StatusLine
from aish.views.themes import Theme


class AnswerScreen(Screen):
    """A screen that shows turns as they happen."""

    def __init__(self, color: str = "auto", *, show_reasoning: bool = False, styles: Theme | None = None) -> None:
        super().__init__(color, styles=styles)
        self.show_reasoning = show_reasoning
        self.status = StatusLine(lambda text: self.styled(text, "dim"), lambda: self.width)
        self.steps: StepList | None = None  # where the model's own steps are kept; None: they are not shown
        self._told_status = 0  # the exit status that the line of the last command has said
        self.hides_proposals = False  # a gate shows them
        self.takes_commands = False  # the user can type a `:` command next
        self._stream: Stream | None = None  # the answer that is being shown
        self._questions, self._answered = 0, asyncio.Event()  # open questions to the user
        self.load_stream: Callable[[], Stream] | None = None  # formats answers; None: show them unchanged

    async def show(self, events: AsyncGenerator[TurnEvent]) -> TurnDone | None:
        """Show a turn as it happens, and return how it ended."""
        status, since = self.status, time.monotonic()
        status.begin(since=since)
        loading = asyncio.create_task(asyncio.to_thread(self.load_stream)) if self.load_stream else None
        stream: Stream = AsItIs()
        self._stream = stream
        proposed = ProposalFilter() if self.hides_proposals else None
        thought = Thought()
        done = None
        try:
            async with aclosing(events):
                async for event in events:
                    while self._questions:  # news of another tool would hide the question
                        await self._answered.wait()
                    if not isinstance(event, ReasoningPiece) or self.show_reasoning:
                        status.stop()
                    if not isinstance(event, ReasoningPiece | ThoughtSoFar | Notice):
                        self._fold(thought)
                    match event:
                        case TextPiece(text):
                            thought.text_so_far.append(text)
                            if loading:
                                self._stream = stream = await loading
                                loading = None
                            stream.feed(proposed.feed(text) if proposed else text)
                            sys.stdout.flush()
                        case ReasoningPiece(text):
                            self._think(thought, text)
                        case ThoughtSoFar():
                            _end_part(stream, proposed)
                            self.note("the text above was the model's thinking, not its answer")
                            thought.add("".join(thought.text_so_far))
                            status.begin(since=since)
                        case Notice(text, warning):
                            stream.pause()
                            self.note(text + self._way_back(event), warning=warning)
                            status.begin(since=since)
                        case ToolProgress(_, text):
                            _end_part(stream, proposed)
                            self.note(text)
                            status.begin(since=since)
                        case ToolUsed(name, arguments, result) if self.steps is not None:
                            _end_part(stream, proposed)
                            self.step(self.steps.add_call(name, arguments, result).line)
                            thought.text_so_far.clear()
                            status.begin(since=since)
                        case TurnDone():
                            done = event
        finally:
            status.stop()
            if proposed:
                stream.feed(proposed.end(_offered(done)))
            stream.finish()
            self._stream = None
            sys.stdout.flush()
        if done and done.trouble:
            self.note(done.trouble.reason, warning=True)
        return done

    def _way_back(self, event: Notice) -> str:
        """Return how to take back what a notice says, if that is possible."""
        numbers = event.fields.get("numbers") if event.code == "secrets.masked" and self.takes_commands else ()
        if not isinstance(numbers, tuple) or not numbers:
            return ""
        last = f" to {numbers[-1]}" if len(numbers) > 1 else ""
        return f"; a mistake? :unmask {numbers[0]}{last}"

    def _think(self, thought: "Thought", text: str) -> None:
        """Show a piece of thinking if that is wanted, otherwise how much there is."""
        thought.add(text)
        if self.show_reasoning:
            sys.stderr.write(self.styled(foreign(text), "dim"))
            sys.stderr.flush()
        else:
            self.status.update(f"thinking · {counted(thought.words, 'word')}")

    def _fold(self, thought: "Thought") -> None:
        """Show thinking that has ended in one line; `:unfold` shows it. On a pipe it is not shown."""
        text, seconds = thought.take()
        if not text:
            return
        if self.show_reasoning:
            print(file=sys.stderr, flush=True)  # what follows begins in a new line
        if self.steps is not None:
            line = self.steps.add_thought(text, seconds).line
        else:
            line = f"thinking · {counted(len(text.split()), 'word')} · {seconds:.1f} s"
        if not self.show_reasoning and sys.stderr.isatty():
            self.step(line)

    def note(self, text: str, *, warning: bool = False) -> None:
        self.status.clear()
        super().note(text, warning=warning)

    def show_event(self, event: GateEvent) -> None:
        """Show an event of the command gate."""
        self.pause()
        told, self._told_status = self._told_status, 0
        match event:
            case Notice(code="command.failed", fields=fields) if told and fields.get("status") == told:
                pass  # the line of the step has said it
            case Notice(text, warning):
                self.note(text, warning=warning)
            case CommandProposed(command, verdict, folded):
                if not folded or self.steps is None:
                    self.command(_exact_lines(command), verdict.effect)
            case Remark(text):
                self.say(foreign(text))

    def begin_command(self, command: str) -> None:
        """Show a command that runs unasked, while it runs."""
        self.pause()
        self.status.begin(exactly(command))

    def end_command(self, command: str, kept: KeptOutput, status: int, seconds: float) -> None:
        """Show a command that ran unasked: with its output, or if that is long in one line with its size."""
        self.status.stop()
        output = kept.text
        step = self.steps.add_command(command, output, kept.lines, status, seconds) if self.steps is not None else None
        if step is None or is_short(output):
            self.command(_exact_lines(command), "read")
            sys.stdout.flush()
            write_all(sys.stdout.fileno(), kept.start)
        else:
            self.step(step.line)
            self._told_status = status

    def aside(self, text: str, *, warning: bool = False) -> None:
        """Write a message in the middle of what is going on, which goes on after it."""
        if self._stream:
            self.status.clear()
            self._stream.pause()
        self.note(text, warning=warning)
        self.status.refresh()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Show nothing of the turn while the user is asked something."""
        self._questions += 1
        self._answered.clear()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._answered.set()

    def pause(self) -> None:
        """Stop the status line and end the line of the answer, because something else is about to be shown."""
        self.status.stop()
        if self._stream:
            self._stream.pause()


class Thought:
    """The thinking of a model while it comes, and for how long; `text_so_far` is the answer after it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._since = time.monotonic()
        self.words = 0
        self.text_so_far: list[str] = []

    def add(self, text: str) -> None:
        if not self._pieces:
            self._since = time.monotonic()
        self._pieces.append(text)
        self.words += text.count(" ") + text.count("\n")

    def take(self) -> tuple[str, float]:
        """Return the thinking and its seconds, and begin anew."""
        text, seconds = "".join(self._pieces).strip(), time.monotonic() - self._since
        self._pieces, self.words = [], 0
        return text, seconds


def _end_part(stream: "Stream", proposed: ProposalFilter | None) -> None:
    """End what was shown so far: the model goes on in a new line after a tool."""
    if proposed:
        stream.feed(proposed.end_part())
    stream.pause()


def _offered(done: TurnDone | None) -> tuple[str, ...]:
    """Return the commands that the gate will show."""
    if done is None:
        return ()
    return proposals(done.text if done.state == "complete" else done.text.rpartition("\n")[0]).offered


def _exact_lines(command: str) -> str:
    return "\n".join(map(exactly, command.split("\n")))


class Stream(Protocol):
    """Contract: shows the pieces of one answer. `pause` ends the line for other output, `finish` ends the answer."""

    def feed(self, text: str) -> None: ...

    def pause(self) -> None: ...

    def finish(self) -> None: ...


class AsItIs:
    """Shows an answer as the model wrote it, for pipes and plain terminals."""

    def __init__(self) -> None:
        self._open = False

    def feed(self, text: str) -> None:
        sys.stdout.write(foreign(text) if sys.stdout.isatty() else for_terminal(text))  # scripts get the text unchanged
        self._open = not text.endswith("\n")

    def pause(self) -> None:
        if self._open:
            print(flush=True)
        self._open = False

    finish = pause
