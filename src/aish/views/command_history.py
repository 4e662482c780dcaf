"""The history of the interactive shell: loads it in the background, records commands, and says which lines to hide."""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.history_rules import HistoryRules
from aish.memory.command_history.past_commands import PastCommands
from aish.memory.command_history.typed_lines import TypedLines
from aish.memory.secret_hints import may_hold_secret
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple
from aish.values.outcomes import Outcome
from aish.values.past_command import PastCommand
from aish.views.crash import file_report

if TYPE_CHECKING:  # loaded by the thread that needs it
    from aish.memory.command_history.loading import Sources

MOST_LINES = 10_000  # that Up goes through
_PAUSE = 0.0005  # seconds; while the loader sleeps, keys are handled


class Run(NamedTuple):
    """A command that has begun: where and when."""

    line: str
    directory: str
    time: float
    clock: float  # for the duration; `time` may be set while a command runs


class CommandHistory:
    """What was typed and run.

    1. Loading never delays a key: it is done in a thread that sleeps after each millisecond of work.
    2. A hidden line is in no list and no file.
    3. Without files, or if they cannot be written, the history of this shell works in memory.
    """

    def __init__(
        self,
        store: CommandStore | None = None,
        typed: TypedLines | None = None,
        open_sources: Callable[[], "Sources | None"] = lambda: None,
        rules: Callable[[], HistoryRules | None] = HistoryRules,
        wait_for_shell: Callable[[], object] = lambda: None,
        directory: Callable[[], str] = os.getcwd,
    ) -> None:
        self.directory = directory  # the current one of the user's shell
        self.past = PastCommands()
        self._store, self._typed, self._open_sources = store, typed, open_sources
        self._rules = rules  # None while the shell starts, which sets them
        self._waiting: list[tuple[str, datetime]] = []  # lines that were typed before the rules were known
        self._wait_for_shell = wait_for_shell
        self._host = os.uname().nodename
        self._loader: threading.Thread | None = None
        self._begun, self._loaded = threading.Event(), threading.Event()
        self.loads = 0  # how often the history was loaded
        self._version = store.version if store else 0
        self._read_to = 0  # the offset in the store up to which commands of other shells are known
        self._own = set[tuple[int, str]]()  # own commands: their milliseconds, which others may share, and conversation

    def start(self) -> None:
        """Begin to load what was typed and run before."""
        if self._loader is None:
            self.loads += 1
            self._loader = threading.Thread(target=self._load, daemon=True, name="history")
            self._loader.start()

    def _load(self) -> None:
        try:
            if self._store:
                self._read_to = self._store.appended(sys.maxsize)[1]
            if sources := self._open_sources():
                sources.load_newest(self.past, lambda: None)
                self._begun.set()
                self._wait_for_shell()  # it knows the name of its history file
                sources.load_all(self.past, lambda: time.sleep(_PAUSE))
                gc.freeze()  # the garbage collector would go through all commands at a key
        except Exception:  # the shell works without its history
            file_report(may_hold_secret)
        finally:
            self._begun.set()
            self._loaded.set()

    def notice_deletions(self) -> None:
        """Load again if commands were deleted, here or in another shell."""
        version = self._store.version if self._store else 0
        if self._version and version != self._version and self.loaded:
            self.past.clear()
            self._begun.clear()
            self._loaded.clear()
            self._loader = None
            self.start()
        self._version = version

    def catch_up(self) -> None:
        """Add the commands that other shells have run meanwhile."""
        if not self._store or not self.loaded:
            return
        commands, self._read_to = self._store.appended(self._read_to)
        for one in commands:
            if (round(one.time * 1000), one.conversation) not in self._own:
                self.past.add(one)

    def lines(self) -> list[str]:
        """Return the newest lines that are loaded, newest first."""
        return list(islice(self.past.texts(), MOST_LINES))

    @property
    def begun(self) -> bool:
        """Are the newest lines loaded?"""
        return self._begun.is_set()

    @property
    def loaded(self) -> bool:
        """Is everything loaded?"""
        return self._loaded.is_set()

    def hides(self, line: str) -> bool:
        """Does a line leave no trace: in history, in what the model is sent, and in the shell's own history?"""
        return (self._rules() or HistoryRules()).hides(line)

    def typed(self, line: str) -> None:
        """Remember a line that was typed, as soon as it is known whether it is hidden."""
        self._waiting.append((line, datetime.now()))  # as the line editor writes it
        self._keep_typed()

    def settle(self) -> None:
        """The last line was no command: it need not wait for the rules of a shell that still starts."""
        self._keep_typed(even_unknown=True)

    def _keep_typed(self, *, even_unknown: bool = False) -> None:
        if self._rules() is None and not even_unknown:
            return
        lines, self._waiting = self._waiting, []
        for line, now in lines:
            if not self.hides(line):
                self.past.add(PastCommand(line, now.timestamp(), source="typed"))
                if self._typed:
                    self._typed.add(line, now)

    def begin(self, line: str, directory: str) -> Run:
        """Begin to measure a command. The shell has started."""
        self._keep_typed()
        return Run(line, directory, time.time(), time.monotonic())

    def end(self, run: Run, outcome: Outcome, conversation: str) -> str:
        """Record a command that has ended. Return what went wrong; the shell continues without its history."""
        seconds = time.monotonic() - run.clock
        command = PastCommand(run.line, run.time, run.directory, outcome.status, seconds, self._host, conversation)
        self.past.add(command)
        self._own.add((int(run.time * 1000), conversation))
        try:
            if self._store:
                self._store.add(command)
        except StoreTrouble as error:
            return f"this command is not in the history: {error}"
        return ""
