"""The surroundings of a conversation: facts about the user's machine and shell, found when a question is asked."""

import itertools
import json
import os
import stat
from collections.abc import AsyncGenerator
from datetime import datetime
from functools import cache
from pathlib import Path

from aish.context.surroundings import FILES, MOST_CHARS, TIME, Facts, as_text, file_list, news, said_in
from aish.conversation.layer import Layer
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.storage.git_files import git_directory, mode_of, read_bounded, read_head
from aish.values.events import Notice
from aish.values.invisible import visible
from aish.values.text import one_line

LAST_COMMAND = "last command"
_SHELLS = ("bash", "zsh")
_LONGEST = 200  # characters of a directory or a command
_MOST_RELEASE = 16_384
_MOST_NAMES = 500  # that are read of one directory


class SurroundingsKeeper(Layer):
    """Keeps the last command of the user. `prompt/surroundings.py` puts it into the prompt with the other facts."""

    def __init__(self) -> None:
        self._last, self._status = "", 0

    def ran(self, command: str, status: int) -> None:
        """Remember the last command of the user, with its secrets masked."""
        self._last, self._status = command, status

    def facts(self, session: Session, turn: TurnContext | None = None) -> Facts:
        """Return the current facts. A command whose output comes with the question is not named again."""
        if session.is_small(turn):
            return self._short_facts(session, turn)
        shell = Path(session.settings.commands.shell or os.environ.get("SHELL", "")).name
        held = f"$ {self._last}\n" in f"{session.history.held}\n"
        ended = f"`{_line(self._last)}`, exit status {self._status}" if self._last and not held else ""
        return {
            "system": system_name(),
            "shell": shell if shell in _SHELLS else _SHELLS[0],
            "directory": json.dumps(_line(str(session.cwd)), ensure_ascii=False),
            "git branch": branch_at(session.cwd),
            TIME: time_line(session.services.now()),
            LAST_COMMAND: ended,
        }

    def _short_facts(self, session: Session, turn: TurnContext | None) -> Facts:
        """Return what a small model needs for a command: where it is, and what is there."""
        if session.prompt_form(turn) == "words":
            return {}
        where = json.dumps(_line(str(session.cwd)), ensure_ascii=False)
        return {"directory": where, FILES: file_names(session.cwd)}

    def limit(self, session: Session) -> int:
        return MOST_CHARS

    async def load(self, turn: TurnContext) -> AsyncGenerator[Notice]:
        turn.texts[self.name] = self.next_text(turn.session, turn)
        return
        yield

    def text(self, session: Session, turn: TurnContext | None) -> str:
        return turn.texts.get(self.name, "") if turn else self.next_text(session)

    def next_text(self, session: Session, turn: TurnContext | None = None) -> str:
        """Return what goes in front of the next message: all facts at first, later those that changed."""
        if not session.settings.context.surroundings:
            return ""
        facts, said = self.facts(session, turn), said_in(session.history.turns)
        if not facts.get(LAST_COMMAND):
            said.pop(LAST_COMMAND, None)  # what ran before is still true
        return session.services.redaction.text(as_text(news(facts, said)))

    def clear(self) -> None:
        self._last = ""


def surroundings_keeper(session: Session) -> SurroundingsKeeper | None:
    """Return the layer that knows the surroundings of a conversation."""
    return next((layer for layer in session.layers if isinstance(layer, SurroundingsKeeper)), None)


@cache
def system_name() -> str:
    """Return the name of the operating system and the kind of machine."""
    machine = os.uname()
    release = (read_bounded(Path("/etc/os-release"), _MOST_RELEASE) or b"").decode("utf-8", "replace")
    named = next((line for line in release.splitlines() if line.startswith("PRETTY_NAME=")), "")
    name = named.partition("=")[2].strip("\"'") or f"{machine.sysname} {machine.release}"
    return f"{_line(name)}, {machine.machine}"


def branch_at(directory: Path) -> str:
    """Return the branch that is checked out, or the beginning of the commit; empty outside of a repository."""
    for folder in (directory, *directory.parents):
        git = git_directory(folder)
        if git and stat.S_ISDIR(mode_of(git)):
            head = read_head(git)
            return head.branch or f"none, at {head.commit[:10]}" if head else ""
    return ""


def file_names(directory: Path) -> str:
    """Return the names in a directory, and those below it as far as there is room. Hidden ones are left out.

    Empty if the directory cannot be read.
    """
    try:
        names = _names_in(directory)
    except OSError:
        return ""
    more = len(names) > _MOST_NAMES
    return file_list(names[:_MOST_NAMES], lambda name: _names_below(directory / name), more=more) or "nothing"


def _names_below(directory: Path) -> list[str]:
    """Return the names in a directory; none if there are too many or they cannot be read, so it stands for itself."""
    try:
        names = _names_in(directory)
    except OSError:
        return []
    return names if len(names) <= _MOST_NAMES else []


def _names_in(directory: Path) -> list[str]:
    """Return the names in a directory, those of directories with a slash, and one too many if there are more.

    Raises `OSError`.
    """
    with os.scandir(directory) as found:
        seen = itertools.islice((one for one in found if not one.name.startswith(".")), _MOST_NAMES + 1)
        return sorted(f"{one.name}/" if one.is_dir(follow_symlinks=False) else one.name for one in seen)


def time_line(now: datetime) -> str:
    """Return the user's time with the day of the week and the time zone."""
    here = now.astimezone()
    offset = here.strftime("%z")
    zone = _zone_name()
    return f"{here:%A %Y-%m-%d %H:%M}, UTC{offset[:3]}:{offset[3:5]}" + (f" ({zone})" if zone else "")


def _zone_name() -> str:
    """Return the name of the time zone, such as Europe/Berlin, if the system tells it."""
    named = os.environ.get("TZ", "").lstrip(":")
    if not named:
        try:
            named = str(Path("/etc/localtime").readlink()).rpartition("zoneinfo/")[2]
        except OSError:
            return ""
    return _line(named) if "/" in named and not named.startswith("/") else ""


def _line(text: str) -> str:
    return one_line(visible(text), _LONGEST)
