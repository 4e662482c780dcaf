"""Read SQLite files of other programs, which may be in use: read-only, and a few rows at a time."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aish.memory.importers.fields import Oddities
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedRecord, ImportedTurn

_ROWS = 100

Row = dict[str, Any]


def tables(path: Path) -> set[str]:
    """Return the names of the tables of a SQLite file. Raises `StoreTrouble` if it is damaged."""
    try:
        with closing(open_database(path)) as base:
            return table_names(base)
    except sqlite3.Error as error:
        raise StoreTrouble(f"cannot read {path}: {error}; it may be incomplete; copy it again") from error


def table_names(base: sqlite3.Connection) -> set[str]:
    return {row["name"] for row in base.execute("select name from sqlite_master where type = 'table'")}


def read_database(
    path: Path, read: Callable[[sqlite3.Connection, Oddities], Iterator[ImportedTurn]]
) -> Iterator[ImportedRecord]:
    """Yield what `read` finds in a database. Raises `StoreTrouble` if it is damaged."""
    odd = Oddities()
    try:
        with closing(open_database(path)) as base:
            yield from read(base, odd)
    except (sqlite3.Error, OverflowError) as error:
        raise StoreTrouble(f"cannot read {path}: {error}") from error
    yield from odd.told(path.name)


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file read-only. The reader of the turns may use several threads."""
    path.open("rb").close()  # raises a clear OSError, unlike SQLite
    name = f"file:{quote(str(path.resolve()))}?mode=ro"
    base = sqlite3.connect(name, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    base.row_factory = lambda cursor, row: dict(zip((column[0] for column in cursor.description), row, strict=True))
    base.text_factory = lambda data: data.decode("utf-8", "replace")
    return base


def rows_of(base: sqlite3.Connection, table: str, where: str = "1", *values: object) -> Iterator[Row]:
    """Yield the rows of a table in the order they were written, without a lock in between."""
    last = -1
    while rows := base.execute(
        f"select *, rowid as place from {table} where {where} and rowid > ? order by rowid limit {_ROWS}",
        (*values, last),
    ).fetchall():
        yield from rows
        place = rows[-1]["place"]
        if not isinstance(place, int) or place <= last:  # a column of its own is called so; this would never end
            raise sqlite3.DatabaseError(f"the rows of {table} have no numbers")
        last = place
