"""The history of the interactive shell: records the user's commands, and says which lines leave no trace."""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.history_rules import HistoryRules
from aish.values.errors import StoreTrouble
from aish.values.outcomes import Outcome
from aish.values.past_command import PastCommand


class Run(NamedTuple):
    """A command that has begun: where and when."""

    line: str
    directory: str
    time: float
    clock: float  # for the duration; `time` may be set while a command runs


class CommandHistory:
    """Records commands in the store; without a store they are only in the list of this shell."""

    def __init__(self, store: CommandStore | None, rules: Callable[[], HistoryRules] = HistoryRules) -> None:
        self._store = store
        self._rules = rules
        self._host = os.uname().nodename

    def hides(self, line: str) -> bool:
        """Does a line leave no trace: in history, in what the model is sent, and in the shell's own history?"""
        return self._rules().hides(line)

    def begin(self, line: str, directory: str) -> Run:
        return Run(line, directory, time.time(), time.monotonic())

    def end(self, run: Run, outcome: Outcome, conversation: str) -> str:
        """Record a command that has ended. Return what went wrong; the shell continues without its history."""
        seconds = time.monotonic() - run.clock
        command = PastCommand(run.line, run.time, run.directory, outcome.status, seconds, self._host, conversation)
        if not self._store:
            return ""
        try:
            self._store.add(command)
        except StoreTrouble as error:
            return f"this command is not in the history: {error}"
        return ""
