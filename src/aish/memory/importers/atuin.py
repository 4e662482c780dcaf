"""Read the history of atuin, a SQLite file: each command is a user turn, each day a conversation.

The directory is the channel, and what is known of the run follows as words of the shell.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from aish.memory.importers.database import read_database, rows_of
from aish.memory.importers.fields import Oddities, label, last_part, moment, text_of
from aish.memory.importers.files import day_of, each_file
from aish.values.imported import ImportedRecord, ImportedTurn

_NANOSECONDS = 1_000_000_000


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the commands of a `history.db`."""
    yield from each_file(path, ("history.db",), lambda file: read_database(file, _turns))


def _turns(base: sqlite3.Connection, odd: Oddities) -> Iterator[ImportedTurn]:
    for row in rows_of(base, "history"):
        stamp, directory = row.get("timestamp"), label(row.get("cwd"))
        time = moment(stamp / _NANOSECONDS) if isinstance(stamp, int) else None
        text, id = text_of(row.get("command")), label(row.get("id"))
        if row.get("deleted_at") is not None or not text:
            continue
        conversation = f"atuin {day_of(time)}".rstrip()
        said = ImportedTurn(conversation, time, "user", text, "", id, last_part(directory), conversation)
        yield said
        if run := _run(row.get("exit"), row.get("duration"), directory):
            yield said._replace(role="tool", name="shell", text=run, ref=f"{id}/run" if id else "")


def _run(status: object, duration: object, directory: str) -> str:
    """Return what is known of a run; -1 means that it has not ended, or that atuin does not know."""
    known = [f"exit status {status}"] if isinstance(status, int) and status >= 0 else []
    if isinstance(duration, int) and duration >= 0:
        known.append(f"{duration / _NANOSECONDS:.3g} s")
    return ", ".join([*known, *([f"in {directory}"] if directory and directory != "unknown" else [])])
