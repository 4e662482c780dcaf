"""Lines at the prompt that are commands: what a line is, what it repeats, and what follows from its run."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from aish.commands.shell import Shell
from aish.conversation.held_output import hold_output
from aish.intake.history_expansion import expand, names_earlier
from aish.intake.operands import Kind
from aish.values.errors import StoreTrouble
from aish.values.outcomes import Outcome
from aish.values.person import Person
from aish.values.text import for_terminal
from aish.views.command_history import CommandHistory, Run
from aish.views.editor import Editor
from aish.views.exit_codes import OK
from aish.views.screen import Screen
from aish.views.user_shell import PromptShell

_MARKS = ("!", "?", "？")  # at the start of a line, the user says what it is
_LEAVES = ("exit", "logout")
_NO_SUCH_COMMAND = 127
_OFTEN = 2  # runs of a word that make it a command; one may be a slip of the finger
_MOST_MEANT = 3  # names to suggest; many short names are similar to each other
_NO_FAULT = (0, 1, 130, 141, 148)  # success, nothing found, Ctrl-C, closed pipe, Ctrl-Z: no hint needed


class CommandLines:
    """Runs lines in the user's shell, and keeps what the user should know afterwards."""

    def __init__(
        self,
        shell: Shell,
        user_shell: PromptShell,
        history: CommandHistory,
        screen: Screen,
        editor: Editor,
        *,
        interactive: bool,
    ) -> None:
        self._shell, self._person = shell, shell.person
        self._user_shell = user_shell
        self._history = history
        self._screen = screen
        self._editor = editor
        self._interactive = interactive
        self._ran = list[str]()  # the commands of the user, oldest first
        self._gone = ""  # the directory of the shell, if it does not exist
        self.exit_status = OK  # of a line that ended the user's shell
        self.failed = ("", 0)  # the last line that was run, if it failed, and its status
        user_shell.words.has_run = lambda word: history.past.ran(word) >= _OFTEN

    async def route(self, line: str) -> tuple[Kind, str]:
        """Return what a line is. On a pipe nobody can check a guess, so a command needs its `!` there."""
        if not self._interactive and not line.lstrip().startswith("!"):
            return "question", line.strip().removeprefix("?").strip()
        if self._interactive and names_earlier(line, self._earlier()):
            return "command", line.strip()
        router = self._user_shell.router
        found = router.route(line)
        if found.kind != "command" and self._user_shell.is_starting and line.lstrip()[:1] not in _MARKS:
            await asyncio.to_thread(self._user_shell.wait_started)  # startup files may define the first word
            found = router.route(line)
        kind = await ask_kind(self._person, found.reason) if found.kind == "ask" else found.kind
        said = found.kind == "ask" or line.lstrip()[:1] in _MARKS
        if said and kind != "ask" and self._may_keep(line) and self._may_keep(found.text):
            try:
                router.learn(found.text, kind)
            except StoreTrouble as error:
                self._screen.note(f"what you decided is not kept: {error}", warning=True)
        return kind, found.text

    def _earlier(self) -> Iterator[str]:
        """Yield the commands of this shell, newest first, then those of earlier ones."""
        yield from reversed(self._ran)
        own = set(self._ran)
        yield from (one.text for one in self._history.past.newest() if one.is_command and one.text not in own)

    def _may_keep(self, line: str) -> bool:
        """May this line be written to a file? Not if it is or may be hidden, has a secret, or if nothing is kept."""
        hidden = self._user_shell.is_starting or self._history.hides(line)  # the shell says which lines are hidden
        kept = self._shell.session.remembers and not hidden
        return kept and self._shell.program.redaction.text(line) == line

    async def run(self, typed: str, text: str) -> int:
        """Run a line in the user's shell; `typed` is the line with its mark. Return the exit status.

        What it repeats (`!!`, `!git`) is filled in and shown, as in other shells. A hidden line leaves no trace: it is
        not in any history, and the model never sees it or its output.
        """
        await self._user_shell.wait_ready()  # it knows which lines are hidden
        hidden = self._history.hides(typed) or self._history.hides(text)
        line = expand(text, self._earlier, self._user_shell.shell.numbered) if self._interactive else text
        if line != text:
            hidden = hidden or self._history.hides(line)
            print(for_terminal(line))
        again = self._ran[-1:] == [line]
        if not hidden:
            self._ran.append(line)
        masked = "" if hidden else self._shell.program.redaction.text(line)
        begun = self._history.begin(line, self._user_shell.shell.directory)
        outcome = await self._user_shell.run(line, masked)
        if not hidden:
            hold_output(self._shell.session, line, outcome)
            self._record(begun, outcome)
        self._history.notice_deletions()
        self._editor.take_keys(outcome.unread)
        self.failed = (masked, outcome.status) if outcome.status and not hidden else ("", 0)
        if outcome.moved:
            self._shell.enter(outcome.directory)
        self._tell_gone(outcome.directory)
        if outcome.died:
            if outcome.left:
                self._shell.leaving, self.exit_status = True, outcome.status
            else:
                self._screen.note("your shell has ended; the next command starts another one", warning=True)
        elif again and line.strip() in _LEAVES:  # the shell warned about jobs, and the user repeated the command
            self._shell.leaving = True
        elif outcome.status == _NO_SUCH_COMMAND:
            near = self._user_shell.words.near(line.split()[0])[:_MOST_MEANT]
            meant = f"did you mean {' or '.join(near)}?" if near else ""
            hint = "" if hidden else "type ? to ask the model"  # `?` does not explain what leaves no trace
            if meant or hint:
                self._screen.note(f"{meant} {hint}".strip())
        elif outcome.status not in _NO_FAULT and self._interactive and not hidden:
            for notice in self._shell.session.say_once("why", "? asks why it failed"):
                self._screen.note(notice.text)
        return outcome.status

    def _record(self, begun: Run, outcome: Outcome) -> None:
        """Add a command to the history. Trouble is told once: a full disk must not add a line to each command."""
        session = self._shell.session
        if trouble := self._history.end(begun, outcome, session.journal.id):
            for notice in session.say_once("history", trouble):
                self._screen.note(notice.text, warning=True)

    def _tell_gone(self, directory: str) -> None:
        """Say once that the directory of the shell no longer exists."""
        if Path(directory).is_dir():
            self._gone = ""
        elif self._gone != directory and self._interactive:
            self._gone = directory
            self._screen.note("this directory no longer exists; cd .. or cd leaves it", warning=True)


async def ask_kind(person: Person, reason: str) -> Kind:
    """Ask what a line is; still `ask` if the user cancels, or if there is no user."""
    key = await person.key(f"{for_terminal(reason)}: [a]sk the model, [r]un it, or [c]ancel ", "arc")
    return "question" if key == "a" else "command" if key == "r" else "ask"
