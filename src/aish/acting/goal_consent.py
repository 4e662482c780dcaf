"""The envelope of a goal at work: what it covers runs, what is outside is asked for, and fences are as narrow as it.

Only keys of the user widen it, for just the thing that was asked for.
"""

from collections.abc import Callable
from pathlib import Path

from aish.acting.command_fences import CHANGING, Permit
from aish.acting.envelope import Envelope, covers_path, missing_programs, with_path, with_programs
from aish.acting.gate import Decided
from aish.acting.standing_consent import StandingConsent
from aish.action.started_programs import started_programs
from aish.agent.permission import ALLOWED, Decision
from aish.agent.tool import ParsedCall, Tool
from aish.conversation.permission import AskPerson
from aish.conversation.turn_context import TurnContext
from aish.values.named_tuple import NamedTuple
from aish.values.person import Person
from aish.values.text import exactly, one_line
from aish.values.verdicts import Verdict

SKIPPED = "skipped by user"
_LEAST_SECONDS = 1.0


class GoalCommand(NamedTuple):
    """A command of a step: its verdict, who decided, and what became of it."""

    command: str
    effect: str
    reason: str
    decision: str
    status: int | None
    output: str


class GoalConsent(StandingConsent):
    """The consent that the user gave to one goal.

    1. Commands within the envelope get a permit for exactly its paths and its network.
    2. Whatever else runs in a fence during the goal is narrowed to the same.
    3. Without a fence, or if the user wants to be asked always, it permits nothing.
    """

    is_goal = True

    def __init__(
        self,
        envelope: Envelope,
        project: Path | None,
        person: Person,
        judge: Callable[[str], Verdict],
        left: Callable[[], float],
        *,
        permits: bool,
    ) -> None:
        """`project` is the real path of the project, if there is one. `left` returns how many seconds are left."""
        self.envelope, self._project, self._person = envelope, project, person
        self._judge, self._left, self._permits = judge, left, permits
        self.commands: list[GoalCommand] = []  # of this step
        self.changed = False  # something may have changed in this step
        self.before_call: Callable[[], str] = lambda: ""  # called before a tool is used; returns why it may not be
        self.cap: Callable[[], str] = lambda: ""  # returns what is used up
        self.after: Callable[[Decided], None] = lambda decided: None  # called after each command
        self._how = ""  # who decided about the command at hand, if it was this consent

    def new_step(self) -> None:
        self.commands, self.changed, self._how = [], False, ""

    @property
    def bounds(self) -> Permit:
        """What a command that changes something may do now."""
        top = self._project
        paths = tuple(top / path for path in self.envelope.paths) if top else ()
        real = tuple(path.resolve() for path in paths)
        return CHANGING._replace(
            network=self.envelope.network, only=real, attended=False, seconds=max(self._left(), _LEAST_SECONDS)
        )

    def permit(self, command: str, verdict: Verdict) -> Permit | None:
        if not self._is_covered(verdict) or self._missing(command, verdict) != ():
            return None
        self._how = "within the envelope"
        return self.bounds

    async def ask(self, command: str, verdict: Verdict) -> Permit | str | None:
        missing = self._missing(command, verdict) if self._is_covered(verdict) else None
        if not missing:
            return None
        wanted = " and ".join(missing)
        question = f"outside what this goal may do: {wanted}: [o]nce, for this [g]oal, or [s]kip (Enter) "
        key = await self._person.key(question, "yogs")
        if key == "s":
            return SKIPPED
        bounds = self.bounds._replace(network=self.envelope.network or verdict.effect == "send")
        self._how = "allowed once"
        if key == "g":
            self._how = "allowed for this goal"
            programs = started_programs(command, self._only_looks) or ()
            self.envelope = with_programs(self.envelope, missing_programs(self.envelope, programs))
            self.envelope = self.envelope._replace(network=bounds.network)
        return bounds

    def _is_covered(self, verdict: Verdict) -> bool:
        """Can an envelope cover it at all? What is asked about although it only reads, may show a secret."""
        return self._permits and verdict.verdict == "ask" and verdict.effect in ("change", "send")

    def _missing(self, command: str, verdict: Verdict) -> tuple[str, ...] | None:
        """Return what a command needs that the envelope does not have; None if that cannot be known."""
        programs = started_programs(command, self._only_looks)
        if programs is None:
            return None
        names = missing_programs(self.envelope, programs)
        found = [f"run {', '.join(one_line(exactly(name), 60) for name in names)}"] if names else []
        found += ["use the network"] if verdict.effect == "send" and not self.envelope.network else []
        return tuple(found)

    def _only_looks(self, part: str) -> bool:
        verdict = self._judge(part)
        return verdict.verdict == "run" and verdict.effect == "read"

    def narrowed(self, permit: Permit) -> Permit:
        if permit.only is not None:
            return permit
        bounds = self.bounds
        network = permit.network or bounds.network
        return permit._replace(only=bounds.only, attended=False, seconds=bounds.seconds, network=network)

    def widen(self, before: Permit, now: Permit) -> None:
        if now.network and not before.network:
            self.envelope = self.envelope._replace(network=True)
        for path in now.only or ():
            if self._project and path not in (before.only or ()) and path.is_relative_to(self._project):
                self.widen_path(str(path.relative_to(self._project)))

    def objection(self, verdict: Verdict) -> str:
        sends = verdict.effect == "send" and not self.envelope.network
        return "you always allow it, but this goal may use no network" if sends else ""

    def used_up(self) -> str:
        return self.cap()

    def beside(self) -> StandingConsent:
        return GoalBounds(self)

    def decided(self, decided: Decided, verdict: Verdict) -> None:
        outcome = decided.outcome
        unasked = "ran unasked" if verdict.verdict == "run" else "allowed by you"
        decision = self._how or unasked if outcome else decided.reason
        self._how = ""
        self.changed = self.changed or (outcome is not None and verdict.effect != "read")
        status, output = (outcome.status, outcome.output) if outcome else (None, "")
        self.commands.append(GoalCommand(decided.command, verdict.effect, verdict.reason, decision, status, output))
        self.after(decided)

    def covers_file(self, path: str) -> bool:
        return self._project is not None and covers_path(self.envelope, path)

    def widen_path(self, path: str) -> None:
        self.envelope = with_path(self.envelope, path)


class GoalBounds(StandingConsent):
    """The bounds of a goal for a sub-agent: what the user allows it with a key stays within them, and is recorded."""

    def __init__(self, goal: GoalConsent) -> None:
        self._goal = goal

    def narrowed(self, permit: Permit) -> Permit:
        return self._goal.narrowed(permit)

    def objection(self, verdict: Verdict) -> str:
        return self._goal.objection(verdict)

    def decided(self, decided: Decided, verdict: Verdict) -> None:
        self._goal.decided(decided, verdict)


class GoalPermission(AskPerson):
    """Allows changes of files within the envelope; asks about all else."""

    def __init__(self, consent: GoalConsent, *, asks_always: bool) -> None:
        self._consent, self._asks_always = consent, asks_always

    async def ask(self, tool: Tool[TurnContext], call: ParsedCall, context: TurnContext) -> Decision:
        if used_up := self._consent.before_call():
            return Decision(False, used_up)
        decision = await self._decide(tool, call, context)
        if decision.allowed and tool.effect != "read" and not tool.asks_itself:
            self._consent.changed = True
        return decision

    async def _decide(self, tool: Tool[TurnContext], call: ParsedCall, context: TurnContext) -> Decision:
        if self._asks_always or not tool.plan or tool.effect != "change":
            return await super().ask(tool, call, context)
        plan = await tool.planned(call, context)
        if plan.refusal:
            return Decision(False, plan.refusal)
        if not plan.path or plan.word or plan.effect != "change":
            return await super().ask(tool, call, context)
        await context.person.show(plan.preview)
        if self._consent.covers_file(plan.path):
            return ALLOWED
        question = f"{plan.what}; this is outside what the goal may do: [o]nce, for this [g]oal, or [s]kip (Enter) "
        key = await context.person.key(question, "yogs")
        if key == "g":
            self._consent.widen_path(plan.path)
        return Decision(False, SKIPPED) if key == "s" else ALLOWED
