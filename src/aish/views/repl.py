"""The shell: read a line, do what it says, show what comes, until there is no more."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from aish.commands.manual import COMMANDS
from aish.commands.shell import Shell
from aish.conversation.learning import propose_candidates
from aish.conversation.program import Program
from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.conversation.upkeep import summarize_evicted, warm_up
from aish.intake.completion import suggest
from aish.intake.line import ColonCommand, Question, read_line
from aish.memory.suspicion import suspicious
from aish.settings.options import EMBEDDED
from aish.values.errors import AishError
from aish.values.events import TurnDone
from aish.values.text import for_terminal
from aish.views.crash import file_report
from aish.views.editor import LONGEST_LINE, Editor, PlainEditor
from aish.views.exits import BUG, OK, answer_code, exit_code
from aish.views.screen import Screen


class Repl:
    """One shell. Ctrl-C stops an answer or clears the line, Ctrl-D leaves."""

    def __init__(self, program: Program, session: Session, editor: Editor, screen: Screen) -> None:
        self._program = program
        self._editor = editor
        self._screen = screen
        self._shell = Shell(program=program, session=session, confirm=self._confirm, ask=self._line, edit=editor.edit)
        self._upkeep: asyncio.Task[None] | None = None
        self._interactive = sys.stdin.isatty()

    def run(self) -> int:
        """The exit code: of the last question on a pipe, otherwise success."""
        code = OK
        with asyncio.Runner() as runner:
            try:
                if self._interactive:
                    runner.run(self._warm())
                while not self._shell.leaving:
                    line = self._read(runner)
                    if line is None:
                        break
                    if line.strip():
                        code = self._do(runner, line)
                self._learn(runner)
            finally:
                runner.run(self._program.close())
        return OK if self._interactive else code

    def _read(self, runner: asyncio.Runner) -> str | None:
        while True:
            try:
                return self._editor.read(runner, prompt_text(self._shell.session, self._screen))
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                print()
            except EOFError:
                return None

    def _do(self, runner: asyncio.Runner, line: str) -> int:
        """Act on one line. Whatever goes wrong is said, and the next line can be typed."""
        self._shell.width = self._screen.width
        try:
            match read_line(line):
                case ColonCommand(name, words):
                    command, rest = COMMANDS.resolve(name, words)
                    self._screen.say(runner.run(command.run(self._shell, rest)))
                case Question(text):
                    return runner.run(self._ask(text))
        except AishError as error:
            self._screen.note(str(error), warning=True)
            return exit_code(error)
        except KeyboardInterrupt:
            if not self._interactive:
                raise
            self._screen.note("stopped; what came is kept")
        except Exception:  # a bug in one command must not take the shell with it
            self._screen.note(file_report(suspicious), warning=True)
            return BUG
        return OK

    def _learn(self, runner: asyncio.Runner) -> None:
        """At the end, let a model propose what is worth keeping, where the settings want it. Ctrl-C leaves at once."""
        session = self._shell.session
        if not self._program.settings.memory.summarize_on_quit or not session.remembers or not session.history.turns:
            return
        self._screen.note("looking for what is worth keeping; Ctrl-C leaves at once")
        try:
            waits, trouble = runner.run(propose_candidates(session, session.journal))
            said = f"{waits} candidates wait for your yes (:memory pending)" if waits else trouble
            self._screen.note(said or "nothing new is worth keeping")
        except KeyboardInterrupt:
            self._screen.note("stopped; nothing was written")
        except AishError as error:
            self._screen.note(str(error), warning=True)

    async def _ask(self, text: str) -> int:
        if self._upkeep:
            self._upkeep.cancel()  # the user comes first; it is tried again after the next answer
        done: TurnDone | None = await self._screen.show(take_turn(self._shell.session, text, self._confirm))
        if self._shell.session.evicted:
            self._start(summarize_evicted(self._shell.session))
        return answer_code(done)

    async def _warm(self) -> None:
        """Bring memory into the prompt, and load the embedded model while the user types the first question."""
        session = self._shell.session
        for notice in session.remind():
            self._screen.note(notice.text, warning=notice.warning)
        if session.model == EMBEDDED and self._program.settings.embedded.warm and not self._program.settings.rules:
            self._start(warm_up(session))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._upkeep = asyncio.get_running_loop().create_task(_quietly(work))

    async def _confirm(self, question: str) -> bool:
        """Ask the person. Nobody there, an end of input or anything but yes means no."""
        if not self._interactive:
            self._screen.note(f"{question} Nobody is there to ask, so: no.", warning=True)
            return False
        self._screen.pause()
        sys.stderr.write(f"[aish] {for_terminal(question)} [y/N] ")
        sys.stderr.flush()
        answer = await _typed_line()
        return answer.strip().lower() in ("y", "yes")

    async def _line(self, question: str) -> str:
        """A line that answers a question of a command: typed, or the next one on the pipe; nothing at the end."""
        sys.stderr.write(for_terminal(question))
        sys.stderr.flush()
        if self._interactive:
            return await _typed_line()
        answer = sys.stdin.buffer.readline(LONGEST_LINE).decode("utf-8", "replace")
        sys.stderr.write(f"{for_terminal(answer.rstrip())}\n")
        return answer


async def _typed_line() -> str:
    """A line from the terminal; unlike `input` in a thread, the wait for it ends with Ctrl-C."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Background work that fails is no trouble of the user's: the next question will say what is wrong."""
    try:
        await work
    except AishError:
        pass


def prompt_text(session: Session, screen: Screen) -> str:
    """The prompt as the settings want it."""
    return screen.styled(session.settings.view.prompt.replace("{model}", session.model), "prompt")


def make_editor(program: Program, session: Session, line_editor: Callable[..., Editor] | None) -> Editor:
    """The editor for this terminal: the rich one where it was loaded, else the plain one."""
    if line_editor is None:
        return PlainEditor()

    def suggestions(text: str) -> list[tuple[str, int, str]]:
        words = {
            "model": list(program.presets()),
            "resume": [name for name in program.shelf.names().values() if name],
            "cost": ["detail", "all"],
            "export": ["md", "json"],
        }
        return suggest(text, COMMANDS, words)

    history = program.places.typed_history if program.places.lasting and session.remembers else None
    return line_editor(history, suggestions, program.masks.text, vi=program.settings.view.keys == "vi")
