"""The tools with which a model reads the project: one file, the names of files, and lines in them.

What the files say is data of others. Secrets in it are masked.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from aish.agent.tool import CallPlan, ParsedCall, Tool, ToolEvent, ToolResult, as_json, refused, schema
from aish.conversation.session import Session
from aish.conversation.tool_results import result_room
from aish.conversation.turn_context import TurnContext
from aish.places import find_project
from aish.values.errors import AishError, BadUsage
from aish.values.text import exactly, one_line

if TYPE_CHECKING:  # loaded when the first file is read
    from aish.action.project_files import Site

_MOST_LINES, _MOST_MATCHES = 2_000, 200
_DEEPEST = 20


def project_site(session: Session) -> "Site":
    """Return where the tools of a conversation work."""
    files = session.services.open_files()
    return files.site(find_project(session.cwd), session.cwd, session.owner, session.journal.id)


def whole_number(call: ParsedCall, name: str, default: int, most: int) -> int:
    """Return a number from 1 to `most` that the model gave. Raises `BadUsage`."""
    value = call.arguments.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadUsage(f"{name} must be a number of 1 or more")
    return min(value, most)


def _text(call: ParsedCall, name: str, default: str = "") -> str:
    value = call.arguments.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise BadUsage(f"{name} must be a string")
    return value


async def _plan_read(call: ParsedCall, turn: TurnContext) -> CallPlan:
    """A file that may hold credentials is read only if the user agrees: its text goes to the model."""
    files = turn.session.services.open_files()
    try:
        name = await asyncio.to_thread(files.needs_asking, project_site(turn.session), call.arguments.get("path"))
    except AishError as error:
        return CallPlan("read", refusal=str(error))
    if not name:
        return CallPlan("read")
    return CallPlan("send", f"the model wants to read {one_line(exactly(name), 200)}, which may hold secrets")


async def _read_file(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Return some lines of a file."""
    session = turn.session
    files, mask = session.services.open_files(), session.services.redaction.text
    try:
        first, most = whole_number(call, "offset", 1, 10**9), whole_number(call, "limit", 400, _MOST_LINES)
        room = result_room(session)
        part = await asyncio.to_thread(
            files.read, project_site(session), call.arguments.get("path"), first, most, room, mask
        )
    except AishError as error:
        yield refused(mask(str(error)))
        return
    more: dict[str, Any] = {"next_offset": part.next_line} if part.next_line else {}
    if part.crlf:
        more["line_endings"] = "CRLF, shown as LF; edits keep them"
    if part.cut:
        more["cut"] = f"{part.cut} lines are longer than shown; search_files finds text in them"
    lines = f"{part.first}-{part.last} of {part.total}"
    yield ToolResult(as_json(path=call.arguments.get("path"), lines=lines, **more, text=part.text))


async def _list_files(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Return the names of files and directories."""
    session = turn.session
    files = session.services.open_files()
    try:
        pattern = _text(call, "pattern")
        depth = whole_number(call, "depth", _DEEPEST if pattern else 2, _DEEPEST)
        site, room = project_site(session), result_room(session)
        path = _text(call, "path", ".")
        names, left_out, complete = await asyncio.to_thread(files.listed, site, path, depth, pattern, room)
    except AishError as error:
        yield refused(str(error))
        return
    more: dict[str, Any] = {"left_out": left_out} if left_out else {}
    if left_out or not complete:
        more["note"] = "not all files are listed; give a path below this one, less depth, or a pattern such as *.py"
    yield ToolResult(as_json(path=path, files=[session.services.redaction.text(name) for name in names], **more))


async def _search_files(call: ParsedCall, turn: TurnContext) -> AsyncGenerator[ToolEvent]:
    """Return matching lines, by file."""
    session = turn.session
    files, mask = session.services.open_files(), session.services.redaction.text
    found: dict[str, list[str]] = {}
    more: dict[str, Any] = {}
    try:
        pattern, glob = _text(call, "pattern"), _text(call, "glob")
        site, most, room = project_site(session), whole_number(call, "limit", 50, _MOST_MATCHES), result_room(session)
        start = await asyncio.to_thread(files.existing, site, _text(call, "path", "."))
        async with aclosing(files.search(site, start, pattern, glob)) as lines:
            async for line in lines:
                text = mask(f"{line.number}: {line.text[:400]}")
                name = files.name(site, line.path)
                room -= len(text) + (len(name) if name not in found else 0) + 6
                most -= 1
                if most < 0 or room < 0:
                    more["note"] = "there are more matches; narrow pattern, path or glob" + (
                        f", or raise limit (at most {_MOST_MATCHES})" if most < 0 else ""
                    )
                    break
                found.setdefault(name, []).append(text)
    except TimeoutError:
        more["note"] = "the search took too long and was stopped; narrow path or glob, or use a simpler pattern"
    except AishError as error:
        yield refused(mask(str(error)))
        return
    yield ToolResult(as_json(pattern=pattern, matches=found, **more))


_PATH = {"type": "string", "description": "relative to the current directory"}
_LINE = {"type": "integer", "minimum": 1}
FILE_TOOLS = (
    Tool(
        schema(
            "read_file",
            "Read a text file of the project. `offset` is the first line, `limit` the number of lines; next_offset in "
            "the result says where to go on.",
            {"path": _PATH, "offset": _LINE, "limit": {**_LINE, "maximum": _MOST_LINES}},
            ["path"],
        ),
        _read_file,
        effect="read",
        setting="commands.file_tools",
        plan=_plan_read,
    ),
    Tool(
        schema(
            "list_files",
            "List files and directories of the project, without ignored ones. `pattern` is a glob such as *.py.",
            {"path": _PATH, "depth": {**_LINE, "maximum": _DEEPEST}, "pattern": {"type": "string"}},
            [],
        ),
        _list_files,
        effect="read",
        setting="commands.file_tools",
    ),
    Tool(
        schema(
            "search_files",
            "Find lines in the files of the project by a regular expression. `glob` limits the files, such as *.py.",
            {
                "pattern": {"type": "string"},
                "path": _PATH,
                "glob": {"type": "string"},
                "limit": {**_LINE, "maximum": _MOST_MATCHES},
            },
            ["pattern"],
        ),
        _search_files,
        effect="read",
        setting="commands.file_tools",
    ),
)
