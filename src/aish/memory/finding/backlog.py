"""The backlog: which journals the index is behind with, by what the directory tells about them."""

import os
import stat
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from aish.memory.finding.catalogue import Known
from aish.values.errors import StoreTrouble
from aish.values.text import for_keeping
from aish.values.turns import SUMMARIZER_META, JournalEntry

LONGEST = 32_000  # characters of a turn whose words can be found
_TAIL = 64  # bytes by which a file that has only grown is known
_LOOKED_AT = {stat.S_IFREG, stat.S_IFDIR}  # a directory is told of; who reads a pipe or a device may wait for ever


class Seen(NamedTuple):
    """A journal as the directory shows it."""

    inode: int
    size: int
    changed: int


class Work(NamedTuple):
    """A journal that the index is behind with: not there at all any more, or to be read from `start` on."""

    name: str
    seen: Seen | None
    known: Known | None
    start: int


def look(sessions: Path) -> dict[str, Seen]:
    """Every journal there is. Raises `StoreTrouble`: a directory that cannot be read is not an empty one."""
    found = {}
    try:
        directory = os.open(sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # by its descriptor: to find the way to thousands of files takes as long as to look at them
            with os.scandir(directory) as entries:
                for entry in entries:
                    if name := journal_of(entry.name):
                        try:
                            file = entry.stat()
                        except FileNotFoundError:
                            continue  # it has just gone
                        except OSError:
                            if not entry.is_symlink():
                                raise
                            continue  # it leads nowhere that we can go, which is no matter of the others
                        if stat.S_IFMT(file.st_mode) in _LOOKED_AT:
                            found[name] = Seen(file.st_ino, file.st_size, file.st_mtime_ns)
        finally:
            os.close(directory)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreTrouble(f"cannot read {sessions}: {error.strerror or error}") from error
    return found


def journal_of(file: str) -> str:
    """The conversation that a file of this name is the journal of; nothing if it is none."""
    return file[:-6] if file.endswith(".jsonl") and file != "names.jsonl" and for_keeping(file) == file else ""


def seen(file: Path | str) -> Seen:
    now = os.stat(file)  # noqa: PTH116  # may be text
    return Seen(now.st_ino, now.st_size, now.st_mtime_ns)


def behind(sessions: Path, files: dict[str, Seen], journals: dict[str, Known]) -> list[Work]:
    """What the index does not have yet, or should not have any more; the newest conversation first."""
    work = []
    for name, file in files.items():
        known = journals.get(name)
        if known is None:
            work.append(Work(name, file, None, 0))
        elif (known.inode, known.size, known.changed) != file:
            grown = known.inode == file.inode and known.size < file.size
            grown = grown and known.tail == tail_of(sessions / f"{name}.jsonl", known.size)
            work.append(Work(name, file, known, known.size if grown else 0))
    work += [Work(name, None, known, 0) for name, known in journals.items() if name not in files and not known.gone]
    return sorted(work, key=lambda one: one.name, reverse=True)


def tail_of(path: Path, size: int) -> int:
    start = max(size - _TAIL, 0)
    try:
        with path.open("rb") as file:
            file.seek(start)
            return zlib.crc32(file.read(size - start))
    except OSError:
        return 0


def titled(text: str, number: int, title: str) -> str:
    """What a turn is found by: the first one also by the title of its conversation."""
    return f"{title}\n{text}" if title and number <= 1 else text


def searchable(entry: JournalEntry) -> str:
    """What can be found of a turn; nothing if it was never part of the conversation, or repeats what was found."""
    recalled = entry.meta.get("recalled")
    if entry.meta.get("meta") == SUMMARIZER_META or recalled is True:
        return ""
    content = _said(entry.turn.content, recalled) if isinstance(recalled, list) else entry.turn.content
    calls = [f"{call.name} {call.arguments}" for call in entry.turn.tool_calls]
    text = "\n".join([content, *calls]).strip()
    return text.encode("utf-8", "replace").decode()  # a line that was written by hand may have half characters


def _said(content: str, recalled: list[Any]) -> str:
    """A turn without the lines that only repeat what was found; a question may have come with a page of them."""
    lines = content.split("\n")
    for place in reversed(recalled):
        match place:
            case [int(begin), int(end)]:
                del lines[max(begin, 0) : end]
    return "\n".join(lines)
