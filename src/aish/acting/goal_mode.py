"""Start a goal: read it, show what it may do, let the user change that, and work on it with a record."""

import os
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from aish.acting.envelope import (
    WHOLE,
    Envelope,
    apply,
    as_options,
    described,
    read_goal,
    read_options,
    with_programs,
)
from aish.acting.gate import WORD, Gate
from aish.acting.goal_budget import used_line
from aish.acting.goal_ends import GoalEnd
from aish.acting.goal_run import GoalRun, GoalTask, StepFacts
from aish.acting.worker import Worker
from aish.action.fence.bounds import is_project
from aish.action.started_programs import started_programs
from aish.conversation.session import Session
from aish.memory.goal_records import LONGEST_ARGUMENTS, LONGEST_OUTPUT, GoalLog, GoalRecords
from aish.places import find_project, home_directory
from aish.settings.options import GoalSettings
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.outcomes import Outcome
from aish.values.replies import Reply
from aish.values.text import clip, counted, exactly, foreign, one_line

_QUESTION = "[g]o, [e]dit what it may, or [c]ancel "
_NO_PROJECT = "this is not a project directory, so the goal can look but change no file; start it in a project"
_NO_FENCE = "there is no fence here, so every command that changes something asks"
SetGoal = Callable[[str, str, str], None]
"""Puts the goal, its check and its bounds into the prompt; an empty goal removes them."""


class GoalMode:
    """Starts goals. One is worked on at a time."""

    def __init__(self, records: GoalRecords, now: Callable[[], datetime]) -> None:
        self._records, self._now = records, now

    async def start(self, worker: Worker, text: str, options: Mapping[str, str], set_goal: SetGoal) -> Reply:
        """Ask for consent once, then work on the goal until it ends. Raises `BadUsage`."""
        gate, session = worker.gate, worker.session
        if gate is None:
            raise BadUsage("a goal needs a terminal, because somebody has to allow what it may do")
        goal, until = read_goal(text)
        project = _project(session)
        envelope = apply(self._usual(session.settings.goal, gate, until), self._in_project(session, project, options))
        self._check_paths(envelope, project)
        if until and not await self._agrees_to_check(worker, gate, until):
            return Reply("nothing was started", found=False)
        chosen = await self._agreed(worker, goal, until, envelope, project)
        if chosen is None:
            return Reply("nothing was started", found=False)
        run = GoalRun(worker, gate, GoalTask(goal, until, chosen, project))
        record = Recording(run, self._records, self._now)
        set_goal(goal, until, described(chosen, project.name if project else ""))
        end = GoalEnd("stopped")
        try:
            end = await run.run(record.add_step)
        except Exception as error:  # a bug: it is reported by the caller, and the record says so
            end = GoalEnd("trouble", str(error))
            raise
        finally:
            set_goal("", "", "")
            worker.keep_steering()
            text = record.finish(end)
        return Reply(text, data={"end": end.kind, "files": list(run.files)}, found=end.kind == "complete")

    def _usual(self, options: GoalSettings, gate: Gate, until: str) -> Envelope:
        envelope = apply(
            Envelope(),
            {name: str(getattr(options, name)) for name in ("steps", "minutes", "tokens", "dollars")},
        )
        started = started_programs(until, lambda part: gate.tools.judge(part).verdict == "run") if until else ()
        return with_programs(envelope, (*(started or ()), *options.programs))

    def _in_project(self, session: Session, project: Path | None, options: Mapping[str, str]) -> Mapping[str, str]:
        """Return the options with paths relative to the project; they were typed in the current directory."""
        if "paths" not in options or project is None:
            return options
        here = os.path.relpath(os.path.realpath(session.cwd), project)
        names = [name.strip() for name in options["paths"].split(",") if name.strip()]
        below = [name if os.path.isabs(name) else os.path.normpath(f"{here}/{name}") for name in names]  # noqa: PTH117  # as text
        return {**options, "paths": ",".join(_relative(name, project) for name in below)}

    def _check_paths(self, envelope: Envelope, project: Path | None) -> None:
        """Raise `BadUsage` for a path that is no directory of the project, also through a link."""
        for path in envelope.paths if project else ():
            real = Path(os.path.realpath(project / path)) if project else Path(path)
            if project and not (real.is_dir() and real.is_relative_to(project)):
                raise BadUsage(f"{one_line(exactly(path), 60)} is not a directory of the project")

    async def _agrees_to_check(self, worker: Worker, gate: Gate, until: str) -> bool:
        """A check that destroys something, or cannot be understood, needs a word before the goal starts."""
        verdict = gate.tools.judge(until)
        if verdict.verdict == "refuse":
            raise BadUsage(f"the command after until cannot be used: {verdict.reason}")
        if verdict.effect not in ("destroy", "unknown"):
            return True
        shown = one_line(exactly(until), 200)
        worker.note(f"`{shown}` would run after each step that changes something")
        question = f"{verdict.effect}: {verdict.reason}: type {WORD} to use it; anything else cancels: "
        return bool(await worker.person.word(question, [WORD]))

    async def _agreed(
        self, worker: Worker, goal: str, until: str, envelope: Envelope, project: Path | None
    ) -> Envelope | None:
        """Show what the goal may do, and let the user agree, change it or cancel."""
        gate = worker.gate
        assert gate
        done = f"`{one_line(exactly(until), 200)}` succeeds" if until else "the model says so"
        worker.note(f"goal: {one_line(foreign(goal), 500)}; done when {done}")
        for text in self._remarks(worker.session, gate, project):
            worker.note(text)
        while True:
            worker.note(f"it may: {described(envelope, project.name if project else '')}")
            key = await worker.person.key(_QUESTION, "gec")
            if key == "g":
                return envelope
            if key != "e":
                return None
            edited = await worker.person.edit(as_options(envelope))
            try:
                changed = read_options(edited, envelope) if edited.strip() else envelope
                self._check_paths(changed, project)
                envelope = changed
            except BadUsage as error:
                worker.note(f"{error}; nothing was changed")

    def _remarks(self, session: Session, gate: Gate, project: Path | None) -> list[str]:
        fence = gate.tools.unattended_fence
        found = [f"its commands run in a fence of {fence.capitalize()}" if fence else _NO_FENCE]
        found += [] if project else [_NO_PROJECT]
        if session.backend.price is None:
            found.append(f"the price of {session.backend.label} is unknown, so money cannot be limited; tokens are")
        if not session.remembers:
            found.append("memory is off: there is no record of the goal, no undo, and no file tools")
        return found


def _project(session: Session) -> Path | None:
    """Return the real path of the project; None if there is none, such as in the home directory."""
    top = find_project(session.cwd)
    return Path(os.path.realpath(top)) if is_project(top, home_directory()) else None


def _relative(name: str, project: Path) -> str:
    """Return a path of the user relative to the project; one that leads out of it stays as it is."""
    if os.path.isabs(name):  # noqa: PTH117  # as text
        return os.path.relpath(os.path.realpath(name), project)
    return name or WHOLE


def _outcome(check: Outcome | None) -> dict[str, object] | None:
    return {"status": check.status, "output": clip(check.output, LONGEST_OUTPUT)} if check else None


class Recording:
    """Writes the record of a goal. If it cannot be written, the goal goes on, and the user is told once."""

    def __init__(self, run: GoalRun, records: GoalRecords, now: Callable[[], datetime]) -> None:
        self._run, session = run, run.worker.session
        self._log: GoalLog | None = records.new(now, session.services.redaction.text) if session.remembers else None
        task = run.task
        self._add(
            "goal",
            goal=task.goal,
            check=task.until,
            envelope=task.envelope._asdict(),
            conversation=session.journal.id if session.remembers else "",
            project=task.project.name if task.project else "",
            path=str(task.project or ""),
            model=session.model,
        )

    def _add(self, what: str, **fields: object) -> None:
        if self._log is None:
            return
        try:
            self._log.add(what, **fields)
        except StoreTrouble as error:
            self._run.worker.note(f"the record of this goal is incomplete: {error}")
            self._log = None

    def add_step(self, facts: StepFacts) -> None:
        run = self._run
        spent = run.spent()
        self._add(
            "step",
            step=facts.number,
            turn=facts.turn,
            plan=one_line(facts.plan, 200),
            answer=facts.answer,
            tools=[
                {
                    "name": call.name,
                    "arguments": clip(call.arguments, LONGEST_ARGUMENTS),
                    "result": clip(result, LONGEST_OUTPUT),
                }
                for call, result in facts.calls
            ],
            commands=[{**one._asdict(), "output": clip(one.output, LONGEST_OUTPUT)} for one in run.consent.commands],
            check=_outcome(facts.check),
            files=facts.files,
            envelope=run.envelope._asdict(),
            spent={**spent._asdict(), "seconds": round(spent.seconds, 1), "dollars": round(spent.dollars, 6)},
        )

    def finish(self, end: GoalEnd) -> str:
        """Write the end, and return the line that says it."""
        run = self._run
        files = len(run.files)
        parts = [foreign(end.text)]
        if files:
            parts.append(f"{counted(files, 'file')} changed (:diff goal, :undo goal)")
        parts.append(used_line(run.envelope, run.spent()))
        log = self._log
        self._add("end", kind=end.kind, text="; ".join(parts), files=list(run.files))
        if log and self._log:
            parts.append(f"record: :goal replay {shlex.quote(log.id[-6:])}")
        return "; ".join(parts)
