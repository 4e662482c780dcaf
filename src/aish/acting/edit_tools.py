"""The tools with which a model changes files. The user sees the difference first, and `:undo` takes it back."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from aish.acting.file_steps import new_step, question_number
from aish.acting.file_tools import project_site
from aish.agent.tool import CallPlan, ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.values.errors import AishError
from aish.values.events import notice
from aish.values.text import exactly, one_line

if TYPE_CHECKING:  # loaded when the first file is read
    from aish.action.project_files import Prepared, Site


def _prepare(call: ParsedCall, turn: TurnContext, site: "Site") -> "Prepared":
    """Return the change that a call asks for. Raises `AishError`."""
    files, given = turn.session.services.open_files(), call.arguments
    if call.name == "write_file":
        return files.prepare_write(site, given.get("path"), given.get("content"))
    return files.prepare_edit(
        site,
        given.get("path"),
        given.get("old"),
        given.get("new"),
        every=given.get("all") is True,
        given=lambda text: _was_given(turn.session, text),
    )


def _was_given(session: Session, text: str) -> bool:
    """Is a text in the conversation already, in words of the user or in the output of a command?"""
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]  # results of tools are JSON
    turns = (turn.content for turn in session.history.turns if turn.role in ("user", "tool"))
    return any(text in content or escaped in content for content in turns)


def _question(call: ParsedCall, session: Session) -> str:
    """Return the name of a question to the user: two sub-agents may have calls with the same id."""
    return f"{session.recorder.conversation} {call.id}"


async def _plan(call: ParsedCall, turn: TurnContext) -> CallPlan:
    """Show the difference. A file that runs something later needs its name, typed."""
    session = turn.session
    files = session.services.open_files()
    try:
        change = await asyncio.to_thread(_prepare, call, turn, project_site(session))
        await asyncio.to_thread(files.was_shown, _question(call, session), change)
        preview = await asyncio.to_thread(lambda: change.diff)
    except AishError as error:
        return CallPlan("change", refusal=session.services.redaction.text(str(error)))
    name = one_line(exactly(change.name), 200)
    verb = "change" if change.before is not None else "create"
    what = f"the model wants to {verb} {name}: {change.summary}"
    if change.runs_later:
        return CallPlan(
            "change", f"{what}; it can run something later, outside of aish", preview, word=name, path=change.path
        )
    return CallPlan("change", what, preview, path=change.path)


async def _change_file(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Make the change that the user has allowed."""
    session = turn.session
    files, site = session.services.open_files(), project_site(session)
    number, step = question_number(session), new_step()

    def work() -> "Prepared":
        change = _prepare(call, turn, site)
        files.apply(site, change, call=_question(call, session), turn=number, step=step, by=call.name)
        return change

    try:
        change = await asyncio.to_thread(work)
    except AishError as error:
        yield refused(session.services.redaction.text(str(error)))
        return
    done = "changed" if change.before is not None else "created"
    text = f"{done} {one_line(exactly(change.name), 200)} ({change.summary}); to take it back: :undo"
    yield notice("file.changed", text, path=change.name)
    yield ToolResult(as_json(status=done, path=change.name, change=change.summary))


_PATH = {"type": "string", "description": "relative to the current directory"}
EDIT_TOOLS = (
    Tool(
        schema(
            "edit_file",
            "Replace a text in a file of the project by another one. Read the file first; `old` must be exactly as in "
            "the file and occur once, or set `all`. The user sees the difference and decides.",
            {
                "path": _PATH,
                "old": {"type": "string"},
                "new": {"type": "string"},
                "all": {"type": "boolean", "description": "replace every occurrence"},
            },
            ["path", "old", "new"],
        ),
        _change_file,
        effect="change",
        setting="commands.file_tools",
        plan=_plan,
    ),
    Tool(
        schema(
            "write_file",
            "Create a file in the project, or replace the whole text of one that you have read. The user decides.",
            {"path": _PATH, "content": {"type": "string"}},
            ["path", "content"],
        ),
        _change_file,
        effect="change",
        setting="commands.file_tools",
        plan=_plan,
    ),
)
