"""Measure the time from a key press to the screen, with a long history and the classification of the typed line."""

import asyncio
import io
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.vt100 import Vt100_Output

from aish.action.shell_words import ShellWords
from aish.intake.routing import route
from aish.memory.command_history.loading import Sources
from aish.memory.command_history.typed_lines import TypedLines
from aish.views.command_history import CommandHistory
from aish.views.line_editor import LineEditor, Look
from aish.views.prompt import PromptFacts, fill

HISTORY = 2_000
LINES = (
    "git log --oneline --since=yesterday | head -20",
    "why does this loop never end when the list is empty?",
    "find . -name '*.py' -newer setup.cfg -print0 | xargs -0 grep -l TODO",
    ":memory list preferences about units and editors",
    "what was the name of the tool that we looked at last week",
    'for file in *.txt; do mv "$file" "${file%.txt}.md"; done',
)


def measure() -> dict[str, float]:
    """Return the seconds per key, median and 95th percentile: typing, backspace, history search.

    On a busy machine other processes are counted too; the processor time shows the editor's own cost.
    """
    words = ShellWords(os.environ.get("PATH", ""), ".")

    def line_kind(line: str) -> tuple[str, str]:
        found = route(line, words)
        return ("colon", "") if line.startswith(":") else (found.kind, found.reason)

    with tempfile.TemporaryDirectory() as directory, create_pipe_input() as keys:
        history = Path(directory) / "typed"
        _fill(history)
        typed = TypedLines(history, str)
        size = Size(rows=40, columns=100)
        editor = LineEditor(
            CommandHistory(None, typed, lambda: Sources(None, typed, tuple)),
            lambda text: (),
            route=line_kind,
            look=Look(known=lambda name: bool(words.kind(name))),
            input=keys,
            output=Vt100_Output(io.StringIO(), lambda: size, enable_cpr=False),
        )
        return asyncio.run(_measure(editor))


def _fill(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(HISTORY):
            file.write(f"\n# 2026-01-01\n+{LINES[number % len(LINES)]} and number {number}\n")


async def _measure(editor: LineEditor) -> dict[str, float]:
    prompt = fill("{model} {cwd} {git}{sign} ", PromptFacts(model="bench", directory="/home/bench", branch="main"))
    reading = asyncio.create_task(editor.read_line(prompt))
    for _ in range(50):
        await asyncio.sleep(0)  # until the editor has started and read its history
    backspace, up, search, leave = (KeyPress(key) for key in (Keys.Backspace, Keys.Up, Keys.ControlR, Keys.ControlG))
    typed, erased, found = [], [], []
    for line in LINES * 3:
        typed += await _press(editor, [KeyPress(letter) for letter in line])
        erased += await _press(editor, [backspace] * len(line))
        found += await _press(editor, [KeyPress(letter) for letter in line[:3]] + [up] * 10)
        found += await _press(editor, [search, *(KeyPress(letter) for letter in "number 1"), leave])
        await _press(editor, [KeyPress(Keys.ControlU)])
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    every = [*typed, *erased, *found]
    walls = {"typing": typed, "backspace": erased, "history": found, "a key": every}
    return {
        "a key, median": statistics.median(wall for wall, _ in every),
        **{f"{name}, 95 %": _at_95([wall for wall, _ in seconds]) for name, seconds in walls.items()},
        "a key, 95 %, processor": _at_95([used for _, used in every]),
    }


async def _press(editor: LineEditor, keys: Sequence[KeyPress]) -> list[tuple[float, float]]:
    """Return the seconds for each key until its effect is drawn: wall time and processor time."""
    app, drawn = editor.app, asyncio.Event()

    def show(_: object) -> None:
        drawn.set()

    app.after_render += show
    seconds = []
    for key in keys:
        drawn.clear()
        started, used = time.perf_counter(), time.process_time()
        app.key_processor.feed(key)
        app.key_processor.process_keys()
        await drawn.wait()
        seconds.append((time.perf_counter() - started, time.process_time() - used))
        for _ in range(4):
            await asyncio.sleep(0)  # a suggestion from history may still arrive and be drawn separately
    app.after_render -= show
    return seconds


def _at_95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(0.95 * (len(seconds) - 1))]
