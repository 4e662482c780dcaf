"""The interactive shell: read a line, run or ask it, show the result, and repeat."""

import asyncio
import os
import sys
from collections.abc import Coroutine, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from aish.acting.gate import Gate
from aish.acting.message_queue import MessageQueue
from aish.acting.worker import Worker
from aish.commands.manual import COMMANDS
from aish.commands.model_setup import SetupRecord, new_offers, offer_text
from aish.commands.shell import Shell
from aish.conversation.held_output import hold_output
from aish.conversation.prompt import is_stable, load_layers
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.intake.history_expansion import expand, names_earlier
from aish.intake.line import ColonCommand, read_line
from aish.intake.operands import Kind
from aish.jobs.scheduler import Scheduler
from aish.jobs.table import JOBS
from aish.memory.secret_hints import may_hold_secret
from aish.model.discovery import FoundModel
from aish.places import home_directory
from aish.program import Program
from aish.values.errors import AishError, StoreTrouble
from aish.values.outcomes import Outcome
from aish.values.person import Person
from aish.values.replies import Reply
from aish.values.text import for_terminal, one_line
from aish.views.answers import AnswerScreen
from aish.views.command_history import CommandHistory, Run
from aish.views.crash import file_report
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

_LEAVES = ("exit", "logout")
_WHY = "The command `{}` ended with exit status {}. What went wrong, and what should I do?"
_NO_SUCH_COMMAND = 127
_OFTEN = 2  # runs of a word that make it a command; one may be a slip of the finger
_AT_ONCE = ("agents", "agents stop", "steps")  # they can be used while the model works
_MOST_MEANT = 3  # names to suggest; many short names are similar to each other
_NO_FAULT = (0, 1, 130, 141, 148)  # success, nothing found, Ctrl-C, closed pipe, Ctrl-Z: no hint needed


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
        user_shell.words.has_run = lambda word: self._history.past.ran(word) >= _OFTEN
        self._interactive = sys.stdin.isatty()
        self._queue = MessageQueue()
        edits = self._interactive and not isinstance(editor, PlainEditor)
        self._typing = TypingAhead(self._queue, screen, colon_command, wanted=edits and sys.stderr.isatty())
        self._typing.run_at_once = self._run_at_once
        self._aside: set[asyncio.Task[None]] = set()
        self._person = TerminalPerson(screen, editor.edit, screen.pause, self._typing.paused)
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
        screen.steps = self._worker.steps if visible and session.settings.commands.fold else None
        self._jobs = Scheduler(JOBS)
        self._worker.stop_jobs = self._jobs.person_first
        self._ran = list[str]()  # the commands of the user, oldest first
        self._exit_status = OK  # of a line that ended the user's shell
        self._offering: asyncio.Task[None] | None = None
        self._offers: list[FoundModel] = []  # models that the user has not been told about yet
        self._gone = ""  # the directory of the shell, if it does not exist
        self._failed = ("", 0)  # the last line that was run, if it failed, and its status

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
        return self._exit_status if self._interactive else code

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
                return self._editor.read(runner, self._prompt())
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                print()
            except EOFError:
                return None
            finally:
                if terminal and self._interactive:
                    runner.get_loop().remove_reader(terminal.master)

    async def _close(self) -> None:
        """Stop the jobs and close the program, even if Ctrl-C comes in between."""
        try:
            await self._jobs.close()
        finally:
            await self._program.close()

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
            self._screen.note("stopped; the part that was shown is kept")
            self._queue.hold()
            self._tell_held()
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
            if self._failed[0]:
                return await self._ask(_WHY.format(*self._failed))
            self._screen.note("no failed command to explain; write your question after the ?")
            return OK
        if line.strip() == "quit":  # shells do not have it, but many users try it
            self._shell.leaving = True
            return OK
        match read_line(line):
            case ColonCommand(name, words):
                command, arguments = COMMANDS.parse(name, words)
                await show_reply(await command.run(self._shell, arguments), self._screen, self._person)
                self._jobs.start("after command", self._shell.session)  # :new and others leave work for idle times
                return OK
            case None:
                return OK
        kind, text = await self._route(line)
        if kind == "question":
            return await self._ask(text)
        hidden = self._history.hides(line) or self._history.hides(text)
        return await self._run(text, hidden=hidden) if kind == "command" else OK

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

    async def _route(self, line: str) -> tuple[Kind, str]:
        """Return what a line is. On a pipe nobody can check a guess, so a command needs its `!` there."""
        if not self._interactive and not line.lstrip().startswith("!"):
            return "question", line.strip().removeprefix("?").strip()
        if self._interactive and names_earlier(line, self._earlier()):
            return "command", line.strip()
        router = self._user_shell.router
        found = router.route(line)
        kind = await ask_kind(self._person, found.reason) if found.kind == "ask" else found.kind
        said = found.kind == "ask" or line.lstrip()[:1] in ("!", "?", "？")
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
        """May this line be written to a file? Not if it is hidden, has a secret, or if nothing is kept at all."""
        kept = self._shell.session.remembers and not self._history.hides(line)
        return kept and self._program.redaction.text(line) == line

    async def _run(self, line: str, *, hidden: bool = False) -> int:
        """Run a line in the user's shell. What it repeats (`!!`, `!git`) is filled in and shown, as in other shells.

        A `hidden` line leaves no trace: it is not in any history, and the model never sees it or its output.
        """
        expanded = expand(line, self._earlier) if self._interactive else line
        if expanded != line:
            line, hidden = expanded, hidden or self._history.hides(expanded)
            print(for_terminal(line))
        again = self._ran[-1:] == [line]
        if not hidden:
            self._ran.append(line)
        masked = "" if hidden else self._program.redaction.text(line)
        begun = self._history.begin(line, self._user_shell.shell.directory)
        outcome = await self._user_shell.run(line, masked)
        if not hidden:
            hold_output(self._shell.session, line, outcome)
            self._record(begun, outcome)
        self._history.notice_deletions()
        self._editor.take_keys(outcome.unread)
        self._failed = (masked, outcome.status) if outcome.status and not hidden else ("", 0)
        if outcome.moved:
            self._shell.enter(outcome.directory)
        self._tell_gone(outcome.directory)
        if outcome.died:
            if outcome.left:
                self._shell.leaving, self._exit_status = True, outcome.status
            else:
                self._screen.note("your shell has ended; the next command starts another one", warning=True)
        elif again and line.strip() in _LEAVES:  # the shell warned about jobs, and the user repeated the command
            self._shell.leaving = True
        elif outcome.status == _NO_SUCH_COMMAND:
            near = self._user_shell.words.near(line.split()[0])[:_MOST_MEANT]
            meant = f"did you mean {' or '.join(near)}? " if near else ""
            self._screen.note(f"{meant}type ? to ask the model")
        elif outcome.status not in _NO_FAULT and self._interactive:
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
        self._jobs.person_first()
        done = await self._worker.ask(text)
        self._failed = self._worker.failed
        self._jobs.start("after answer", self._shell.session)
        return answer_code(done)

    async def _warm(self) -> None:
        """Load memory and project into the prompt, and start background jobs while the first question is typed."""
        session = self._shell.session
        async for notice in load_layers(TurnContext(session, self._person), is_stable):
            self._screen.note(notice.text, warning=notice.warning)
        self._jobs.start("start", session)
        if self._interactive and session.remembers:
            self._offering = asyncio.get_running_loop().create_task(self._offer_models())

    async def _offer_models(self) -> None:
        """Look for models on this machine while the first line is typed, and offer what is found, once."""
        record = SetupRecord(self._program.places.setup_record)
        record.welcome()
        self._offers = await new_offers(self._program.loaded, os.environ, record)
        if self._offers and self._editor.is_reading:
            self._editor.show_above(self._tell_offers)

    def _tell_offers(self) -> None:
        """Offer the models that were found. Before the prompt is drawn, an earlier one may be on the line."""
        offers, self._offers = self._offers, []
        if offers:
            sys.stdout.write("" if isinstance(self._editor, PlainEditor) else "\r\x1b[K")
            sys.stdout.flush()
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


async def ask_kind(person: Person, reason: str) -> Kind:
    """Ask what a line is; still `ask` if the user cancels, or if there is no user."""
    key = await person.key(f"{for_terminal(reason)}: [a]sk the model, [r]un it, or [c]ancel ", "arc")
    return "question" if key == "a" else "command" if key == "r" else "ask"
