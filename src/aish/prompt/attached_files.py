"""Files and directories that the user attached with `@`, in front of the message. What they say is not the user's."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING

from aish.context.attachments import NamedPath, as_text, attachment, named_paths
from aish.conversation.layer import Layer
from aish.conversation.turn_context import TurnContext
from aish.memory.trust import least_trusted
from aish.places import find_project
from aish.values.errors import AishError, Declined, NotFound
from aish.values.events import Notice, notice
from aish.values.text import counted, exactly, one_line

if TYPE_CHECKING:  # loaded when the first file is attached
    from aish.action.project_files import ProjectFiles, Site

_MOST_LINES = 2_000
_DEPTH = 3
_LEAST_ROOM, _MOST_ROOM = 2_000, 200_000  # characters of all files together


class AttachedFilesLayer(Layer):
    """Reads what the question names, inside the bounds of the file tools; the user is told the size of each."""

    name = "attached files"
    order = 12
    place = "message"

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        names = named_paths(turn.typed) if "@" in turn.typed and not turn.goes_on else []
        if not names:
            return
        attaching = _Attaching(turn, await _room(turn))
        for name in names:
            for one in await attaching.add(name):
                yield one
        if text := as_text(attaching.texts):
            turn.texts[self.name] = text
            turn.provenance = least_trusted([turn.provenance, "file"])


async def _room(turn: TurnContext) -> int:
    """Return how many characters all files may have: half of the budget, at three characters per token."""
    session = turn.session
    if session.is_small(turn):
        return _LEAST_ROOM
    limits = await session.endpoints.limits(session.backend)
    return min(max(limits.token_budget * 3 // 2, _LEAST_ROOM), _MOST_ROOM)


class _Attaching:
    """The attachments of one question. They share the room."""

    def __init__(self, turn: TurnContext, room: int) -> None:
        self._turn, self._room = turn, room
        self.texts: list[str] = []

    async def add(self, name: NamedPath) -> list[Notice]:
        """Attach a file or directory, and return what the user should know about it."""
        session = self._turn.session
        files = session.services.open_files()
        site = files.site(find_project(session.cwd), session.cwd, session.owner, session.journal.id)
        try:
            path, real = await asyncio.to_thread(_find, files, site, name)
        except AishError as error:
            if not name.looks_like_path:  # `@alice` may be a person
                return []
            missing = isinstance(error, NotFound)
            reason = "there is no such file here" if missing else f"{error}; a command can show it, such as !cat"
            text = f"@{one_line(exactly(name.otherwise), 200)} is not attached: {reason}"
            return [notice("files.not_attached", text, warning=True, path=name.otherwise)]
        try:
            if self._room <= 0:
                raise Declined("the question has no room for more; ask about fewer files, or see :context")
            text, size = await (self._directory if real.is_dir() else self._file)(files, site, path)
        except AishError as error:
            text = f"@{one_line(exactly(path), 200)} is not attached: {error}"
            return [notice("files.not_attached", text, warning=True, path=path)]
        self._room -= len(text)
        self.texts.append(text)
        return [notice("files.attached", f"attached: {one_line(exactly(path), 200)} ({size})", path=path, size=size)]

    async def _file(self, files: "ProjectFiles", site: "Site", path: str) -> tuple[str, str]:
        session, person = self._turn.session, self._turn.person
        secret = await asyncio.to_thread(files.needs_asking, site, path)
        question = (
            f"{one_line(exactly(secret), 200)} may hold secrets. Send its text to {session.backend.label} anyway?"
        )
        if secret and not await person.confirm(question):
            raise Declined("it may hold secrets")
        mask = session.services.redaction.text
        part = await asyncio.to_thread(files.read, site, path, 1, _MOST_LINES, self._room, mask)
        size = f"{counted(part.total, 'line')}, {len(part.text):,} characters"
        if part.next_line:
            size = f"lines 1 to {part.last:,} of {part.total:,}; the rest did not fit"
        return attachment("file", path, size, part.text), size

    async def _directory(self, files: "ProjectFiles", site: "Site", path: str) -> tuple[str, str]:
        names, left_out, complete = await asyncio.to_thread(files.listed, site, path, _DEPTH, "", self._room)
        more = f", {left_out:,} more left out" if left_out else "" if complete else ", not all were looked at"
        size = f"{counted(len(names), 'name')}{more}"
        mask = self._turn.session.services.redaction.text
        return attachment("directory", path, size, mask("\n".join(names))), size


def _find(files: "ProjectFiles", site: "Site", name: NamedPath) -> tuple[str, Path]:
    """Return the path that is there: as written, or without the punctuation at its end."""
    try:
        return name.path, files.existing(site, name.path)
    except (AishError, OSError):
        return name.otherwise, files.existing(site, name.otherwise)
