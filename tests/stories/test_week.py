"""A week in the life: two projects, a scripted model, and a clock that moves from Monday to Friday.

Every layer of the notes fills as it should, and on Friday the first question gets Monday's decision and Thursday's
state. The page docs/week.md shows the files after each day; it is made of this story.
"""

import asyncio
import difflib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from world import World, script_of

from aish.conversation.session import Session
from aish.jobs.notes import finish_conversation
from aish.jobs.scheduler import Scheduler
from aish.jobs.table import JOBS
from aish.memory.notes.document import parse, plain
from aish.program import Program

pytestmark = pytest.mark.anyio
MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
NOTES = ("SESSION.md", "MEMORY.md", "HISTORY.md")
PAGE = Path(__file__).parents[2] / "docs" / "week.md"


class Week:
    """A home, two projects, and the program as it is started each day."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = MONDAY
        self.folders = {name: world.directory / name for name in ("shop", "site")}
        for folder in self.folders.values():
            (folder / ".git").mkdir(parents=True)
        self.days: list[tuple[str, dict[str, str]]] = []

    def start(self, project: str, answers: list[str], notes: list[str], **settings: object) -> tuple[Program, Session]:
        """Start aish in a project, with the answers of the model and of the helper for notes."""
        models = {"script": {"kind": "scripted", "answers": answers}, "notes": {"kind": "scripted", "answers": notes}}
        quiet = {"upkeep": True, "model": "notes", "idle_seconds": 0, "tools": False}
        program = self.world.program({"model": "script", "models": models, "notes": quiet, **settings})
        program.cwd, program.now = self.folders[project], lambda: self.now
        return program, program.session()

    async def ask(self, session: Session, question: str) -> list[str]:
        """Ask, and let the background work of this moment finish."""
        said = await self.world.ask(session, question)
        jobs = Scheduler(JOBS)
        jobs.start("after answer", session)
        async with asyncio.timeout(10):
            await jobs.idle()
        await jobs.close()
        self.now += timedelta(minutes=10)
        return said.notices

    async def rest(self, session: Session) -> None:
        """The user is away from the keyboard for a while."""
        jobs = Scheduler(JOBS)
        jobs.start("idle", session)
        async with asyncio.timeout(10):
            await jobs.idle()
        await jobs.close()

    async def quit(self, program: Program, session: Session) -> None:
        await finish_conversation(session)
        await program.close()

    def sleep(self, title: str) -> None:
        """The day ends; remember what the files look like."""
        self.days.append((title, {**self._texts("shop"), **self._texts("site")}))
        self.now = (self.now + timedelta(days=1)).replace(hour=9, minute=0)

    def _texts(self, project: str) -> dict[str, str]:
        folders = list(self.world.places.workspace.glob(f"channels/{project}-*"))
        found = {f"{project}/{name}": folder / name for folder in folders for name in NOTES}
        return {name: plain(parse(path.read_text())) for name, path in found.items() if path.exists()}

    def page(self) -> str:
        """The changes of each day as a page for the docs."""
        parts, before = [_HEAD], dict[str, str]()
        for title, texts in self.days:
            parts.append(f"## {title}\n")
            for name, text in texts.items():
                old, new = before.get(name, "").splitlines(), text.splitlines()
                lines = [
                    line
                    for line in difflib.unified_diff(old, new, n=0, lineterm="")
                    if not line.startswith(("--- ", "+++ ", "@@"))
                ]
                lines = [line for line in lines if line.strip("+- ")]
                if lines:
                    parts.append(f"`{name}`\n\n```diff\n" + "\n".join(lines) + "\n```\n")
            before = texts
        return "\n".join(parts)


_HEAD = """\
# A week of notes

What the notes of two projects look like at the end of each day. The page is made by `tests/stories/test_week.py`, with
a scripted model; ids and other invisible comments are left out.
"""


@pytest.mark.proves("S1", "S22", "S23", "S24", "S26", "S34", "S38")
async def test_on_friday_the_first_question_gets_mondays_decision_and_thursdays_state(world: World) -> None:
    """Across quits, :new, compaction, another project and a second conversation in the same one."""
    week = Week(world)

    # Monday, the shop: a decision and a constraint are said in passing.
    program, session = week.start(
        "shop",
        ["Good choice.", "I will keep that in mind while we work."],
        [
            "goal: Add a login to the shop\nstate: sessions will be kept in Redis\n"
            "decision: keep the sessions in Redis because Postgres was too slow",
            "decision: Keep the login sessions in Redis because Postgres was too slow\n"
            "constraint: The login must work without JavaScript\ndone: Chose where the login sessions are kept",
        ],
    )
    await week.ask(
        session, "For the login of the shop we decided to keep the sessions in Redis because Postgres was too slow."
    )
    await week.ask(session, "One more thing: the login must work without JavaScript.")
    await week.quit(program, session)
    week.sleep("Monday: a decision in the shop")

    # Tuesday, the site. Another project knows nothing of the shop.
    program, session = week.start(
        "site",
        ["Noted.", "Here is a headline."],
        [
            "goal: Write the spring page of the site\nstate: the headline is written",
        ],
    )
    await week.ask(session, "I prefer British spelling on the site, please.")
    await week.ask(session, "Write the headline of the spring page of the site, is it written?")
    assert "Redis" not in str(script_of(session).requests)
    await week.quit(program, session)
    program, session = week.start("site", [], ["preference: British spelling on the site"])
    await week.rest(session)  # what waited at quit is done the next time
    await week.quit(program, session)
    week.sleep("Tuesday: the site")

    # Wednesday, the shop: first the facts of Monday are kept, then a long conversation is compacted on its way.
    program, session = week.start(
        "shop",
        [f"Answer {number}: done, the form field {number} is checked." for number in range(1, 9)],
        [
            "decision: Keep the login sessions in Redis because Postgres was too slow\n"
            "constraint: The login must work without JavaScript\ndone: Chose where the login sessions are kept",
            *["goal: Add a login to the shop\nstate: the form fields are checked one by one"] * 8,
        ],
        context={"token_budget": 900, "summarize_evicted": False},
    )
    await week.rest(session)
    notices = list[str]()
    for number in range(1, 9):
        notices += await week.ask(
            session, f"Check form field {number} of the login, one by one. " + "It has many rules. " * 12
        )
    assert any("dropped from the prompt" in text for text in notices)
    system = script_of(session).requests[-1].messages[0]["content"]
    assert "[working state]" in system and "Add a login to the shop" in system
    await week.quit(program, session)
    week.sleep("Wednesday: a long conversation in the shop")

    # Thursday, the shop: the form is finished; :new keeps the state, and a second conversation works on a part of it.
    program, session = week.start(
        "shop",
        ["The form is finished.", "The logout button comes next.", "Yes."],
        [
            "none",
            "goal: Add a login to the shop\nstate: the login form is finished, the logout button is missing\n"
            "next: add the logout button to the header",
            "done: The login form of the shop is finished",
        ],
    )
    await week.rest(session)
    await week.ask(session, "The login form is finished now.")
    await week.ask(session, "Next, add the logout button to the header; it is still missing.")
    await world.type(world.shell(program, session), ":new")
    await week.ask(session, "Is the CSS of the header in one file?")
    await week.quit(program, session)
    week.sleep("Thursday: the form is finished")

    # Friday: a new start, and the first question.
    program, session = week.start("shop", ["We were at the logout button."], ["none"] * 3)
    await week.ask(session, "Where were we with the login, and why did we put the sessions into Redis?")
    message = script_of(session).requests[0].messages[-1]["content"]
    recalled = [line for line in message.splitlines() if line.startswith("- ")]
    assert any("Redis because Postgres was too slow" in line and "2026-11-1" in line for line in recalled)
    assert any("the logout button is missing" in line and "current work" in line for line in recalled)
    assert "British" not in message and "spring" not in message
    assert len(recalled) <= 6, recalled
    await week.quit(program, session)
    week.sleep("Friday: back at work")

    if os.environ.get("WRITE_WEEK_PAGE"):
        PAGE.write_text(week.page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == week.page(), "docs/week.md is out of date; run: make docs"
