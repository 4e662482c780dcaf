"""Work on a question until it is answered: ask the model, run the commands of its answer, and let it read on."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

from aish.acting.gate import Decided, Gate
from aish.acting.message_queue import MessageQueue
from aish.acting.rounds import GO_ON, Rounds
from aish.acting.steps import StepList
from aish.agent.permission import Permission
from aish.conversation.plan import plan_keeper
from aish.conversation.session import Session
from aish.conversation.turn import take_turn
from aish.conversation.turn_context import TurnContext
from aish.values.events import TurnDone, TurnEvent
from aish.values.named_tuple import NamedTuple
from aish.values.person import Person
from aish.values.plan import plan_in, progress
from aish.values.text import one_line

ShowTurn = Callable[[AsyncGenerator[TurnEvent]], Awaitable[TurnDone | None]]
"""Shows the events of a turn as they happen, and returns how it ended."""


OnCtrlC = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""While the context is open, Ctrl-C calls the function."""


class Step(NamedTuple):
    """One answer of the model, and what became of its commands."""

    done: TurnDone | None
    decided: list[Decided]

    @property
    def is_complete(self) -> bool:
        return self.done is not None and self.done.state == "complete"


class Worker:
    """Works for one conversation. Without a gate no command runs, so the first answer is the last."""

    def __init__(
        self,
        session: Session,
        person: Person,
        gate: Gate | None,
        show: ShowTurn,
        note: Callable[[str], object],
        *,
        queue: MessageQueue | None = None,
        listen: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.session, self.person, self.gate = session, person, gate
        self.show, self.note = show, note
        self.on_ctrl_c: OnCtrlC = lambda press: nullcontext()
        self.stop_jobs: Callable[[], object] = lambda: None  # of the background; the person comes first
        self.queue = queue or MessageQueue()  # what the user types meanwhile
        self.listen = listen  # reads what is typed
        self.steps = StepList()  # what the model did by itself for the last question

    @property
    def failed(self) -> tuple[str, int]:
        """The last command of the last answer, if it failed, and its status."""
        return self.gate.failed if self.gate else ("", 0)

    async def ask(self, words: str) -> TurnDone | None:
        """Ask the user's question, and let the model go on after its commands until it has answered."""
        self.steps.begin()
        try:
            with self.listen():
                step, rounds = await self.step(words), Rounds(self.session.settings.commands.rounds)
                while step.is_complete and rounds.go_on(step.decided):
                    step = await self.step(GO_ON, typed_by_user=False, chosen_by=words)
        finally:
            self._end_consent()
        if rounds.reason:
            self.note(rounds.reason)
        self.keep_steering()
        return step.done

    def keep_steering(self) -> None:
        """Make a question of words for the model that came after its last request."""
        if late := self.queue.keep_steering():
            self.note(f"the answer was complete before, so this is the next message: {one_line(late, 200)}")

    def _end_consent(self) -> None:
        """Forget what the user allowed until the question is answered."""
        if self.gate:
            self.gate.for_turn.end()

    async def step(
        self,
        words: str,
        *,
        typed_by_user: bool = True,
        chosen_by: str = "",
        permission: Permission[TurnContext] | None = None,
        category: str = "main",
    ) -> Step:
        """Take one turn, and offer the commands of its answer. The arguments are those of `take_turn`."""
        if typed_by_user:
            self._end_consent()
        turn = take_turn(
            self.session,
            words,
            self.person,
            typed_by_user=typed_by_user,
            chosen_by=chosen_by,
            gate=self.gate,
            permission=permission,
            category=category,
            steering=self.queue.take_steering,
        )
        step = Step(None, [])
        try:
            step = await self._answer(turn)
        finally:
            if not step.is_complete:  # the user stopped it, or it failed
                self._end_consent()
        return step

    def _follow_plan(self, done: TurnDone | None) -> None:
        """Take the plan over that an answer states in lines of its own."""
        plan, keeper = plan_in(done.text) if done else (), plan_keeper(self.session)
        if plan and keeper:
            keeper.update(plan)
            self.note(progress(plan))

    async def _answer(self, turn: AsyncGenerator[TurnEvent]) -> Step:
        if self.gate:
            self.gate.failed = ("", 0)
        with self.listen():
            done = await self.show(turn)
            self._follow_plan(done)
            if done is None or self.gate is None or self.session.prompt_form() == "words":  # a toy proposes nothing
                return Step(done, [])
            return Step(done, await self.gate.offer(done.text, complete=done.state == "complete"))
