"""The gate: every command of the model is judged and shown, and runs only if it is safe or the user agrees.

A command that is judged to only read runs at once, in a fence where it cannot do anything else. A command that changes
something needs a key and runs in a wider fence; one that destroys something or cannot be understood needs a typed word.
A command that a fence stopped can be run again in the next one. `CMD:` lines of an answer and calls of the tool
`run_command` are treated the same.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from aish.acting.command_fences import CHANGING, LOOKING, UNFENCED, Permit
from aish.acting.file_steps import command_step
from aish.acting.standing_consent import StandingConsent
from aish.acting.surroundings import Surroundings
from aish.acting.turn_consent import TurnConsent
from aish.action.command_runner import CommandResult
from aish.action.fence.wants import Want, stopped
from aish.action.proposals import Proposals, proposals
from aish.conversation.foreign_text import reads_foreign_text
from aish.conversation.held_output import hold_output
from aish.conversation.session import Session
from aish.conversation.side_question import ask_side_question
from aish.places import find_project
from aish.values.errors import AishError
from aish.values.events import ChatRequest, CommandProposed, GateEvent, Remark, notice
from aish.values.named_tuple import NamedTuple
from aish.values.outcomes import Outcome
from aish.values.person import Person
from aish.values.text import exactly, one_line
from aish.values.verdicts import Verdict

WORD = "run"  # the user types it for a command that cannot be undone
UNFENCED_WORD = "unfenced"  # for a command that needs more than any fence allows
_EXPLAIN = "Explain in at most five short sentences what this shell command does and what could go wrong:\n\n{}"
_STOPPED = 130  # by Ctrl-C: the user knows, so there is no message
_KEYS = {"r": "run", "y": "run", "e": "edit", "x": "explain", "t": "turn", "a": "always", "s": "skip"}
_MOST_SHOWN = 5  # wants
_MOST_READ = 3  # hidden files that one key opens: a command can complain about any number of them


class GateTools(NamedTuple):
    """What the gate works with; loaded when the first command is proposed."""

    judge: Callable[[str], Verdict]
    survey: Callable[[tuple[str, ...], Path], str]
    as_trash: Callable[[str], str | None]
    as_own: Callable[[str], str | None]  # a search by aish itself, which must read what the fences hide
    allow: Callable[[tuple[tuple[str, ...], ...], Path | None], None]
    allow_exactly: Callable[[str, Path], None]  # one command, in one project
    run: Callable[[str, Permit, Callable[[str], None] | None], CommandResult]  # the last: see `Fence.before_write`
    run_unseen: Callable[[str, Permit, Callable[[str], None] | None], CommandResult]  # likewise, nothing is shown
    interrupt: Callable[[], None]  # send Ctrl-C to the running command
    needs: Callable[[Want, Permit], Permit | None]  # the next permit for what a fence stopped; None: no fence allows it
    who_asks: Callable[[str], str]  # the sentence that says who will ask the user for words; empty if nobody
    fence: str  # the kind of fence in use; empty if there is none
    unattended_fence: str = ""  # the kind for commands that the user does not look at one by one
    trouble: str = ""  # why there is no fence, or not the usual one
    reads_keys: Callable[[str], bool] = lambda command: False  # does the command wait for keys, as a pager does?


class Decided(NamedTuple):
    """The result for one command: its outcome, or why it did not run."""

    command: str
    outcome: Outcome | None = None
    reason: str = ""


class Gate:
    """Asks the user before it runs a command. `show` gets everything that the user should see, in order."""

    def __init__(
        self,
        session: Session,
        person: Person,
        surroundings: Surroundings,
        load: Callable[[], GateTools],
        show: Callable[[GateEvent], object],
    ) -> None:
        self._session, self._person, self._surroundings = session, person, surroundings
        self._load, self._show = load, show
        self._tools: GateTools | None = None
        self._outer: Gate | None = None  # of the conversation that a sub-agent works for
        self.for_turn = TurnConsent(session)
        self.standing: list[StandingConsent] = [self.for_turn]
        self.failed = ("", 0)  # the last command of an answer, if it failed, and its status
        self.running = self.interrupted = False  # a command runs; the user has stopped one

    @property
    def person(self) -> Person:
        return self._person

    @person.setter
    def person(self, person: Person) -> None:
        self._person = person

    def beside(self, session: Session, person: Person, who: str) -> "Gate":
        """Return a gate for the conversation of a sub-agent. Nothing is allowed in advance there.

        The bounds of a goal hold there too, and Ctrl-C and the end of its time reach the command that runs.
        """

        def show(event: GateEvent) -> None:
            if isinstance(event, CommandProposed):
                self._note("command.by_agent", f"{who} proposes a command", agent=who)
            self._show(event)

        gate = Gate(session, person, self._surroundings, lambda: self.tools._replace(trouble=""), show)
        gate._outer = self
        gate.standing += [bounds for one in self.standing if (bounds := one.beside())]
        return gate

    def used_up(self) -> str:
        """Name what is used up of what the user allowed in advance; empty if nothing is."""
        return next((found for one in self.standing if (found := one.used_up())), "")

    @property
    def tools(self) -> GateTools:
        if self._tools is None:
            self._tools = self._load()
            if self._tools.trouble:
                self._note("gate.not_fenced", self._tools.trouble, warning=True)
        return self._tools

    def tell(self, event: GateEvent) -> None:
        """Show something to the user between commands."""
        self._show(event)

    async def offer(self, answer: str, *, complete: bool = True) -> list[Decided]:
        """Offer the commands of an answer one by one; their output is sent with the next question.

        The last line of an incomplete answer is left out: a part of a command may be a different command. For the same
        reason a command whose last lines are missing is not offered.
        """
        self.failed = ("", 0)
        found = proposals(answer if complete else answer.rpartition("\n")[0])
        decided = [await self.decide(command, hold=True) for command in found.offered]
        if any(one.outcome for one in decided):  # the model reads about these, so it must know about the others too
            for one in decided:
                if not one.outcome:
                    self._session.history.hold(f"[aish] {one.command}: {one.reason}")
            if found.unfinished:
                self._session.history.hold(f"[aish] your last command was not complete: {found.missing}")
        self._tell_withheld(found)
        return decided

    def _tell_withheld(self, found: Proposals) -> None:
        if left := len(found.quoted):
            which = "1 command is" if left == 1 else f"{left} commands are"
            self._note("command.withheld", f"{which} part of a list or a quotation and not offered", number=left)
        if found.unfinished:
            text = f"the last command is not offered, because it is not complete: {found.missing}"
            self._note("command.withheld", text, warning=True, number=1, missing=found.missing)

    async def decide(self, command: str, *, hold: bool = False) -> Decided:
        """Judge one command and do what the user wants. An edited command is judged again."""
        decided, verdict = await self._decide(command, hold)
        for one in self.standing:
            one.decided(decided, verdict)
        return decided

    async def _decide(self, command: str, hold: bool) -> tuple[Decided, Verdict]:
        while True:
            verdict = self._judge(command)
            unasked = verdict.verdict == "run" and self._session.settings.commands.ask != "always"
            folded = unasked and self._folds(command, verdict)
            self._propose(command, verdict, folded=folded)
            if verdict.verdict == "refuse":
                return Decided(command, reason=verdict.reason), verdict
            if unasked:
                return Decided(command, await self._run(command, _permit(verdict), hold, folded=folded)), verdict
            allowed = await self._standing_answer(command, verdict)
            if isinstance(allowed, Permit):
                return Decided(command, await self._run(command, allowed, hold)), verdict
            if allowed:
                return Decided(command, reason=allowed), verdict
            decided = await self._ask(command, verdict, hold)
            if isinstance(decided, Decided):
                return decided, verdict
            command = decided

    def _folds(self, command: str, verdict: Verdict) -> bool:
        """Return whether a command that runs unasked is one line on the screen; not if it needs the user's keys."""
        looks = verdict.effect == "read" and self._session.settings.commands.fold
        return looks and not self.tools.reads_keys(command) and not self.tools.as_own(command)

    async def _standing_answer(self, command: str, verdict: Verdict) -> Permit | str | None:
        if verdict.effect in ("destroy", "unknown"):  # also if a consent breaks its contract
            return None
        if permit := next((found for one in self.standing if (found := one.permit(command, verdict))), None):
            return permit
        for one in self.standing:
            if answer := await one.ask(command, verdict):
                return answer
        return None

    def _judge(self, command: str) -> Verdict:
        """Judge a command. After reading foreign text the model may be under its influence: then it can only look."""
        verdict = self.tools.judge(command)
        if verdict.verdict != "run" or verdict.effect == "read":
            return verdict
        reason = next((found for one in self.standing if (found := one.objection(verdict))), "")
        if reads_foreign_text(self._session):
            reason = "you always allow it, but the model has read files, output or tools; :new starts afresh"
        return verdict._replace(verdict="ask", reason=reason, prefixes=()) if reason else verdict

    async def _ask(self, command: str, verdict: Verdict, hold: bool) -> Decided | str:
        """Ask the user; return the result, or the command as the user edited it."""
        while True:
            match await self._choose(command, verdict):
                case "run":
                    return Decided(command, await self._run(command, _permit(verdict), hold))
                case "edit":
                    changed = await self._person.edit(command)
                    if changed.strip() and changed != command:
                        return changed
                case "trash":  # the trash is outside the fence
                    instead = self.tools.as_trash(command) or ""
                    return Decided(instead, await self._run(instead, UNFENCED, hold))
                case "turn":
                    covered = self.for_turn.allow(command, verdict)
                    self._note("command.allowed_for_turn", f"allowed until your question is answered: {covered}")
                    return Decided(command, await self._run(command, _permit(verdict), hold))
                case "always":
                    if await self._allow(command, verdict):
                        return Decided(command, await self._run(command, _permit(verdict), hold))
                case "explain":
                    await self._explain(command)
                case _:
                    self._note("command.skipped", "skipped")
                    return Decided(command, reason="skipped by user")

    def _propose(self, command: str, verdict: Verdict, *, folded: bool = False) -> None:
        self._show(CommandProposed(command, verdict, folded))
        if verdict.verdict != "run":
            text = f"{verdict.effect}: {verdict.reason}"
            self._note("command.judged", text, warning=True, effect=verdict.effect, reason=verdict.reason)
        if verdict.verdict != "run" and (asks := self.tools.who_asks(command)):
            self._note("command.asks", asks, warning=True)
        if verdict.targets:
            hit = self.tools.survey(verdict.targets, self._directory)
            if verdict.effect != "change" or not hit.startswith("not found: "):  # a file that it creates
                self._note("command.targets", f"it would affect: {hit}", warning=True, targets=verdict.targets)

    async def _choose(self, command: str, verdict: Verdict) -> str:
        """Return the user's choice. A destructive command needs a word: one wrong key is harmless."""
        if verdict.effect in ("destroy", "unknown"):
            words = [WORD, "edit", "explain"]
            words += ["trash"] if verdict.effect == "destroy" and self.tools.as_trash(command) else []
            others = ", ".join(words[1:])
            typed = await self._person.word(f"type {WORD} to run it, or {others}; anything else skips it: ", words)
            return "run" if typed == WORD else typed or "skip"
        offered = {"r": "[r]un or [y]es", "e": "[e]dit", "x": "e[x]plain"}
        offered |= {"t": "[t]urn"} if verdict.prefixes and verdict.effect == "change" else {}
        offered |= {"a": "[a]lways"} if verdict.prefixes else {}
        offered["s"] = "[s]kip (Enter)"
        return _KEYS[await self._person.key(f"{'  '.join(offered.values())} ", f"y{''.join(offered)}")]

    async def _allow(self, command: str, verdict: Verdict) -> bool:
        words = exactly(", ".join(" ".join(prefix) for prefix in verdict.prefixes))
        secret = self._session.services.redaction.text(command) != command  # it must not be kept
        exact = "" if secret else "this [c]ommand exactly, "
        question = f"always run {exact}“{words} …” in this [p]roject or [e]verywhere, or [n]o "
        where = await self._person.key(question, "pen" if secret else "cpen")
        project = find_project(self._directory)
        if where == "c":
            self.tools.allow_exactly(command, project)
        elif where != "n":
            self.tools.allow(verdict.prefixes, project if where == "p" else None)
        if where != "n":
            condition = "as long as the model has read no files, output or tools"
            self._note("command.allowed", f"allowed {condition}; the list is allowed.jsonl in the data directory")
        return where != "n"

    async def _explain(self, command: str) -> None:
        session = self._session
        messages = ({"role": "user", "content": _EXPLAIN.format(command)},)
        try:
            request = ChatRequest(messages=messages, max_tokens=300)
            answer = await ask_side_question(session, session.backend, request, "main")
        except AishError as error:
            self._note("command.not_explained", str(error), warning=True)
            return
        self._show(
            Remark(answer.text.strip() or answer.trouble if answer else "not asked: it could cost more than the cap")
        )

    async def _run(self, command: str, permit: Permit, hold: bool, *, folded: bool = False) -> Outcome:
        """Run a command; if its fence stopped it, say what it wanted and offer the next fence."""
        permit = self._narrowed(permit)
        own = self.tools.as_own(command) if permit.fence == "looking" else None
        text, permit = (own, UNFENCED) if own else (command, permit)
        keeping = command_step(self._session, command) if permit.fence == "changing" else nullcontext()
        with keeping as before_write:
            work = partial(self.tools.run, text, permit, before_write)
            done = await self.in_thread(work, folded=command if folded else "")
        outcome = done.outcome
        if done.wants:
            self._tell(done.wants)
            if stopped(done.wants, outcome.status) and (wider := await self._wider(done.wants, permit)):
                return await self._run(command, wider, hold)
            facts = "\n".join(f"[aish] the fence stopped it: it {want.text}" for want in done.wants[:_MOST_SHOWN])
            outcome = outcome._replace(output=f"{outcome.output}\n{facts}".lstrip("\n"))
        if hold:
            hold_output(self._session, command, outcome, proposed=True)
        self.failed = (command, outcome.status) if outcome.status else ("", 0)
        if outcome.status == _STOPPED:
            self.for_turn.end()
        if outcome.status not in (0, _STOPPED):
            tells = not hold or self._session.settings.commands.rounds  # the model reads it anyway
            hint = "" if tells else "; ? asks why"
            self._note("command.failed", f"exit status {outcome.status}{hint}", status=outcome.status)
        if done.keeps_something and permit.attended:
            await self._keep(done)
        return outcome

    def _narrowed(self, permit: Permit) -> Permit:
        for one in self.standing:
            permit = one.narrowed(permit) if permit.fence else permit
        return permit

    async def in_thread(self, work: Callable[[], CommandResult], *, folded: str = "") -> CommandResult:
        """Run a command outside the event loop; Ctrl-C stops it. A `folded` command takes one line of the screen."""
        if self._outer:
            return await self._outer.in_thread(work, folded=folded)
        self.running = True
        try:
            if folded:
                return await self._surroundings.folded(folded, work, self._interrupt)
            return await self._surroundings.in_thread(work, self._interrupt)
        finally:
            self.running = False

    def _interrupt(self) -> None:
        self.interrupted = True
        self.tools.interrupt()

    def _tell(self, wants: tuple[Want, ...]) -> None:
        """Say what the fence stopped. What a program usually does without is said in passing."""
        shown = [want for want in wants if not want.minor] or list(wants)
        more = f", and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
        text = "; ".join(want.text for want in shown[:_MOST_SHOWN])
        self._note("fence.stopped", f"the fence stopped it: it {text}{more}", warning=not shown[0].minor)

    async def _wider(self, wants: tuple[Want, ...], permit: Permit) -> Permit | None:
        """Ask whether to run a stopped command again in the next fence, or without one; None: neither."""
        needed: Permit | None = permit
        for want in [want for want in wants if not want.minor] or wants:
            needed = self.tools.needs(want, needed) if needed else None
        read = [path for path in needed.may_read if path not in permit.may_read] if needed else []
        if needed is None or needed == permit or len(read) > _MOST_READ:
            question = (
                f"no fence allows that: type {UNFENCED_WORD} to run it again without one; anything else skips it: "
            )
            return UNFENCED if await self._person.word(question, [UNFENCED_WORD]) else None
        allowed = ["use the network"] if needed.network and not permit.network else []
        allowed += [_changeable(needed, permit)] if needed.fence != permit.fence or needed.only != permit.only else []
        allowed += [f"read {exactly(str(path))}" for path in read]
        what = " and ".join(allowed)
        new = [path for path in needed.may_change if path not in permit.may_change]
        if new:  # each runs something later, so each is named
            top = find_project(self._directory).resolve()
            word = " ".join(exactly(str(path.relative_to(top) if path.is_relative_to(top) else path)) for path in new)
            also = f", and to let it {what}" if allowed else ""
            question = f"that can run later outside the fence: type {word} to allow it{also}; anything else skips it: "
            return needed if await self._person.word(question, [word.lower()]) else None
        lasting = not read and any(one.is_goal for one in self.standing)
        goal, keys = ("also for the rest of this [g]oal, ", "rgs") if lasting else ("", "rs")
        # no `y` here: a second yes out of habit must not open a fence
        again = await self._person.key(f"[r]un it again, and let it {what}, {goal}or [s]kip (Enter) ", keys)
        for one in self.standing if again == "g" else ():
            one.widen(permit, needed)
        return needed if again in ("r", "g") else None

    async def _keep(self, done: CommandResult) -> None:
        """Offer to keep the changes that a command made to its directory and environment; otherwise they are lost."""
        moved = [f"directory {exactly(done.outcome.directory)}"] if done.outcome.moved else []
        named = [f"{exactly(name)}=“{one_line(exactly(value), 60)}”" for name, value in done.changed.items()]
        named += [f"{name} removed" for name in done.gone]
        text = f"the command changed its environment: {', '.join(moved + named)}; your own shell is unchanged"
        self._note("command.changed_environment", text, names=(*done.changed, *done.gone))
        if await self._person.key("[k]eep this for your shell, or [s]kip (Enter) ", "yks") in ("y", "k"):
            await self._surroundings.adopt(done.outcome.directory, done.changed, done.gone)

    def _note(self, code: str, text: str, *, warning: bool = False, **fields: object) -> None:
        self._show(notice(code, text, warning=warning, **fields))

    @property
    def _directory(self) -> Path:
        return Path(self._session.cwd)


def _changeable(needed: Permit, permit: Permit) -> str:
    """Say what a wider fence lets a command change."""
    new = needed.only if needed.fence != permit.fence else (needed.only or ())[len(permit.only or ()) :]
    return "change the project" if new is None else f"change files in {', '.join(exactly(str(path)) for path in new)}"


def _permit(verdict: Verdict) -> Permit:
    """Return what a command may do that runs, or that the user just allowed."""
    if verdict.verdict == "run" and verdict.effect == "read":
        return LOOKING
    return CHANGING._replace(network=verdict.effect == "send")
