"""The scheduler: one job at a time, never in the way of the person, and nothing left behind."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from world import World

from aish.conversation.session import Session
from aish.jobs.scheduler import Job, Moment, Scheduler
from aish.values.errors import StoreTrouble
from aish.values.events import Notice, notice

pytestmark = pytest.mark.anyio
Work = Callable[[Session], Coroutine[Any, Any, list[Notice]]]


def job(name: str, run: Work, **more: Any) -> Job:
    return Job(name, "after answer", lambda session: True, run, **more)


async def ended(scheduler: Scheduler) -> None:
    async with asyncio.timeout(5):
        await scheduler.idle()


async def test_what_is_due_runs_in_the_background_one_after_another(world: World) -> None:
    """Two jobs at once would fight for the same model."""
    running, most = 0, 0

    async def work(session: Session) -> list[Notice]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return []

    scheduler = Scheduler([job("a", work), job("b", work), Job("never", "after answer", lambda session: False, work)])
    session = world.session(["A1"])
    await world.ask(session, "q1")
    scheduler.start("after answer", session)
    scheduler.start("after answer", session)
    await ended(scheduler)

    assert [(run.job, run.outcome, run.conversation) for run in scheduler.log] == [
        ("a", "done", session.journal.id),
        ("b", "done", session.journal.id),
    ]
    assert most == 1


async def test_a_job_runs_only_at_its_moment(world: World) -> None:
    """Background work starts at boundaries, never in the middle of a turn."""

    async def work(session: Session) -> list[Notice]:
        return []

    scheduler = Scheduler([job("a", work)])
    scheduler.start("start", world.session())

    assert not scheduler.busy
    assert not scheduler.log


async def test_notices_of_background_jobs_are_kept_until_they_are_taken(world: World) -> None:
    """The shell shows them when it next writes to the screen, and only once."""

    async def work(session: Session) -> list[Notice]:
        return [notice("done", "it is done")]

    scheduler = Scheduler([job("a", work)])
    scheduler.start("after answer", world.session())
    await ended(scheduler)

    assert [one.text for one in scheduler.take_notices()] == ["it is done"]
    assert scheduler.take_notices() == []


async def test_the_person_comes_first(world: World) -> None:
    """A question stops what runs; what did not finish is due again later."""
    began = asyncio.Event()

    async def work(session: Session) -> list[Notice]:
        began.set()
        await asyncio.Event().wait()
        return []

    scheduler = Scheduler([job("a", work), job("b", work)])
    scheduler.start("after answer", world.session())
    await began.wait()
    scheduler.person_first()
    await ended(scheduler)

    assert [(run.job, run.outcome) for run in scheduler.log] == [("a", "stopped")]


async def test_closing_waits_until_nothing_runs(world: World) -> None:
    """A door that ends leaves no task behind."""
    began, cleaned = asyncio.Event(), asyncio.Event()

    async def work(session: Session) -> list[Notice]:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.set()
        return []

    scheduler = Scheduler([job("a", work)])
    scheduler.start("after answer", world.session())
    await began.wait()
    await scheduler.close()

    assert cleaned.is_set()
    assert not scheduler.busy


async def test_trouble_is_logged_and_the_next_job_runs(world: World) -> None:
    """The person hears of it with the next question, not while typing."""

    async def fails(session: Session) -> list[Notice]:
        raise StoreTrouble("the disk is full")

    async def works(session: Session) -> list[Notice]:
        return []

    scheduler = Scheduler([job("a", fails), job("b", works)])
    scheduler.start("after answer", world.session())
    await ended(scheduler)

    assert [(run.job, run.outcome, run.reason) for run in scheduler.log] == [
        ("a", "failed", "the disk is full"),
        ("b", "done", ""),
    ]


async def test_a_bug_in_a_job_is_logged_as_a_failure(world: World) -> None:
    """It must not look as if the user had stopped it."""

    async def breaks(session: Session) -> list[Notice]:
        raise KeyError("no such layer")

    scheduler = Scheduler([])
    with pytest.raises(KeyError):
        await scheduler.run(job("a", breaks), world.session())

    assert [(run.outcome, run.reason) for run in scheduler.log] == [("failed", "'no such layer'")]


async def test_a_job_that_takes_too_long_is_stopped(world: World) -> None:
    """A hanging server must not block the others forever."""

    async def hangs(session: Session) -> list[Notice]:
        await asyncio.Event().wait()
        return []

    scheduler = Scheduler([job("a", hangs, seconds=0.01)])
    scheduler.start("after answer", world.session())
    await ended(scheduler)

    assert [(run.job, run.outcome) for run in scheduler.log] == [("a", "took too long")]


async def test_a_job_in_the_foreground_tells_what_it_found(world: World) -> None:
    """Somebody waits for it, so trouble is raised."""

    async def finds(session: Session) -> list[Notice]:
        return [notice("found", "two things")]

    async def fails(session: Session) -> list[Notice]:
        raise StoreTrouble("the disk is full")

    scheduler, session = Scheduler([]), world.session()
    assert [one.text for one in await scheduler.run(job("a", finds), session)] == ["two things"]
    with pytest.raises(StoreTrouble):
        await scheduler.run(job("b", fails), session)
    assert [run.outcome for run in scheduler.log] == ["done", "failed"]


async def test_a_job_does_not_begin_the_conversation(world: World) -> None:
    """The journal of a conversation names the directory and the model of its first question, not those at the start."""

    async def work(session: Session) -> list[Notice]:
        return []

    scheduler, session = Scheduler([Job("a", "start", lambda session: True, work)]), world.session(["A1"])
    scheduler.start("start", session)
    await ended(scheduler)
    session.cwd = world.directory / "elsewhere"
    await world.ask(session, "q1")

    assert session.journal.meta()["cwd"] == str(world.directory / "elsewhere")
    assert [run.conversation for run in scheduler.log] == [""]


async def test_a_job_in_the_foreground_stops_the_one_in_the_background(world: World) -> None:
    """The user waits for it, and two jobs at once would fight for the same model."""
    began = asyncio.Event()

    async def hangs(session: Session) -> list[Notice]:
        began.set()
        await asyncio.Event().wait()
        return []

    async def works(session: Session) -> list[Notice]:
        return []

    scheduler, session = Scheduler([job("a", hangs)]), world.session()
    scheduler.start("after answer", session)
    await began.wait()
    await scheduler.run(job("b", works), session)

    assert [(run.job, run.outcome) for run in scheduler.log] == [("a", "stopped"), ("b", "done")]


async def test_a_job_in_the_foreground_may_take_its_time(world: World) -> None:
    """A slow model must not end the shell with an error; the user can press Ctrl-C."""
    waited = list[bool]()

    async def slow(session: Session) -> list[Notice]:
        try:
            async with asyncio.timeout(0.05):
                await asyncio.Event().wait()
        except TimeoutError:
            waited.append(True)
        return []

    await Scheduler([]).run(job("a", slow, seconds=0.001), world.session())

    assert waited == [True]


def idle_job(run: Work, name: str = "idle") -> Job:
    return Job(name, "idle", lambda session: True, run)


async def within_a_moment(event: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        await event.wait()


@pytest.mark.proves("R11")
@pytest.mark.parametrize("moment", ["start", "after answer", "after command"])
async def test_idle_jobs_follow_after_a_while_without_a_question(world: World, moment: Moment) -> None:
    """Work that asks a model waits until the user does something else."""
    ran = asyncio.Event()

    async def work(session: Session) -> list[Notice]:
        ran.set()
        return []

    scheduler, session = Scheduler([idle_job(work)]), world.session(settings={"notes": {"idle_seconds": 0}})
    scheduler.start(moment, session)
    assert not scheduler.busy
    await within_a_moment(ran)
    await ended(scheduler)
    await asyncio.sleep(0.02)

    assert [(run.job, run.outcome) for run in scheduler.log] == [("idle", "done")], "once, not all the time"


@pytest.mark.proves("R11")
async def test_a_question_puts_idle_jobs_off(world: World) -> None:
    """Also one that comes before they have begun."""

    async def work(session: Session) -> list[Notice]:
        return []

    scheduler, session = Scheduler([idle_job(work)]), world.session(settings={"notes": {"idle_seconds": 0}})
    scheduler.start("after answer", session)
    scheduler.person_first()
    await asyncio.sleep(0.02)

    assert not scheduler.log


@pytest.mark.proves("R11")
async def test_a_closed_scheduler_starts_no_idle_jobs(world: World) -> None:
    """Nothing runs when the shell is closed."""

    async def work(session: Session) -> list[Notice]:
        return []

    scheduler, session = Scheduler([idle_job(work)]), world.session(settings={"notes": {"idle_seconds": 0}})
    scheduler.start("after answer", session)
    await scheduler.close()
    await asyncio.sleep(0.02)

    assert not scheduler.log


async def test_idle_jobs_wait_for_the_jobs_before_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most one job runs at a time; the idle ones are looked at again later."""
    monkeypatch.setattr("aish.jobs.scheduler._LOOK_AGAIN", 0.01)
    go, ran = asyncio.Event(), asyncio.Event()

    async def first(session: Session) -> list[Notice]:
        await go.wait()
        return []

    async def second(session: Session) -> list[Notice]:
        ran.set()
        return []

    session = world.session(settings={"notes": {"idle_seconds": 0}})
    scheduler = Scheduler([job("a", first), idle_job(second)])
    scheduler.start("after answer", session)
    await asyncio.sleep(0.03)
    assert not scheduler.log
    go.set()
    await within_a_moment(ran)
    await ended(scheduler)

    assert [run.job for run in scheduler.log] == ["a", "idle"]


async def test_a_check_that_fails_is_logged_and_the_job_is_not_due(world: World) -> None:
    """A file that cannot be read must not turn an answer into an error."""

    def broken(session: Session) -> bool:
        raise StoreTrouble("cannot read the queue")

    async def work(session: Session) -> list[Notice]:
        return []

    scheduler = Scheduler([Job("a", "after answer", broken, work), job("b", work)])
    scheduler.start("after answer", world.session())
    await ended(scheduler)

    assert [(run.job, run.outcome, run.reason) for run in scheduler.log] == [
        ("a", "failed", "cannot read the queue"),
        ("b", "done", ""),
    ]
