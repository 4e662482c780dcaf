"""The scheduler: runs background jobs one after another, without delaying the user.

It works for one conversation at a time, stops its job at once when a question comes, limits the run time of jobs in
the background, keeps a log, and leaves nothing running when it is closed.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from aish.conversation.session import Session
from aish.values.errors import AishError
from aish.values.events import Notice
from aish.values.named_tuple import NamedTuple

Moment = Literal["start", "after answer", "after command", "idle", "quit"]
"""When a job may run: after the shell has started, after an answer, after a `:` command, after a while without a
question, or when the user quits."""

JobOutcome = Literal["done", "failed", "stopped", "took too long"]
_MOST_LOGGED = 100
_LOOK_AGAIN = 5.0  # seconds


class Job(NamedTuple):
    """A piece of background work.

    `due` is quick and asks no model. `run` may be cancelled at any await and must then have changed nothing; it
    returns notices for the user. A job that was stopped is due again at its next moment.
    """

    name: str
    moment: Moment
    due: Callable[[Session], bool]
    run: Callable[[Session], Coroutine[Any, Any, list[Notice]]]
    seconds: float = 300.0  # the limit in the background; in the foreground the user waits, and Ctrl-C ends it
    announcement: str = ""  # shown before it runs in the foreground


class JobRun(NamedTuple):
    """A log entry: which job ran, for which conversation (empty before the first question), and how it ended."""

    job: str
    conversation: str
    seconds: float
    outcome: JobOutcome
    reason: str = ""


class Scheduler:
    """Runs the jobs of a program.

    1. At most one job runs at a time.
    2. `person_first` stops it, and `close` also waits until it has stopped.
    3. A failed background job is logged but not shown: if the trouble lasts, the next question reports it.
    4. The notices of background jobs are kept until somebody takes them.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._notices: deque[Notice] = deque(maxlen=_MOST_LOGGED)
        self.log: deque[JobRun] = deque(maxlen=_MOST_LOGGED)

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, moment: Moment, session: Session) -> None:
        """Run the jobs that are due at this moment in the background, unless one is running already.

        After a while without a question, the jobs for idle times follow.
        """
        if self.busy:
            return
        self._stop_waiting()
        due = self.due(moment, session)
        loop = asyncio.get_running_loop()
        if due:
            self._task = loop.create_task(self._run_all(due, session))
        if moment != "idle" and any(job.moment == "idle" for job in self._jobs):
            seconds = session.settings.notes.idle_seconds
            self._timer = loop.call_later(seconds, self._start_idle, session)

    def _start_idle(self, session: Session) -> None:
        if self.busy:  # the jobs before still run: look again later
            self._timer = asyncio.get_running_loop().call_later(_LOOK_AGAIN, self._start_idle, session)
        else:
            self.start("idle", session)

    def _stop_waiting(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def due(self, moment: Moment, session: Session) -> list[Job]:
        return [job for job in self._jobs if job.moment == moment and self._is_due(job, session)]

    def _is_due(self, job: Job, session: Session) -> bool:
        """Is a job due? A store that cannot be read is logged, and does not disturb the user."""
        try:
            return job.due(session)
        except AishError as error:
            self._log(job, session.recorder.conversation, time.monotonic(), "failed", str(error))
            return False

    async def run(self, job: Job, session: Session) -> list[Notice]:
        """Run a job in the foreground while the user waits. Raises what the job raises."""
        await self.close()
        return await self._run(job, session, seconds=None)

    def take_notices(self) -> list[Notice]:
        """Return what background jobs have to tell the user, once."""
        notices = list(self._notices)
        self._notices.clear()
        return notices

    def person_first(self) -> None:
        """Stop the running job, because the user has asked something."""
        self._stop_waiting()
        if self._task:
            self._task.cancel()

    async def idle(self) -> None:
        """Wait until no job is running."""
        if self._task:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Stop the running job and wait until it has ended."""
        self.person_first()
        await self.idle()

    async def _run_all(self, jobs: Sequence[Job], session: Session) -> None:
        for job in jobs:
            try:
                self._notices += await self._run(job, session, job.seconds)
            except (AishError, TimeoutError):
                continue  # _run has logged it

    async def _run(self, job: Job, session: Session, seconds: float | None) -> list[Notice]:
        started, conversation = time.monotonic(), session.recorder.conversation
        outcome: JobOutcome = "failed"
        reason = ""
        try:
            async with asyncio.timeout(seconds):
                notices = await job.run(session)
            outcome = "done"
            return notices
        except asyncio.CancelledError:
            outcome = "stopped"
            raise
        except TimeoutError:
            outcome = "took too long"
            raise
        except Exception as error:  # also a bug: it is logged as one, and raised again
            reason = str(error)
            raise
        finally:
            self._log(job, conversation, started, outcome, reason)

    def _log(self, job: Job, conversation: str, started: float, outcome: JobOutcome, reason: str) -> None:
        self.log.append(JobRun(job.name, conversation, time.monotonic() - started, outcome, reason))
