"""Show answers on the terminal while they stream. Loaded after the first prompt, and only if a model is asked."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from aish.values.events import (
    CommandProposed,
    GateEvent,
    Notice,
    ReasoningPiece,
    Remark,
    TextPiece,
    ToolProgress,
    TurnDone,
    TurnEvent,
)
from aish.values.text import exactly, for_terminal, foreign
from aish.views.screen import Screen
from aish.views.themes import Theme


class AnswerScreen(Screen):
    """A screen that shows turns as they happen."""

    def __init__(self, color: str = "auto", *, show_reasoning: bool = False, styles: Theme | None = None) -> None:
        super().__init__(color, styles=styles)
        self._show_reasoning = show_reasoning
        self._spinner: Spinner | None = None
        self._stream: Stream | None = None  # the answer that is being shown
        self.load_stream: Callable[[], Stream] | None = None  # formats answers; None: show them unchanged

    async def show(self, events: AsyncGenerator[TurnEvent]) -> TurnDone | None:
        """Show a turn as it happens, and return how it ended."""
        self._spinner = spinner = (
            Spinner() if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" else None
        )
        loading = asyncio.create_task(asyncio.to_thread(self.load_stream)) if self.load_stream else None
        stream: Stream = AsItIs()
        self._stream = stream
        done = None
        try:
            async with aclosing(events):
                async for event in events:
                    if spinner and not (isinstance(event, ReasoningPiece) and not self._show_reasoning):
                        spinner.stop()
                    match event:
                        case TextPiece(text):
                            if loading:
                                self._stream = stream = await loading
                                loading = None
                            stream.feed(text)
                            sys.stdout.flush()
                        case ReasoningPiece(text) if self._show_reasoning:
                            sys.stderr.write(self.styled(foreign(text), "dim"))
                            sys.stderr.flush()
                        case Notice(text, warning):
                            stream.pause()
                            self.note(text, warning=warning)
                        case ToolProgress(_, text):
                            stream.pause()
                            self.note(text)
                        case TurnDone():
                            done = event
        finally:
            if spinner:
                spinner.stop()
            stream.finish()
            self._stream = None
            sys.stdout.flush()
        if done and done.trouble:
            self.note(done.trouble.reason, warning=True)
        return done

    def show_event(self, event: GateEvent) -> None:
        """Show an event of the command gate."""
        self.pause()
        match event:
            case Notice(text, warning):
                self.note(text, warning=warning)
            case CommandProposed(command, verdict):
                self.command("\n".join(map(exactly, command.split("\n"))), verdict.effect)
            case Remark(text):
                self.say(foreign(text))

    def pause(self) -> None:
        """Stop the spinner and end the line of the answer, because something else is about to be shown."""
        if self._spinner:
            self._spinner.stop()
        if self._stream:
            self._stream.pause()


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


class Spinner:
    """Shows the elapsed time if an answer takes long to start, and removes it afterwards."""

    def __init__(self, delay: float = 0.4) -> None:
        self._shown = False
        self._task: asyncio.Task[None] | None = asyncio.get_running_loop().create_task(self._turn(delay))

    async def _turn(self, delay: float) -> None:
        started = time.monotonic()
        await asyncio.sleep(delay)
        while True:
            self._shown = True
            sys.stderr.write(f"\r… {time.monotonic() - started:.0f} s")
            sys.stderr.flush()
            await asyncio.sleep(0.5)

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
