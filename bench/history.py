"""The list of Ctrl-R with 200,000 commands beside fzf, and keys that are typed while a long history is loaded.

Both programs are used from outside, in a terminal: the time from a key to the row that it must bring to the top.
"""

import asyncio
import io
import os
import pty
import random
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.vt100 import Vt100_Output

from aish.memory.command_history.loading import Sources
from aish.memory.command_history.past_commands import PastCommands
from aish.memory.command_history.shell_files import HistoryFile
from aish.views.command_history import CommandHistory
from aish.views.line_editor import LineEditor
from bench import keys
from bench.timing import Figure

COMMANDS, LONG, ROUNDS = 200_000, 1_000_000, 5
WORDS = """git docker kubectl make pytest vim cd ls grep find python3 npm run build test status commit push origin
    main -m -la --help src tests README.md deploy prod staging logs -f""".split()
# Each letter of the query brings another command to the top, the last ones from the far end of the history.
QUERY = ("q", "u", "o", "k", "k", "a")
TARGETS = ("q 1111111", "qu 2222222", "quo 3333333", "quok 4444444", "quokk 5555555", "quokka 6666666")
PLACES = (1_000, 20_000, 60_000, 100_000, 150_000, 199_990)  # from the newest


def measure(directory: Path, aish: str, env: Mapping[str, str]) -> dict[str, float]:
    """Return the seconds of the first paint and of a key, ours and fzf's, and of keys while a history is loaded."""
    directory.mkdir(parents=True)
    history = directory / ".bash_history"
    history.write_text("\n".join(commands(COMMANDS)) + "\n", encoding="utf-8")
    (directory / ".bashrc").write_text("HISTSIZE=-1 HISTFILESIZE=-1 HISTFILE=\n", encoding="utf-8")
    here = dict(env) | {"HOME": str(directory), "SHELL": "/bin/bash", "AISH_SET_VIEW__PROMPT": "go> "}
    programs: dict[str, Callable[[], Iterator[tuple[str, float]]]] = {"aish": lambda: _ours(aish, here)}
    if fzf := _fzf():
        newest = directory / "newest_first"  # as the key binding of fzf passes it
        newest.write_text("\n".join(reversed(commands(COMMANDS))) + "\n", encoding="utf-8")
        programs["fzf"] = lambda: _fzfs(fzf, newest, here)
    seen: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, run in programs.items():
            for what, seconds in run():
                seen.setdefault(f"{name}, {what}", []).append(seconds)
    times = {f"{name}, median": statistics.median(values) for name, values in seen.items()}
    times |= {f"{name}, 95 %": sorted(values)[int(0.95 * (len(values) - 1))] for name, values in seen.items()}
    return times | _lookups(history) | _own_cost(history) | _while_loading(directory / "long")


def figures(times: Mapping[str, float]) -> list[Figure]:
    rows = [
        ("Ctrl-R, first paint", "aish, list appears, 95 %, processor", "ms at 200,000 commands", 30, 1e3),
        ("Ctrl-R, a key", "aish, key in the list, 95 %, processor", "ms at 200,000 commands", 10, 1e3),
        ("suggestion", "suggestion from history, slowest", "ms at 200,000 commands", 1, 1e3),
        ("key while loading", "a key while 1,000,000 lines load, 95 %", "ms", 20, 1e3),
    ]
    return [
        Figure(name=name, value=times[key] * scale, unit=unit, limit=limit) for name, key, unit, limit, scale in rows
    ]


def commands(count: int) -> list[str]:
    """Return commands, oldest first, with the targets in their places."""
    choose = random.Random(7)
    made = [f"{' '.join(choose.choices(WORDS, k=choose.randint(2, 8)))} x{number}" for number in range(count)]
    for place, target in zip(PLACES, TARGETS, strict=True):
        made[count - 1 - place] = target
    made[-1] = "newest 0000000"
    return made


def _ours(aish: str, env: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    with _terminal([aish], env) as screen:
        screen.until(b"go>")
        screen.until(b"\x1b[?2004h")
        screen.send(b"\x12")
        screen.until(b"200,00")  # everything is loaded
        screen.send(b"\x07")
        screen.settle()
        yield "list appears", screen.seconds(b"\x12", b"0000000")
        for key, target in zip(QUERY, TARGETS, strict=True):
            screen.settle()
            yield "key in the list", screen.seconds(key.encode(), target[-7:].encode())


def _fzfs(fzf: str, history: Path, env: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    started = time.perf_counter()
    command = f"{fzf} --scheme=history --height=20 < {history}"
    with _terminal(["sh", "-c", command], env) as screen:
        screen.until(b"0000000")
        yield "list appears", time.perf_counter() - started
        screen.until(b"200000/200000")
        for key, target in zip(QUERY, TARGETS, strict=True):
            screen.settle()
            yield "key in the list", screen.seconds(key.encode(), target[-7:].encode())


class _Screen:
    """What a program in a terminal has written."""

    def __init__(self, fd: int) -> None:
        self._fd, self._new = fd, b""

    def send(self, data: bytes) -> None:
        self._new = b""
        os.write(self._fd, data)

    def seconds(self, data: bytes, mark: bytes) -> float:
        started = time.perf_counter()
        self.send(data)
        self.until(mark)
        return time.perf_counter() - started

    def until(self, mark: bytes, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while mark not in self._new:
            if not self._read(max(deadline - time.monotonic(), 0.0)):
                raise TimeoutError(f"{mark!r} did not appear in {self._new[-300:]!r}")

    def settle(self) -> None:
        """Wait until nothing more is written."""
        while self._read(0.15):
            pass

    def _read(self, seconds: float) -> bool:
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        self._new += os.read(self._fd, 65536)
        if b"\x1b[6n" in self._new:  # the program asks for the cursor position; a real terminal answers
            os.write(self._fd, b"\x1b[1;1R")
            self._new = self._new.replace(b"\x1b[6n", b"")
        return True


@contextmanager
def _terminal(command: list[str], env: Mapping[str, str]) -> Iterator[_Screen]:
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, dict(env))
    try:
        ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        yield _Screen(fd)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def _fzf() -> str | None:
    """Return fzf from the machine, or from the registry in an environment of its own; None if there is none."""
    if there := shutil.which("fzf"):
        return there
    home = Path(__file__).parent / "out" / "peers"
    if not home.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "iterfzf"]
    if not (found := list(home.glob("lib/*/site-packages/iterfzf/fzf"))):
        subprocess.run(pip, check=False)
        found = list(home.glob("lib/*/site-packages/iterfzf/fzf"))
    return str(found[0]) if found else None


def _lookups(history: Path) -> dict[str, float]:
    """Return the slowest suggestion, and how long the whole load takes."""
    past, started = PastCommands(), time.perf_counter()
    Sources(None, None, lambda: [HistoryFile("bash", history)]).load_all(past, lambda: None)
    loaded, slowest = time.perf_counter() - started, 0.0
    for text in ("g", "git co", "git commit zz", "zz", "quokka", "docker run -"):
        slowest = max(slowest, min(_suggested(past, text) for _ in range(5)))
    return {"history of 200,000 commands loaded": loaded, "suggestion from history, slowest": slowest}


def _suggested(past: PastCommands, text: str) -> float:
    started = time.perf_counter()
    past.suggest(text)
    return time.perf_counter() - started


def _own_cost(history: Path) -> dict[str, float]:
    """Return the processor time of the list itself: on a busy machine, other processes are counted above."""
    sources = Sources(None, None, lambda: [HistoryFile("bash", history)])
    loaded = CommandHistory(open_sources=lambda: sources)
    with create_pipe_input() as source:
        output = Vt100_Output(io.StringIO(), lambda: Size(rows=30, columns=100), enable_cpr=False)
        opened, pressed = asyncio.run(
            _use_list(LineEditor(loaded, lambda text: (), input=source, output=output), loaded)
        )
    return {
        "aish, list appears, 95 %, processor": sorted(opened)[int(0.95 * (len(opened) - 1))],
        "aish, key in the list, 95 %, processor": sorted(pressed)[int(0.95 * (len(pressed) - 1))],
    }


async def _use_list(editor: LineEditor, history: CommandHistory) -> tuple[list[float], list[float]]:
    reading = asyncio.create_task(editor.read_line("go> "))
    history.start()
    while not history.loaded:  # noqa: ASYNC110  # a thread loads it
        await asyncio.sleep(0.05)
    await keys.press(editor, [KeyPress("x"), KeyPress(Keys.Backspace)])  # the first key of a process costs more
    opened: list[float] = []
    pressed: list[float] = []
    for _ in range(3 * ROUNDS):
        opened += [used for _, used in await keys.press(editor, [KeyPress(Keys.ControlR)])]
        for letter in QUERY:
            pressed += [used for _, used in await keys.press(editor, [KeyPress(letter)])]
            await asyncio.sleep(0.02)  # as fast as people type at best
        await keys.press(editor, [KeyPress(Keys.ControlG)])
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return opened, pressed


def _while_loading(path: Path) -> dict[str, float]:
    """Return the seconds for a key while a thread loads a long history."""
    path.write_text("\n".join(commands(LONG)) + "\n", encoding="utf-8")
    sources = Sources(None, None, lambda: [HistoryFile("bash", path)])
    history = CommandHistory(open_sources=lambda: sources)
    with create_pipe_input() as source:
        output = Vt100_Output(io.StringIO(), lambda: Size(rows=40, columns=100), enable_cpr=False)
        editor = LineEditor(history, lambda text: (), input=source, output=output)
        pressed = asyncio.run(_press_while_loading(editor, history))
    return {
        "a key while 1,000,000 lines load, 95 %": sorted(pressed)[int(0.95 * (len(pressed) - 1))],
        "a key while 1,000,000 lines load, slowest": max(pressed),
    }


async def _press_while_loading(editor: LineEditor, history: CommandHistory) -> list[float]:
    reading = asyncio.create_task(editor.read_line("go> "))
    history.start()
    for _ in range(20):
        await asyncio.sleep(0)
    pressed: list[float] = []
    while not history.loaded:
        pressed += [wall for wall, _ in await keys.press(editor, [KeyPress(letter) for letter in "git status"])]
        await keys.press(editor, [KeyPress(Keys.ControlU)])
        await asyncio.sleep(0.05)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return pressed
