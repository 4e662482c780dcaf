"""Read the chat history of aider, `.aider.chat.history.md`: all sessions of a project in one Markdown file.

aider writes your lines after `#### ` and its own after `> `, each with two spaces at the end, which tell them from
headings and quotations in an answer. Everything else is the answer.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from aish.memory.importers.fields import Oddities, Refs, label, text_of
from aish.memory.importers.files import MOST, each_file, lines, modified
from aish.values.imported import ImportedRecord, ImportedTurn
from aish.values.turns import Role

_STARTED = "# aider chat started at "
_BLANK = "<blank>"  # what aider writes for an empty input
_ENDED = "  "
_NAME = "aider"  # the speaker of what the program says


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a chat history, or of all of them in a directory."""
    yield from each_file(path, ("*aider.chat.history*.md",), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with path.open("rb") as file:
        text = (line.data.decode("utf-8", "replace") for line in lines(file, odd))
        yield from _sessions(text, path, spaced=_is_spaced(path), odd=odd)
    yield from odd.told(path.name)


def _is_spaced(path: Path) -> bool:
    """Return whether lines still have the spaces at their ends; some editors and repositories remove them."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return any(_is_yours().match(line.data) for line in lines(file, Oddities()))


def _sessions(text: Iterable[str], path: Path, *, spaced: bool, odd: Oddities) -> Iterator[ImportedTurn]:
    channel = label(path.absolute().parent.name)
    session = ImportedTurn(channel, modified(path), "user", "", channel=channel)
    refs, turn = Refs(), _Turn(odd)
    head = 0  # 1 after the start of a session, 2 in its first lines, up to an empty one
    for line in text:
        if line.startswith(_STARTED) and (started := line.removeprefix(_STARTED).strip()):
            yield from turn.ended(session, refs)
            session = session._replace(conversation=f"{channel} {label(started)}", time=_time(started))
            refs, head = Refs(), 1
            continue
        role, said = _kind(line, spaced=spaced)
        head = (2 if line.strip() else head % 2) if head else 0
        if head == 2 and role == "assistant":  # nothing is said yet: the command line of aider may have several lines
            role, said = "tool", line.removeprefix("> ").rstrip()
        if not said.strip() and role == "assistant" != turn.role != "user":
            continue  # between two lines of aider
        if role != turn.role:  # an empty line ends what you typed, because each line of it has its sign
            yield from turn.ended(session, refs)
            turn.role = role
        turn.add(said)
    yield from turn.ended(session, refs)


def _kind(line: str, *, spaced: bool) -> tuple[Role, str]:
    """Return whose line it is, and the line without its sign."""
    if not spaced or line.endswith(_ENDED):
        if line.startswith("#### ") or line == "####":
            return "user", line[5:].rstrip()
        if line.startswith("> "):
            return "tool", line[2:].rstrip()
    return "assistant", line


class _Turn:
    """The lines of the turn that is being read, of bounded size."""

    def __init__(self, odd: Oddities) -> None:
        self.role: Role = "assistant"
        self._lines: list[str] = []
        self._size = 0
        self._odd = odd

    def add(self, line: str) -> None:
        self._size += len(line) + 100  # an empty line takes memory, too
        if self._size < MOST:
            self._lines.append(line)

    def ended(self, session: ImportedTurn, refs: Refs) -> Iterator[ImportedTurn]:
        if self._size >= MOST:
            self._odd.add("a turn that is too long; its end")
        text = text_of("\n".join(self._lines))
        self._lines, self._size = [], 0
        if text and text != _BLANK:
            name = _NAME if self.role == "tool" else ""
            yield session._replace(role=self.role, text=text, name=name, ref=refs.name(self.role, text))


def _time(text: str) -> datetime | None:
    """Return the start of a session, which aider writes in local time."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


@functools.cache
def _is_yours() -> re.Pattern[bytes]:
    return re.compile(rb"#### .*  $")
