"""The user's long-running shell, which keeps directory, environment, aliases, functions, jobs and history."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

from aish.action.capture import MOST, Capture
from aish.action.shell_names import assigned, jobs
from aish.action.shell_protocol import (
    TELL_HISTORY,
    Before,
    End,
    Marks,
    answer,
    edited_in_files,
    leaving,
    line_file,
    may_change_rules,
    may_define,
    may_stop,
    names_exit,
    quoted,
    run_line,
    say_end,
    tell_rules,
)
from aish.action.shell_startup import EDITING, start_file
from aish.action.shell_words import BUILTINS
from aish.action.terminal import Terminal, raw
from aish.action.terminal_output import TerminalOutput
from aish.storage.files import make_directory, private_opener, write_all
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.outcomes import Outcome

_SOON = 0.005  # seconds between looks at a file that the shell writes
_ABOUT_TO_START = 0.1  # seconds that a shell needs to start a program
_TRIES = 20  # how often the shell is asked to repeat an end mark lost to Ctrl-C
_READY_SECONDS = 30.0
_RULES_SECONDS = 0.5  # to wait until the shell has written its rules for completion
_PATIENCE = 2.0  # seconds for hooks of an empty line, and for the trap of the exit
Show = Callable[[bytes], object]


class Names(NamedTuple):
    """The aliases and functions of the shell, and its PATH."""

    aliases: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()  # and builtins that bash does not have
    path: str = ""


class HistorySettings(NamedTuple):
    """What the shell is told about its history: variables of bash and zsh, as they are."""

    control: str = ""
    ignore: str = ""
    zsh_ignore: str = ""
    file: str = ""


class UserShell:
    """One shell in one pseudo-terminal.

    1. A line runs as if it had been typed at the shell's own prompt; nothing else runs in it.
    2. Keys typed while a line runs go to the program and are never recorded.
    3. If the shell dies, the next line starts a new one.
    4. Lines are passed to the shell in files. A process that can write them can run anything, so they are in `private`.
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
        login: bool = False,
    ) -> None:
        self._use(program)
        self._env = env
        self._login = login
        self._extra = extra  # a program that is added at the end of PATH
        self._private = private  # a directory that commands of the model can neither read nor write
        self._patience = patience  # seconds that the start may take
        self.directory = str(directory)
        self._replaced = ""  # the program that startup files started in place of the shell
        self._before = Before()
        self.names = Names()
        self.history = HistorySettings()
        self.variables: set[str] = set()
        self.greeting = ""  # the output of its startup files, or why it runs without them
        self.printed = b""  # the output of its startup files and of the hooks of the first prompt, as it was
        self._terminal: Terminal | None = None
        self._input = -1
        self._marks = Marks("")
        self._stopped = False
        self._number = 0  # of the last request
        self._changes = 0  # how often the rules for completion may have changed
        self._files: tempfile.TemporaryDirectory[str] | None = None

    @property
    def status(self) -> int:
        """The status of the last line."""
        return self._before.status

    @property
    def keys(self) -> str:
        """The key bindings that the user chose in the shell: vi, emacs or empty."""
        return "vi" if "i" in self._before.flags else "emacs" if "m" in self._before.flags else ""

    @property
    def terminal(self) -> Terminal | None:
        return self._terminal

    @property
    def started(self) -> bool:
        return self._terminal is not None and self._terminal.alive

    def start(self) -> None:
        """Start the shell and wait until it is ready. Raises `StoreTrouble`.

        If startup files replace the shell by another one that we know, that one is used.
        """
        ready = self._start(users_files=True)
        if not ready and Path(self._replaced).name in ("bash", "zsh") and not self._stopped:
            self._use(self._replaced)
            ready = self._start(users_files=True)
        if not ready:
            why = f"they start {Path(self._replaced).name}" if self._replaced else "they exit or hang"
            if self._stopped or not self._start(users_files=False):
                raise StoreTrouble(f"cannot use {self._program} as your shell: it exits at once")
            self.printed = b""
            self.greeting = f"{self._program} runs without your startup files, because {why}"
        self._changes += 1
        self._update_names()
        self._update_history()

    def _use(self, program: str) -> None:
        self._program, self.kind = program, "zsh" if Path(program).name == "zsh" else "bash"

    def skip_files(self) -> None:
        """End a start in another thread that waits for startup files; it goes on without them."""
        if terminal := self._terminal:
            terminal.end()

    def _start(self, *, users_files: bool) -> bool:
        self.close()
        self._files = _directory_in(self._private)
        self._terminal, token = Terminal(), secrets.token_hex(12)
        self._marks = Marks(token)
        zsh, home = self.kind == "zsh", Path(self._files.name)
        start = home / (".zshrc" if zsh else "bashrc")
        text = start_file(
            self.kind,
            token=token,
            tty=self._terminal.name,
            files=str(home),
            users_files=users_files,
            login=self._login,
        )
        for name, switch in {**EDITING, "traps": "", "jobs": ""}.items():  # the shell's umask may let others read
            _write_file(home / name, switch.encode())
        _write_file(start, text.encode("utf-8", "surrogateescape"))
        command = [
            self._program,
            *(
                ("-i", "-s", *(("-l",) if self._login else ()))
                if zsh
                else ("--rcfile", str(start), "--noediting", "-i")
            ),
        ]
        more = {"ZDOTDIR": str(home), "__aish_home": self._env.get("ZDOTDIR", "")} if zsh else {}
        # Child processes may use this directory after aish exits, so nobody else may be able to recreate it.
        lasting = home.parent == self._private and os.pathsep not in str(home)
        if self._extra and lasting and _link(self._extra, home / "bin"):
            others = self._env.get("PATH", os.defpath)  # without empty entries, which mean the current directory
            more["PATH"] = os.pathsep.join(filter(None, (others, str(home / "bin"))))
        there = self.directory if Path(self.directory).is_dir() else "/"
        reading, self._input = os.pipe()
        try:
            self._terminal.start(command, env={**self._env, **more}, cwd=there, stdin=reading)
        finally:
            os.close(reading)
        greeting = Capture()
        self._number, self._replaced = 1, ""
        first = _binary(self._program, self._env.get("PATH"))
        self._write(say_end(self._number))

        def check() -> None:
            terminal = self._terminal
            if terminal and first and (now := terminal.program) not in ("", first):
                self._replaced = now
                terminal.end()

        end = self._until_end(greeting.feed, seconds=self._patience, check=check if users_files else None)
        self.greeting, self.printed = greeting.text(MOST), greeting.head()
        self._before = Before(0, (0,), end.flags if end else "")
        return end is not None

    def run(self, line: str, show: Show, *, keys: int | None = None, remembered: str = "") -> Outcome:
        """Run a line, show its output and return its outcome. `keys` is the terminal at which the user types.

        Raises `StoreTrouble`. It blocks, so callers run it in a thread.
        """
        if not self.started:
            self.start()
        assert self._terminal and self._files
        capture = Capture()
        showing = TerminalOutput(show, capture)
        self._terminal.resize()
        told = Path(self._files.name) / "line"
        text = edited_in_files(line, self._files.name) if self.kind == "bash" else line
        text = leaving(text) if self._login and self.kind == "bash" else text
        _write_file(told, line_file(text, remembered, self._before, self.names.functions, kind=self.kind))
        self._number += 1
        stops = may_stop(line, self._before)
        self._write(run_line(self._number, tty=self._terminal.name, stops=stops))
        try:
            with raw(keys) if keys is not None else nullcontext():
                end = self._until_end(showing.take, keys=keys)
                showing.tidy()
        finally:
            told.unlink(missing_ok=True)  # it may contain a password
        if end is None:
            code, process = self._terminal.wait(), self._terminal.process
            killed = process is None or process.returncode < 0
            self.close()
            left = not killed and (not stops or names_exit(line))
            return Outcome(code, capture.text(MOST), self.directory, died=True, left=left)
        moved, self.directory = end.directory != self.directory, end.directory
        self._before = Before(end.status, end.pipe, end.flags)
        self.variables |= assigned(line)
        unread = self._terminal.unread()
        self._terminal.restore_modes()
        if moved or may_define(line) or not self.names.functions.isdisjoint(line.split()):  # direnv, nvm, deactivate
            self._update_names()
        if "HIST" in line or may_define(line):
            self._update_history()
        self._changes += may_change_rules(line)
        return Outcome(end.status, capture.text(MOST), end.directory, moved=moved, unread=unread)

    def refresh(self, show: Show) -> None:
        """Let the shell report finished jobs and run the hooks of its prompt, as an empty line does."""
        if self.started and self._terminal:
            self._number += 1
            self._write(say_end(self._number))
            showing = TerminalOutput(show, Capture())
            if end := self._until_end(showing.take, seconds=_PATIENCE):
                self.directory = end.directory
            showing.tidy()

    def leave(self, show: Show) -> None:
        """End the shell as `exit` does: its trap for the exit runs, and programs in the background live on."""
        if self.started:
            self._write(" builtin exit 2>/dev/null\n")
            self._until_end(TerminalOutput(show, Capture()).take, seconds=_PATIENCE)
        self.close()

    def idle_output(self) -> bytes:
        """Return what background programs have printed since the last line."""
        data = self._terminal.read_some() if self._terminal else b""
        return b"".join(part for part in self._marks.read(data) if isinstance(part, bytes)) if data else b""

    def environment(self) -> dict[str, str]:
        """Return the environment that the shell passes to programs. Raises `StoreTrouble`."""
        if not self.started:
            self.start()
        data = self._ask("command -p env -0 >|{}", "environment")
        pairs = (entry.partition("=") for entry in os.fsdecode(data).split("\0") if "=" in entry)
        found = {name: value for name, _, value in pairs if not name.startswith("BASH_FUNC_")}
        return found or dict(self._env)

    def jobs(self) -> list[tuple[str, str]]:
        """Return the jobs after the last line: the name, such as `%1`, and what it is."""
        try:
            path = Path(self._files.name) / "jobs" if self._files else None
            return jobs(path.read_text(encoding="utf-8", errors="replace")) if path else []
        except OSError:
            return []

    def numbered(self, number: int) -> str:
        """Return the command with this number in the shell's own history; empty if there is none."""
        if not self.started:
            return ""
        found, _, command = self._ask(f"__aish_past {number} {{}}", "past").decode("utf-8", "replace").partition(" ")
        return command.strip() if found.strip() == str(number) else ""

    def rules(self) -> str:
        """Return a file with the rules and functions for completion, written by the shell; empty if there is none.

        The shell must be idle. It may be called in another thread than `run`: nothing is read from the terminal, and a
        line that is sent meanwhile runs afterwards.
        """
        if not self.started or not (files := self._files):
            return ""
        home, name = Path(files.name), f"rules-{self._changes}"
        done = home / f"{name}.done"
        if not done.exists():
            for old in home.glob("rules-*"):
                old.unlink(missing_ok=True)
            self._write(tell_rules(str(home / name)))
            deadline = time.monotonic() + _RULES_SECONDS
            while not done.exists() and time.monotonic() < deadline:
                time.sleep(_SOON)
        return str(home / name) if done.exists() else ""

    def prompt(self, show: Show) -> str:
        """Return the user's own prompt, expanded by the shell; empty without a running shell."""
        if not self.started:
            return ""
        return self._ask("__aish_prompt {}", "prompt", show).decode("utf-8", "replace")

    def adopt(self, directory: str, changed: Mapping[str, str], gone: tuple[str, ...]) -> None:
        """Apply a directory and environment changes to the user's shell."""
        parts = [f"export {name}={quoted(value)}" for name, value in changed.items() if name.isidentifier()]
        parts += [f"unset {name}" for name in gone if name.isidentifier()]
        parts += [f"cd -- {quoted(directory)}"] if directory != self.directory else []
        self.run("; ".join(parts), lambda data: None)

    def stop(self) -> None:
        """Abort a start that is in progress in another thread; it is not retried."""
        self._stopped = True
        if terminal := self._terminal:
            terminal.end()

    def close(self) -> None:
        """End the shell and the programs in it."""
        input, self._input = self._input, -1  # first, because two threads may call this
        terminal, self._terminal = self._terminal, None
        files, self._files = self._files, None
        if terminal:
            terminal.close()  # before its input: a shell that gets SIGHUP also ends its jobs
        if input >= 0:
            os.close(input)
        if files:
            files.cleanup()

    def _update_names(self) -> None:
        """Update the names that the shell knows."""
        path, _, rest = os.fsdecode(self._ask("__aish_words {}", "words")).partition("\n")
        aliases, _, rest = rest.partition("\n--\n")
        functions, _, variables = rest.partition("\n--\n")
        known = (line.removeprefix("alias ").partition("=")[0] for line in aliases.split("\n") if "=" in line)
        ours = frozenset(name for name in functions.split() if not name.startswith("__aish_")) - BUILTINS
        self.names = Names(frozenset(known), ours, path)
        self.variables = {name for name in variables.split() if name.isidentifier() and not name.startswith("__aish_")}

    def _update_history(self) -> None:
        """Update what the shell is told about its history."""
        found = os.fsdecode(self._ask(TELL_HISTORY, "history")).split("\0")
        if len(found) == len(HistorySettings._fields) + 1:  # each value ends in a NUL
            self.history = HistorySettings(*found[:-1])

    def _ask(self, command: str, name: str, show: Show = lambda data: None) -> bytes:
        """Let the shell write its answer into a file, and return the content. `show` gets output of the background."""
        assert self._files
        path = Path(self._files.name) / name
        self._number += 1
        self._write(answer(self._number, command.format(quoted(str(path)))))
        try:
            return path.read_bytes() if self._until_end(show, seconds=_READY_SECONDS) else b""
        except OSError:
            return b""
        finally:
            path.unlink(missing_ok=True)  # an environment contains secrets

    def _write(self, text: str) -> None:
        try:
            write_all(self._input, text.encode())
        except OSError:
            pass  # the shell has died; the caller that waits for its answer notices

    def _until_end(
        self,
        take: Show,
        *,
        keys: int | None = None,
        seconds: float | None = None,
        check: Callable[[], None] | None = None,
    ) -> End | None:
        """Pass output on until the shell reports the end; None if it died or took too long. `check` runs meanwhile."""
        terminal, number = self._terminal, self._number
        assert terminal
        ends: list[End] = []
        begun: list[float] = []  # times
        again: list[int] = []

        def read(data: bytes) -> bool:
            for part in self._marks.read(data):
                if isinstance(part, bytes):
                    take(part)
                elif part.number == number:
                    ends.append(part) if isinstance(part, End) else begun.append(time.monotonic())
            return bool(ends)

        def running(interrupted: bool) -> bool:
            """May keys be passed on? Not before the program runs: the shell would lose a Ctrl-C meant for it.

            If Ctrl-C has removed the end mark, ask the shell to print it again.
            """
            if check:
                check()
            alone = terminal.process is not None and terminal.foreground == terminal.process.pid
            if interrupted and alone and len(again) < _TRIES:
                again.append(number)
                self._write(f"\n{say_end(number)}")
            return bool(begun) and (not alone or time.monotonic() > begun[0] + _ABOUT_TO_START)

        terminal.relay(read, keys, seconds, ready=running)
        return ends[0] if ends else None


def _binary(program: str, path: str | None) -> str:
    """Return the file of a program as the system names it; empty if it is a script, which runs other programs."""
    try:
        file = Path(shutil.which(program, path=path) or program).resolve(strict=True)
        with file.open("rb") as opened:
            return "" if opened.read(2) == b"#!" else str(file)
    except OSError:
        return ""


def _directory_in(place: Path | None) -> "tempfile.TemporaryDirectory[str]":
    """Create a private directory in `place`, or in the temporary directory as a fallback. Raises `StoreTrouble`."""
    for parent in (place, None) if place else (None,):
        try:
            if parent:
                make_directory(parent)
            return tempfile.TemporaryDirectory(prefix="aish-", dir=parent, ignore_cleanup_errors=True)
        except OSError as error:
            trouble = error
    raise StoreTrouble(f"cannot create files for your shell: {trouble.strerror or trouble}") from trouble


def _link(program: Path, directory: Path) -> bool:
    """Link one program into a new directory, so that its neighbours do not get on the user's PATH."""
    try:
        directory.mkdir(mode=0o700)
        (directory / program.name).symlink_to(program)
    except OSError:
        return False
    return True


def _write_file(path: Path, data: bytes) -> None:
    """Write one of our files; recreate its directory if it was deleted. Raises `StoreTrouble`."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open(path, "wb", opener=private_opener) as file:
            file.write(data)
    except OSError as error:
        raise StoreTrouble(f"cannot pass the line to your shell: {error.strerror or error}") from error
