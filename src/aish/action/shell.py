"""The user's own shell, running all the time: it keeps directory, environment, aliases, functions, jobs and history."""

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from aish.action.capture import MOST, Capture
from aish.action.shell_protocol import End, Marks, line_file, may_define, quoted, run_line, say_end, start_file
from aish.action.shell_words import BUILTINS
from aish.action.terminal import Terminal, raw
from aish.action.terminal_output import TerminalOutput
from aish.values.errors import StoreTrouble
from aish.values.outcomes import Outcome

_ABOUT_TO_START = 0.1  # seconds in which a shell makes a program of a command
_TRIES = 20  # times that it is asked for an end that Ctrl-C has taken away
_READY_SECONDS = 30.0
Show = Callable[[bytes], object]


class Names(NamedTuple):
    """What the shell knows by name besides programs, and where it looks for those."""

    aliases: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()  # and builtins that bash does not have
    path: str = ""


class UserShell:
    """One shell in one pseudo-terminal.

    1. A line runs in it as if it had been typed at its own prompt; nothing else is ever run in it.
    2. What the user types while a line runs goes to the program and is never recorded.
    3. If it dies, the next line starts another one.
    4. Who can write the files through which it is told what to run can run anything: they lie in `private`.
    """

    def __init__(
        self,
        program: str,
        *,
        env: Mapping[str, str],
        directory: Path,
        private: Path | None = None,
        extra: Path | None = None,
        patience: float = _READY_SECONDS,
    ) -> None:
        self._program = program
        self._env = env
        self._extra = extra  # a program that is found after all others
        self._private = private  # where commands of the model can neither read nor write
        self._patience = patience  # seconds that its start may take
        self.directory = str(directory)
        self.status = 0
        self.names = Names()
        self.greeting = ""  # what its start-up files printed, or why it runs without them
        self._terminal: Terminal | None = None
        self._input = -1
        self._marks = Marks("")
        self._stopped = False
        self._number = 0  # of the last thing it was asked to do
        self._files: tempfile.TemporaryDirectory[str] | None = None

    @property
    def terminal(self) -> Terminal | None:
        return self._terminal

    @property
    def started(self) -> bool:
        return self._terminal is not None and self._terminal.alive

    def start(self) -> None:
        """Start the shell and wait until it is ready. Raises `StoreTrouble`."""
        if not self._start(users_files=True):
            if self._stopped or not self._start(users_files=False):
                raise StoreTrouble(f"{self._program} cannot be used as your shell: it ends as soon as it is started")
            self.greeting = f"{self._program} runs without your start-up files, because they end it or do not end"
        self._look_around()

    def _start(self, *, users_files: bool) -> bool:
        self.close()
        self._files = _directory_in(self._private)
        self._terminal, token = Terminal(), secrets.token_hex(12)
        self._marks = Marks(token)
        zsh, home = Path(self._program).name == "zsh", Path(self._files.name)
        start = home / (".zshrc" if zsh else "bashrc")
        text = start_file(
            "zsh" if zsh else "bash",
            token=token,
            tty=self._terminal.name,
            line=str(home / "line"),
            users_files=users_files,
        )
        _write_file(start, text.encode("utf-8", "surrogateescape"))
        command = [self._program, *(("-i", "-s") if zsh else ("--rcfile", str(start), "--noediting", "-i"))]
        more = {"ZDOTDIR": str(home), "__aish_home": self._env.get("ZDOTDIR", "")} if zsh else {}
        # What it starts may look there after our end, so it must be where nobody else can make another.
        lasting = home.parent == self._private and os.pathsep not in str(home)
        if self._extra and lasting and _link(self._extra, home / "bin"):
            others = self._env.get("PATH", os.defpath)  # and no empty name before ours, which is wherever one is
            more["PATH"] = os.pathsep.join(filter(None, (others, str(home / "bin"))))
        there = self.directory if Path(self.directory).is_dir() else "/"
        reading, self._input = os.pipe()
        try:
            self._terminal.start(command, env={**self._env, **more}, cwd=there, stdin=reading)
        finally:
            os.close(reading)
        greeting = Capture()
        self._number = 1
        self._write(say_end(self._number))
        end = self._until_end(greeting.feed, seconds=self._patience)
        self.greeting = greeting.text(MOST)
        return end is not None

    def run(self, line: str, show: Show, *, keys: int | None = None, remembered: str = "") -> Outcome:
        """Run a line, show what it prints, and say how it ended. `keys` is the terminal at which the user types.

        Raises `StoreTrouble`. Runs in a thread of its own, so that the rest of aish goes on.
        """
        if not self.started:
            self.start()
        assert self._terminal and self._files
        capture = Capture()
        showing = TerminalOutput(show, capture)
        self._terminal.resize()
        told = Path(self._files.name) / "line"
        _write_file(told, line_file(line, remembered))
        self._number += 1
        self._write(run_line(self._number, tty=self._terminal.name, status=self.status))
        try:
            with raw(keys) if keys is not None else nullcontext():
                end = self._until_end(showing.take, keys=keys)
                showing.tidy()
        finally:
            told.unlink(missing_ok=True)  # a password may be in it
        if end is None:
            code = self._terminal.wait()
            self.close()
            return Outcome(code, capture.text(MOST), self.directory, died=True)
        moved, self.status, self.directory = end.directory != self.directory, end.status, end.directory
        unread = self._terminal.unread()
        self._terminal.mend()
        if moved or may_define(line) or not self.names.functions.isdisjoint(line.split()):  # direnv, nvm, deactivate
            self._look_around()
        return Outcome(end.status, capture.text(MOST), end.directory, moved=moved, unread=unread)

    def idle_output(self) -> bytes:
        """What programs in the background have printed since."""
        data = self._terminal.read_some() if self._terminal else b""
        return b"".join(part for part in self._marks.read(data) if isinstance(part, bytes)) if data else b""

    def environment(self) -> dict[str, str]:
        """What the shell would give a program as its environment. Raises `StoreTrouble`."""
        if not self.started:
            self.start()
        data = self._ask("command -p env -0 >|{}", "environment")
        pairs = (entry.partition("=") for entry in os.fsdecode(data).split("\0") if "=" in entry)
        found = {name: value for name, _, value in pairs if not name.startswith("BASH_FUNC_")}
        return found or dict(self._env)

    def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Make a directory and an environment the user's own."""
        parts = [f"export {name}={quoted(value)}" for name, value in changed.items() if name.isidentifier()]
        parts += [f"unset {name}" for name in gone if name.isidentifier()]
        parts += [f"cd -- {quoted(directory)}"] if directory != self.directory else []
        self.run("; ".join(parts), lambda data: None)

    def stop(self) -> None:
        """End a start that is under way in another thread; it is not tried again."""
        self._stopped = True
        if terminal := self._terminal:
            terminal.end()

    def close(self) -> None:
        """End the shell and what runs in it."""
        input, self._input = self._input, -1  # at once: two may want to end it
        terminal, self._terminal = self._terminal, None
        files, self._files = self._files, None
        if terminal:
            terminal.close()  # before its input ends: a shell that is hung up on takes its jobs along
        if input >= 0:
            os.close(input)
        if files:
            files.cleanup()

    def _look_around(self) -> None:
        """Learn the names that the shell knows now."""
        path, _, rest = os.fsdecode(self._ask("__aish_words {}", "words")).partition("\n")
        aliases, _, functions = rest.partition("\n--\n")
        known = (line.removeprefix("alias ").partition("=")[0] for line in aliases.split("\n") if "=" in line)
        ours = frozenset(name for name in functions.split() if not name.startswith("__aish_")) - BUILTINS
        self.names = Names(frozenset(known), ours, path)

    def _ask(self, command: str, name: str) -> bytes:
        """What the shell writes into a file for us."""
        assert self._files
        path = Path(self._files.name) / name
        self._number += 1
        self._write(say_end(self._number, command.format(quoted(str(path)))))
        try:
            return path.read_bytes() if self._until_end(lambda data: None, seconds=_READY_SECONDS) else b""
        except OSError:
            return b""
        finally:
            path.unlink(missing_ok=True)  # an environment has secrets in it

    def _write(self, text: str) -> None:
        data = text.encode()
        try:
            while data:
                data = data[os.write(self._input, data) :]
        except OSError:
            pass  # it has died, which is noticed by who waits for its answer

    def _until_end(self, take: Show, *, keys: int | None = None, seconds: float | None = None) -> End | None:
        """Pass output on until the shell says that it is done; None if it died or took too long."""
        terminal, number = self._terminal, self._number
        assert terminal
        ends: list[End] = []
        begun: list[float] = []  # when
        again: list[int] = []

        def read(data: bytes) -> bool:
            for part in self._marks.read(data):
                if isinstance(part, bytes):
                    take(part)
                elif part.number == number:
                    ends.append(part) if isinstance(part, End) else begun.append(time.monotonic())
            return bool(ends)

        def running(interrupted: bool) -> bool:
            """Keys wait for the command: a shell that is about to start a program would swallow Ctrl-C for it.

            If Ctrl-C has taken the end away, the shell is asked to say it again.
            """
            alone = terminal.process is not None and terminal.foreground == terminal.process.pid
            if interrupted and alone and len(again) < _TRIES:
                again.append(number)
                self._write(f"\n{say_end(number)}")
            return bool(begun) and (not alone or time.monotonic() > begun[0] + _ABOUT_TO_START)

        terminal.relay(read, keys, seconds, ready=running)
        return ends[0] if ends else None


def _directory_in(place: Path | None) -> "tempfile.TemporaryDirectory[str]":
    """A directory of our own in a place, or among temporary files if that cannot be written. Raises `StoreTrouble`."""
    for parent in (place, None) if place else (None,):
        try:
            if parent:
                parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return tempfile.TemporaryDirectory(prefix="aish-", dir=parent, ignore_cleanup_errors=True)
        except OSError as error:
            trouble = error
    raise StoreTrouble(f"cannot make files for your shell: {trouble.strerror or trouble}") from trouble


def _link(program: Path, directory: Path) -> bool:
    """Put one program into a directory of its own: what lies beside it is none of the user's business."""
    try:
        directory.mkdir()
        (directory / program.name).symlink_to(program)
    except OSError:
        return False
    return True


def _write_file(path: Path, data: bytes) -> None:
    """Write a file of our own, whose directory somebody may have cleaned away. Raises `StoreTrouble`."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise StoreTrouble(f"cannot tell your shell what to run: {error.strerror or error}") from error
