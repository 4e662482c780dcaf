"""The interactive shell: read a line, run or ask it, show the result, and repeat."""

import asyncio
import os
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from aish.acting.gate import Gate
from aish.acting.message_queue import MessageQueue
from aish.acting.worker import Worker
from aish.commands.manual import COMMANDS
from aish.commands.model_setup import SetupRecord, new_offers, offer_text
from aish.commands.shell import Shell
from aish.conversation.prompt import is_stable, load_layers
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.intake.line import ColonCommand, read_line
from aish.jobs.scheduler import Scheduler
from aish.jobs.table import JOBS
from aish.memory.secret_hints import may_hold_secret
from aish.model.discovery import FoundModel
from aish.places import home_directory
from aish.program import Program
from aish.values.errors import AishError
from aish.values.replies import Reply
from aish.values.text import for_terminal, one_line
from aish.views.answers import AnswerScreen
from aish.views.command_history import CommandHistory
from aish.views.command_lines import CommandLines
from aish.views.crash import file_report
from aish.views.default_model import DefaultModel
from aish.views.editor import Editor, PlainEditor
from aish.views.event_loop import new_runner
from aish.views.exit_codes import BUG, OK, answer_code, exit_code
from aish.views.keys import lines
from aish.views.pager import show_reply
from aish.views.person import TerminalPerson
from aish.views.prompt import FROM_SHELL, PromptFacts, fill, from_shell, git_branch, plain_sign
from aish.views.surroundings import TerminalSurroundings
from aish.views.themes import theme
from aish.views.typing_ahead import TypingAhead
from aish.views.user_shell import PromptShell, clean_exit_on_signal, ctrl_c, show

_WHY = "The command `{}` ended with exit status {}. What went wrong, and what should I do?"
_UNSENT = "not sent: the model is not ready yet; press Up to get the question back"
_AT_ONCE = ("agents", "agents stop", "steps")  # they can be used while the model works


class Repl:
    """One interactive shell. Ctrl-C stops an answer or clears the line, Ctrl-D quits."""

    def __init__(
        self,
        program: Program,
        session: Session,
        editor: Editor,
        screen: AnswerScreen,
        user_shell: PromptShell,
        history: CommandHistory | None = None,
    ) -> None:
        self._program = program
        self._editor = editor
        self._screen = screen
        self._user_shell = user_shell
        self._history = history or CommandHistory()
        self._interactive = sys.stdin.isatty()
        self._queue = MessageQueue()
        edits = self._interactive and not isinstance(editor, PlainEditor)
        self._typing = TypingAhead(self._queue, screen, colon_command, wanted=edits and sys.stderr.isatty())
        self._typing.run_at_once = self._run_at_once
        self._aside: set[asyncio.Task[None]] = set()
        self._person = TerminalPerson(screen, editor.edit, screen.pause, self._asking)
        self._shell = Shell(program=program, session=session, person=self._person, past=self._history.past)
        surroundings = TerminalSurroundings(user_shell, screen, self._shell.enter, self._typing)
        gate = Gate(session, self._person, surroundings, lambda: program.load_gate(surroundings), screen.show_event)
        visible = self._interactive and sys.stderr.isatty()  # can the user see commands, and answer questions?
        self._worker = Worker(
            session,
            self._person,
            gate if visible else None,
            screen.show,
            screen.note,
            queue=self._queue,
            listen=self._typing.listening,
        )
        self._worker.on_ctrl_c = ctrl_c
        self._shell.worker = self._worker
        self._shell.router = user_shell.router
        self._shell.on_setting = self._show_setting
        screen.hides_proposals = visible
        screen.takes_commands = True
        screen.steps = self._worker.steps if visible and session.settings.commands.fold else None
        self._jobs = Scheduler(JOBS)
        self._worker.stop_jobs = self._jobs.person_first
        self._lines = CommandLines(
            self._shell, user_shell, self._history, screen, editor, interactive=self._interactive
        )
        self._offering: asyncio.Task[None] | None = None
        self._offers: list[FoundModel] = []  # models that the user has not been told about yet
        self._news: list[str] = []  # of the default model, likewise
        self._default = DefaultModel(self._shell, editor, screen, self._tell_news)
        self._typing.on_sequence = self._default.press
        self._waits = False  # a question waits for the model, or did until Ctrl-C

    def run(self) -> int:
        """Run the shell. Return the exit code: of the last line on a pipe, otherwise that of `exit`."""
        code, plain = OK, not self._interactive or isinstance(self._editor, PlainEditor)
        modes = nullcontext() if plain else lines(wanted=False)
        with clean_exit_on_signal(self._user_shell.close), modes, new_runner() as runner:
            try:
                if self._interactive:
                    self._user_shell.begin()
                    self._history.start()
                    runner.run(self._warm())
                while not self._shell.leaving:
                    line = self._next_queued() or self._read(runner)
                    if line is None:
                        break
                    if line.strip():
                        code = self._do(runner, line)
                    elif self._interactive:
                        self._user_shell.refresh()
                self._leave(runner)
                self._user_shell.leave()
            finally:
                self._user_shell.close()
                runner.run(self._close())
        return self._lines.exit_status if self._interactive else code

    def _show_setting(self, key: str) -> None:
        """Let a changed setting of the view be seen at once."""
        view = self._program.settings.view
        if key.startswith("view."):
            self._screen.restyle(theme(view.theme, view.colors))
            self._screen.show_reasoning = view.show_reasoning
            self._editor.restyle(theme(view.theme, view.colors, colors=self._screen.colors), vi=view.keys == "vi")

    def _next_queued(self) -> str | None:
        """Return the next line that was typed while the model worked, and show it as if it were typed now."""
        line = self._queue.take()
        if line:
            self._editor.remember(line)
            print(f"{plain_sign(self._prompt())}{for_terminal(line)}", flush=True)
        return line

    def _read(self, runner: asyncio.Runner) -> str | None:
        self._editor.put(self._queue.take_held() or self._typing.take_line())
        if self._typing.leaves:
            self._typing.leaves = False
            self._editor.take_keys(b"\x04")
        while True:
            self._tell_offers()
            terminal = self._user_shell.idle
            try:
                if terminal and self._interactive:
                    runner.get_loop().add_reader(terminal.master, self._show_background)
                prompt = self._prompt()
                self._greet(runner)
                return self._editor.read(runner, prompt)
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                print()
                if self._editor.left_empty:
                    self._default.refuse()
            except EOFError:
                return None
            finally:
                if terminal and self._interactive:
                    runner.get_loop().remove_reader(terminal.master)

    async def _close(self) -> None:
        """Stop the jobs and close the program, even if Ctrl-C comes in between."""
        try:
            await self._default.close()
            await self._jobs.close()
        finally:
            await self._program.close()

    def _greet(self, runner: asyncio.Runner) -> None:
        """Show what the user's startup files print: now, or above the line as soon as they are done."""
        user_shell, loop = self._user_shell, runner.get_loop()
        if not self._interactive:
            return

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(self._greet_above)
            except RuntimeError:
                pass  # the program ends, and its loop is closed

        if user_shell.is_starting:
            user_shell.when_started = tell
        if not user_shell.is_starting:  # it may just have started
            user_shell.greet()

    def _greet_above(self) -> None:
        if self._editor.is_reading and (self._user_shell.shell.greeting or self._user_shell.shell.printed):
            self._editor.show_above(self._user_shell.greet)

    def _show_background(self) -> None:
        """Show output of background programs above the line that is being typed."""
        data = self._user_shell.shell.idle_output()
        if data:
            self._editor.show_above(lambda: show(data))

    def _prompt(self) -> str:
        session, user_shell = self._shell.session, self._user_shell
        if session.settings.view.prompt == FROM_SHELL and self._interactive:
            text, others = from_shell(user_shell.prompt())
            if text:
                show(others.encode("utf-8", "replace"))
                return text
        size = session.last_size
        facts = PromptFacts(
            model=session.model,
            directory=user_shell.shell.directory,
            home=str(home_directory()),
            branch=git_branch(Path(user_shell.shell.directory)),
            tokens=size.total if size else 0,
            window=session.endpoints.known_budget(lambda: session.backend),
            cost=session.services.costs.spent_in(session.journal.id)
            if "{cost}" in session.settings.view.prompt
            else 0.0,
            status=user_shell.shell.status,
        )
        return self._screen.styled(fill(session.settings.view.prompt, facts, self._screen.width), "prompt")

    def _do(self, runner: asyncio.Runner, line: str) -> int:
        """Act on one line. Errors are shown, and the shell continues."""
        self._shell.width = self._screen.width
        self._shell.height = self._screen.size.lines if self._interactive and sys.stdout.isatty() else 0
        try:
            code = runner.run(self._act(line))
            for notice in self._jobs.take_notices():
                self._screen.note(notice.text, warning=notice.warning)
            self._tell_held()
            return code
        except AishError as error:
            self._screen.note(str(error), warning=True)
            return exit_code(error)
        except KeyboardInterrupt:
            if not self._interactive:
                raise
            self._screen.note(_UNSENT if self._waits else "stopped; the part that was shown is kept")
            self._waits = False
            self._queue.hold()
            self._tell_held()
        except BrokenPipeError:  # whoever read the output has left, as `head` does
            raise
        except Exception:  # a bug in one command must not end the shell
            self._screen.note(file_report(may_hold_secret), warning=True)
            return BUG
        return OK

    def _tell_held(self) -> None:
        """After Ctrl-C, show what was typed and is not sent."""
        if self._queue.held and (lines := self._queue.lines):
            which = "1 line was" if len(lines) == 1 else f"{len(lines)} lines were"
            self._screen.note(f"{which} not sent; edit and send, or :queue clear")
            for line in lines:
                self._screen.note(f"not sent: {one_line(line, 200)}")

    async def _act(self, line: str) -> int:
        if line.strip() == "?" and self._interactive:
            if self._lines.failed[0]:
                return await self._ask(_WHY.format(*self._lines.failed))
            self._screen.note("no failed command to explain; write your question after the ?")
            return OK
        if line.strip() == "quit":  # shells do not have it, but many users try it
            self._shell.leaving = True
            return OK
        match read_line(line):
            case ColonCommand(name, words):
                self._history.settle()
                command, arguments = COMMANDS.parse(name, words)
                await show_reply(await command.run(self._shell, arguments), self._screen, self._person)
                self._jobs.start("after command", self._shell.session)  # :new and others leave work for idle times
                return OK
            case None:
                return OK
        kind, text = await self._lines.route(line)
        if kind == "question":
            self._history.settle()
            return await self._ask(text)
        code = await self._lines.run(line, text) if kind == "command" else OK
        if self._interactive and self._shell.session.history.held:
            self._jobs.start("after command", self._shell.session)  # a slow model reads the output meanwhile
        return code

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Leave the terminal to a question: nobody else reads it or writes to it."""
        with self._screen.asking(), self._typing.paused():
            yield

    def _run_at_once(self, line: str) -> bool:
        """Run a command while the model works, if it only shows or stops something; its reply comes in between."""
        typed = read_line(line)
        try:
            assert isinstance(typed, ColonCommand)
            command, arguments = COMMANDS.parse(typed.name, typed.words)
        except AishError:  # the queue takes it, and it is reported in its turn
            return False
        if command.name not in _AT_ONCE:
            return False
        task = asyncio.get_running_loop().create_task(self._show_aside(command.run(self._shell, arguments)))
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)
        return True

    async def _show_aside(self, work: Coroutine[Any, Any, str | Reply]) -> None:
        try:
            reply = await work
        except AishError as error:
            self._screen.aside(str(error), warning=True)
            return
        if isinstance(reply, Reply) and reply.table:
            self._screen.pause()
            self._screen.say(reply)
        else:
            self._screen.aside(reply if isinstance(reply, str) else reply.text)

    def _leave(self, runner: asyncio.Runner) -> None:
        """Run the jobs that are due at quit. Ctrl-C stops them."""
        session = self._shell.session
        for job in self._jobs.due("quit", session):
            if job.announcement:
                self._screen.note(job.announcement)
            try:
                for notice in runner.run(self._jobs.run(job, session)):
                    self._screen.note(notice.text, warning=notice.warning)
            except KeyboardInterrupt:
                self._screen.note("stopped; nothing was written")
            except AishError as error:
                self._screen.note(str(error), warning=True)

    async def _ask(self, text: str) -> int:
        self._waits = True
        with self._typing.listening():
            await self._default.ready()
        self._waits = False
        self._tell_offers()  # what came since the line was sent
        self._jobs.person_first()
        done = await self._worker.ask(text)
        self._lines.failed = self._worker.failed
        self._jobs.start("after answer", self._shell.session)
        return answer_code(done)

    async def _warm(self) -> None:
        """Load memory and project into the prompt, and start background jobs while the first question is typed."""
        session = self._shell.session
        async for notice in load_layers(TurnContext(session, self._person), is_stable):
            self._screen.note(notice.text, warning=notice.warning)
        self._jobs.start("start", session)
        if self._interactive and session.remembers:
            self._default.begin()
            self._offering = asyncio.get_running_loop().create_task(self._offer_models())

    async def _offer_models(self) -> None:
        """Look for models on this machine while the first line is typed, and offer what is found, once."""
        record = SetupRecord(self._program.places.setup_record)
        record.welcome()
        self._offers = await new_offers(self._program.loaded, os.environ, record)
        if self._offers and self._editor.is_reading:
            self._editor.show_above(self._tell_offers)

    def _tell_news(self, text: str) -> None:
        """Tell something about the default model above the line being typed, or before the next one."""
        if self._default.is_awaited:
            self._screen.status.clear()
            self._screen.note(text)
            return
        self._news.append(text)
        if self._editor.is_reading:
            self._editor.show_above(self._tell_offers)

    def _tell_offers(self) -> None:
        """Tell what was found. Before the prompt is drawn, an earlier one may be on the line."""
        offers, self._offers = self._offers, []
        news, self._news = self._news, []
        if not (offers or news):
            return
        sys.stdout.write("" if isinstance(self._editor, PlainEditor) else "\r\x1b[K")
        sys.stdout.flush()
        for text in news:
            self._screen.note(text)
        if offers:
            self._screen.note(offer_text(offers))
            SetupRecord(self._program.places.setup_record).offer(offers)


def colon_command(line: str) -> tuple[str, str]:
    """Return the full name of a colon command and its words; empty if the line is none."""
    match read_line(line):
        case ColonCommand(name, words):
            try:
                return COMMANDS.find(name).name, words.strip()
            except AishError:
                return "", ""
    return "", ""
