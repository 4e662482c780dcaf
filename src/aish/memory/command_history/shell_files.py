"""The history files of other shells, read in place: bash, zsh, fish and atuin.

They belong to other programs: nothing is locked, written or copied, and what cannot be read is left out.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import dropwhile
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from aish.memory.command_history.history_formats import commands
from aish.storage.line_reading import opener_now
from aish.values.named_tuple import NamedTuple
from aish.values.past_command import LONGEST_COMMAND, PastCommand, known_time

MOST_READ = 16 << 20  # bytes from the end of a file: about 400,000 commands
_MOST_ROWS = 400_000
_LONGEST_LINE = 1 << 20  # bytes; without a limit, one line could fill the memory
_ATUIN = """select command, timestamp / 1e9, cwd, exit, duration / 1e9, hostname from history
    where length(command) <= ? order by timestamp desc limit ?"""

Pause = Callable[[], object]  # called now and then, so that keys of the user are not delayed


class Placed(NamedTuple):
    """A command, and its place among others in seconds since the epoch: its time, or what is known of it."""

    at: float
    command: PastCommand


class HistoryFile(NamedTuple):
    """A history, and the program that writes it."""

    kind: str
    path: Path


def history_files(env: Mapping[str, str], home: Path, *more: str) -> list[HistoryFile]:
    """Return the histories that exist. `more` are files that a shell says it uses."""
    data = Path(env.get("XDG_DATA_HOME", "")) if env.get("XDG_DATA_HOME", "").startswith("/") else home / ".local/share"
    zsh = Path(env["ZDOTDIR"]) if env.get("ZDOTDIR", "").startswith("/") else home
    found = [HistoryFile("bash", home / ".bash_history")]
    found += [HistoryFile("zsh", folder / name) for folder in (zsh, home) for name in (".zsh_history", ".zhistory")]
    found += [HistoryFile("zsh", home / ".histfile"), HistoryFile("fish", data / "fish/fish_history")]
    found.append(HistoryFile("atuin", Path(env.get("ATUIN_DB_PATH") or data / "atuin/history.db")))
    named = [Path(one).expanduser() for one in (env.get("HISTFILE", ""), *more) if one.startswith("/")]
    found += [HistoryFile("zsh" if "zsh" in path.name or "zhist" in path.name else "bash", path) for path in named]
    once = {os.path.realpath(one.path): one for one in reversed(found)}  # a Path raises for a loop of links
    return [one for one in reversed(once.values()) if os.path.isfile(one.path)]  # noqa: PTH113  # the same


def read_history(
    file: HistoryFile, known: Mapping[str, float], pause: Pause, most: int = MOST_READ
) -> Iterator[Placed]:
    """Yield the commands of a history, newest first.

    `known` has the times of commands that were also run here. A line without a time is placed before the next one
    that has one, or by the time of the file: bash stores no times unless it is told to.
    """
    if file.kind == "atuin":
        yield from (Placed(one.time, one) for one in _rows(file.path, pause))
        return
    try:
        bound = file.path.stat().st_mtime
        found = list(_texts(file, most, pause))  # plain tuples, which the garbage collector does not look at again
    except (OSError, ValueError):
        return
    while found:
        text, time = found.pop()
        bound = min(bound, time or known.get(text, bound))
        yield Placed(bound, PastCommand(text, time, source=file.kind))


def _texts(file: HistoryFile, most: int, pause: Pause) -> Iterator[tuple[str, float]]:
    """Yield the commands at the end of a file, oldest first, with their times; 0 if unknown."""
    with open(file.path, "rb", opener=opener_now) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - most, 0))
        lines = _lines(stream)
        if size > most:
            line = next(lines, b"")  # probably only a part of a line
            # Perhaps the middle of an entry, whose rest would look like a command, or like a file of bash.
            if file.kind == "fish":
                lines = dropwhile(lambda line: not line.startswith(b"- cmd:"), lines)
            goes_on = file.kind == "zsh" and (not line or line.endswith(b"\\"))  # without a part, it may
            while goes_on:
                goes_on = next(lines, b"").endswith(b"\\")
        for number, (data, time) in enumerate(commands(lines, is_zsh=file.kind == "zsh")):
            text = decoded(data).strip()
            if text and len(text) <= LONGEST_COMMAND:
                yield text, known_time(time)
            if number % 256 == 255:
                pause()


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines without their ends. A line is cut where no command can be that long, and its rest left out."""
    while line := stream.readline(_LONGEST_LINE):
        end = line
        while len(end) == _LONGEST_LINE and not end.endswith(b"\n"):
            end = stream.readline(_LONGEST_LINE)
        yield line.rstrip(b"\r\n")


def decoded(data: bytes) -> str:
    """Return the text of a command. Old histories may be in another encoding, and a crash leaves NULs."""
    data = data.replace(b"\0", b"")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _rows(path: Path, pause: Pause) -> Iterator[PastCommand]:
    """Yield the commands in the database of atuin, newest first. It may be in use."""
    import sqlite3  # here, because few people have such a file

    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=1.0)) as base:
            base.text_factory = decoded
            columns = {row[1] for row in base.execute("pragma table_info(history)")}
            query = _ATUIN.replace("where", "where deleted_at is null and") if "deleted_at" in columns else _ATUIN
            for number, row in enumerate(base.execute(query, (LONGEST_COMMAND, _MOST_ROWS))):
                if command := _of_row(row):
                    yield command
                if number % 256 == 255:
                    pause()
    except sqlite3.Error:
        return  # not a database of atuin, or damaged: what was read before counts


def _of_row(row: tuple[object, ...]) -> PastCommand | None:
    text, time, directory, status, seconds, host = row
    if not isinstance(text, str) or not text.strip() or not isinstance(time, int | float):
        return None
    return PastCommand(
        text.strip(),
        known_time(time),
        directory if isinstance(directory, str) else "",
        status if isinstance(status, int) and status >= 0 else None,  # -1: it has not ended
        float(seconds) if isinstance(seconds, int | float) and seconds >= 0 else None,
        host.partition(":")[0] if isinstance(host, str) else "",
        source="atuin",
    )
