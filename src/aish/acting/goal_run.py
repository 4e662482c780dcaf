"""Work towards a goal step by step: ask the model, run what the envelope allows, check, and stop in time.

The program decides when a step may start, when a goal is reached and when it ends; the model only proposes.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from aish.acting.envelope import Envelope
from aish.acting.file_steps import command_step, question_number
from aish.acting.gate import Decided, Gate
from aish.acting.goal_budget import Spent, cap_reached, step_line
from aish.acting.goal_clock import GoalClock, TimedPerson
from aish.acting.goal_consent import SKIPPED, GoalConsent, GoalPermission
from aish.acting.goal_ends import GoalEnd, Repeats, claim
from aish.acting.goal_titles import LONGEST_TITLE, plan_line, without_title
from aish.acting.worker import Worker
from aish.model.cost import total, worst_case
from aish.values.errors import AishError, StoreTrouble
from aish.values.events import Notice, TextPiece, TurnDone, TurnEvent, notice
from aish.values.named_tuple import NamedTuple
from aish.values.outcomes import Outcome
from aish.values.text import exactly, foreign, one_line
from aish.values.turns import ToolCall, Turn

T = TypeVar("T")
Watched = Literal["done", "paused", "late"]
GO_ON = (
    "[aish] step {} of {}: go on towards the goal, or write `GOAL: complete` or `GOAL: blocked` on a line of its own"
)
_NOTHING_DONE = "[aish] no command and no tool was used in that step"
_PAUSED = "paused: [c]ontinue, [s]teer with a line of yours, or s[t]op "
_STOPPED = 130  # by Ctrl-C
_LIKELY_ANSWER = 1000  # tokens assumed for an answer if max_tokens is not set
_TAIL = 2_000  # characters of a failed check that the model reads
_AGAIN = 1.0  # seconds between two attempts to end a command that is late
_COMMAND_WIDTH = 60


class GoalTask(NamedTuple):
    """What the user wants and allows. `project` is the real path of the project, if there is one."""

    goal: str
    until: str
    envelope: Envelope
    project: Path | None


class StepFacts(NamedTuple):
    """What happened in one step, for the record."""

    number: int
    turn: int
    plan: str
    answer: str
    calls: tuple[tuple[ToolCall, str], ...]
    files: tuple[str, ...]
    check: Outcome | None  # of the command that tells whether the goal is reached


class GoalRun:
    """One goal from its first step to its end. The envelope in `consent` is the one that holds now."""

    def __init__(self, worker: Worker, gate: Gate, task: GoalTask) -> None:
        session = worker.session
        self.worker, self.gate, self.task, self._session = worker, gate, task, session
        self.clock = GoalClock()
        self.person = TimedPerson(worker.person, self.clock)
        asks_always = session.settings.commands.ask == "always"
        permits = bool(gate.tools.unattended_fence) and not asks_always
        self.consent = GoalConsent(
            task.envelope, task.project, self.person, gate.tools.judge, self._left, permits=permits
        )
        self.consent.after, self.consent.before_call = self._after_command, self._before_call
        self.consent.cap = self._used_up
        self._permission = GoalPermission(self.consent, asks_always=asks_always)
        self._steps = Worker(
            session, self.person, gate, self._show, worker.note, queue=worker.queue, listen=worker.listen
        )
        self._calls_before = len(session.services.costs.session)
        self._task: asyncio.Task[Any] | None = None  # what runs now
        self._timer: asyncio.TimerHandle | None = None
        self._pressed = self._late = False
        self._done: TurnDone | None = None  # the answer of this step
        self._titled, self._plan = True, ""  # whether the title of this step was shown, and its plan
        self._before: tuple[Turn, ...] = ()  # the last turn before this step
        self._check: Outcome | None = None  # of the command that tells whether the goal is reached, in this step
        self.number = 0
        self.files: dict[str, None] = {}  # that were changed

    @property
    def envelope(self) -> Envelope:
        return self.consent.envelope

    def spent(self) -> Spent:
        """Return what was used so far."""
        calls = self._session.services.costs.session[self._calls_before :]
        used = total(calls)
        return Spent(self.number, self.clock.seconds, used.tokens, used.dollars, used.calls, used.unpriced)

    async def run(self, record: Callable[[StepFacts], None]) -> GoalEnd:
        """Take steps until the goal ends. `record` is called after each."""
        self.worker.stop_jobs()
        self.worker.steps.begin()
        repeats, words, typed = Repeats(), self.task.goal, True
        with self._in_charge():
            while not (cap := cap_reached(self.envelope, self.spent(), self._next_dollars())):
                self.number += 1
                state, end = await self._step(words, typed, repeats, record)
                if end:
                    return end
                words, typed = GO_ON.format(self.number + 1, self.envelope.steps), False
                if state == "paused":
                    going, steering = await self._pause()
                    if not going:
                        self.worker.queue.hold()
                        return GoalEnd("stopped")
                    if steering:
                        words, typed = steering, True
                        repeats.forget()
        return GoalEnd(cap)

    @contextmanager
    def _in_charge(self) -> Iterator[None]:
        """While it runs, the consent of the user stands, and the clock stops for questions."""
        before = self.gate.person
        self.gate.person = self.person
        self.gate.standing.append(self.consent)
        try:
            yield
        finally:
            self.gate.standing.remove(self.consent)
            self.gate.for_turn.end()
            self.gate.person = before

    async def _step(
        self, words: str, typed: bool, repeats: Repeats, record: Callable[[StepFacts], None]
    ) -> tuple[Watched, GoalEnd | None]:
        self.consent.new_step()
        self._done, self._check, self._titled, self._plan = None, None, False, ""
        self._before = self._session.history.turns[-1:]
        try:
            state = await self._watched(self._take_turn(words, typed))
            end = None if state == "paused" else await self._after_step(state, self._facts(), repeats)
            if end is None and state == "done" and self._was_stopped:
                state = "paused"  # during the check
        except AishError as error:
            state, end = "done", GoalEnd("trouble", str(error))
        record(self._facts())  # again: the check may have changed files
        return state, end

    async def _take_turn(self, words: str, typed: bool) -> None:
        goal = self.task.goal if self.number > 1 else ""  # in the first step the words are the goal
        step = await self._steps.step(
            words, typed_by_user=typed, chosen_by=goal, permission=self._permission, category="goal"
        )
        if not any(one.outcome for one in step.decided):  # otherwise the gate has told the model
            for one in step.decided:
                self._session.history.hold(f"[aish] {one.command}: {one.reason}")

    async def _after_step(self, state: Watched, facts: StepFacts, repeats: Repeats) -> GoalEnd | None:
        """Decide whether the goal has ended with this step."""
        done = self._done
        said = claim(done.text) if done and done.state == "complete" else ""
        if self.task.until and (said or self.consent.changed or facts.files):
            if await self._watched(self._run_check()) == "done" and self._check and not self._check.status:
                return GoalEnd("complete", f"`{_shown(self.task.until)}` succeeds")
            if self._was_stopped:
                return None
        elif said == "complete":
            return GoalEnd("complete", "the model says so")
        if said == "blocked":
            return GoalEnd("blocked", _after_claim(done.text if done else ""))
        if state == "late" or self._left() <= 0:
            return GoalEnd("minutes")
        if done is None or done.trouble:
            return GoalEnd("unreachable", done.trouble.reason if done and done.trouble else "")
        acts = [one.command for one in self.consent.commands]
        acts += [f"{call.name} {call.arguments}" for call, _ in facts.calls]
        if repeats.see(acts, done.text):
            return GoalEnd("repeats")
        if not acts:
            self._session.history.hold(_NOTHING_DONE)
        return None

    async def _run_check(self) -> None:
        """Run the command that tells whether the goal is reached. The user typed it: a fence is enough."""
        until, permit = self.task.until, self.consent.bounds
        if not await self._may_check():
            self._session.history.hold(f"[aish] {until}: {SKIPPED}")
            return
        permit = permit._replace(seconds=min(permit.seconds, self._session.settings.goal.check_seconds))
        with command_step(self._session, until) as before_write:
            done = await self.gate.in_thread(lambda: self.gate.tools.run_unseen(until, permit, before_write))
        if self._was_stopped:
            return
        self._check = outcome = done.outcome
        if not outcome.status:
            self.worker.note(f"`{_shown(until)}` succeeds")
            return
        stopped = f"; the fence stopped it: it {done.wants[0].text}" if done.wants else ""
        self.worker.note(f"`{_shown(until)}` fails with exit status {outcome.status}{stopped}")
        facts = "".join(f"[aish] the fence stopped it: it {want.text}\n" for want in done.wants[:3])
        mask = self._session.services.redaction.text
        tail = mask(outcome.output[-2 * _TAIL :])[-_TAIL:].strip()  # cut again: the first cut may leave half a secret
        text = mask(f"[aish] {until}: fails with exit status {outcome.status}; the end of its output:\n")
        self._session.history.hold(f"{text}{tail}\n{mask(facts)}".strip())

    async def _may_check(self) -> bool:
        """Without a fence, ask each time: what the command starts may be what the model has just written."""
        tools = self.gate.tools
        if tools.unattended_fence:
            return True
        verdict = tools.judge(self.task.until)
        if verdict.verdict == "run" and verdict.effect == "read":
            return True
        question = f"there is no fence here, and the goal may have changed what `{_shown(self.task.until)}` starts: "
        return await self.person.key(f"{question}[r]un it, or [s]kip (Enter) ", "yrs") in ("y", "r")

    # Ctrl-C and time

    @property
    def _was_stopped(self) -> bool:
        return self._pressed or self.gate.interrupted

    def _left(self) -> float:
        """Return how many seconds are left."""
        return 60 * self.task.envelope.minutes - self.clock.seconds

    async def _watched(self, work: Coroutine[Any, Any, object]) -> Watched:
        """Do a part of a step; Ctrl-C and the end of the time interrupt it."""
        loop = asyncio.get_running_loop()
        self._pressed = self._late = self.gate.interrupted = False
        self._task = task = loop.create_task(work)
        self._timer = loop.call_later(max(self._left(), 0.0), self._tick)

        def press() -> None:
            self._pressed = True
            loop.call_soon_threadsafe(task.cancel)

        try:
            with self.worker.on_ctrl_c(press):
                await asyncio.wait({task})
        finally:
            self._timer.cancel()
            await _ended(task)
            self._task = None
        if not task.cancelled():
            task.result()  # raises what went wrong
        return "paused" if self._was_stopped else "late" if self._late else "done"

    def _tick(self) -> None:
        """The time may be over: end what runs. While a question is open the clock stands still, so time is left."""
        loop, left = asyncio.get_running_loop(), self._left()
        if left > 0:
            self._timer = loop.call_later(max(left, _AGAIN), self._tick)
            return
        self._late = True
        if self.gate.running:  # its thread must end by itself
            self.gate.tools.interrupt()
            self._timer = loop.call_later(_AGAIN, self._tick)
        elif self._task:
            self._task.cancel()

    def _after_command(self, decided: Decided) -> None:
        """After an interrupted command, the others of the same answer do not run."""
        stopped = decided.outcome is not None and decided.outcome.status == _STOPPED and not self._late
        self.gate.interrupted = self.gate.interrupted or stopped
        if (self._late or self.gate.interrupted) and self._task:
            self._task.cancel()
            if asyncio.current_task() is self._task:
                raise asyncio.CancelledError

    async def _pause(self) -> tuple[bool, str]:
        """Ask how to go on; return whether to, and words of the user for the model. Ctrl-C here stops."""
        while True:
            key = await self._asked(self.person.key(_PAUSED, "cst"))
            if key == "c":
                return True, ""
            if key != "s":
                return False, ""
            line = await self._asked(self.person.line("your words for the model: "))
            if line is None:
                return False, ""
            if line.strip().startswith(":"):
                self.worker.note("a : command cannot be used while a goal is worked on; stop it first")
            elif line.strip():
                return True, line.strip()

    async def _asked(self, question: Coroutine[Any, Any, T]) -> T | None:
        """Return the answer; None after Ctrl-C."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(question)

        def press() -> None:
            loop.call_soon_threadsafe(task.cancel)

        try:
            with self.worker.on_ctrl_c(press):
                await asyncio.wait({task})
        finally:
            await _ended(task)
        return None if task.cancelled() else task.result()

    # What is shown and recorded

    async def _show(self, turn: AsyncGenerator[TurnEvent]) -> TurnDone | None:
        self._done = await self.worker.show(self._with_title(turn))
        return self._done

    async def _with_title(self, turn: AsyncGenerator[TurnEvent]) -> AsyncGenerator[TurnEvent]:
        """Pass on a turn. The first line of its answer is the plan of the step, and becomes its title."""
        waiting = ""
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, TextPiece) and (waiting or not self._titled):
                    waiting = (waiting + event.text).lstrip("\n")
                    if "\n" not in waiting and len(waiting) <= LONGEST_TITLE:
                        continue
                elif not isinstance(event, TurnDone) and not waiting:
                    yield event
                    continue
                shown = waiting
                if title := self._entitle(plan_line(waiting)):
                    yield title
                    shown = without_title(waiting)
                if shown:
                    yield TextPiece(shown)
                waiting = ""
                if not isinstance(event, TextPiece):
                    yield event

    def _before_call(self) -> str:
        """Before a tool is used, show the line above the step, and return what is used up."""
        if title := self._entitle(""):
            self.gate.tell(title)
        used_up = self._used_up()
        return f"{used_up} are used up" if used_up else ""

    def _used_up(self) -> str:
        cap = cap_reached(self.envelope, self.spent()._replace(steps=0), self._next_dollars())
        return f"the {cap} of this goal" if cap else ""

    def _entitle(self, plan: str) -> Notice | None:
        """Return the line above a step, once."""
        if self._titled:
            return None
        self._titled, self._plan = True, plan
        before = self.spent()._replace(steps=self.number - 1)
        return notice("goal.step", step_line(self.envelope, before, self.number, plan), step=self.number)

    def _next_dollars(self) -> float:
        """Return what the next call could cost, as far as that is known."""
        backend, size = self._session.backend, self._session.last_size
        if backend.price is None or size is None:
            return 0.0
        return worst_case(backend.price, size.total, backend.max_tokens or _LIKELY_ANSWER)

    def _facts(self) -> StepFacts:
        session = self._session
        turn = question_number(session) if session.remembers else 0
        files = tuple(self._changed_files(turn))
        self.files |= dict.fromkeys(files)
        new = session.history.turns[-1:] != self._before  # a question without an answer is taken back
        exchange = (session.history.exchanges() if new else [])[-1:] or [()]
        results = {one.call_id: one.content for one in exchange[0] if one.role == "tool"}
        calls = tuple((call, results.get(call.id, "")) for one in exchange[0] for call in one.tool_calls)
        texts = [one.content for one in exchange[0] if one.role == "assistant" and one.content]
        answer = "\n\n".join(texts)
        return StepFacts(self.number, turn, self._plan or plan_line(answer), answer, calls, files, self._check)

    def _changed_files(self, turn: int) -> list[str]:
        session = self._session
        if not session.remembers or not turn:
            return []
        try:
            changes = session.services.open_files().history.changes(session.journal.id)
        except StoreTrouble:
            return []
        return list(dict.fromkeys(change.path for change in changes if change.turn == turn))


async def _ended(task: asyncio.Task[Any]) -> None:
    """End a task that still runs, because the goal itself was cancelled."""
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _shown(command: str) -> str:
    return one_line(exactly(command), _COMMAND_WIDTH)


def _after_claim(answer: str) -> str:
    """Return the words that say why the model is blocked: those after its claim, or else the ones before."""
    before, _, after = answer.rpartition("GOAL: blocked")
    return foreign(after.strip() or before.strip().rpartition("\n")[2])
