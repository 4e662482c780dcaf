"""Hold the turns of a conversation until it is read to its end, on disk if there are many."""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, cast

from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedTurn
from aish.values.named_tuple import NamedTuple
from aish.values.turns import Role

_PIECE = "\0"  # the last turn of a message has its id, and links to the turns before it
_MEMORY = 4096  # KiB in memory; a longer conversation goes to a temporary file


class SpooledTurn(NamedTuple):
    """A turn without its conversation, because a file may name the conversation after its turns."""

    role: Role
    text: str
    time: datetime | None = None
    name: str = ""
    ref: str = ""


class Spool:
    """The turns of one conversation in their original order, with the id of the turn that each one answers."""

    def __init__(self) -> None:
        # An empty name makes a temporary file. The reader of the turns may use several threads.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute(f"pragma cache_size = -{_MEMORY}")
        self._base.execute("pragma journal_mode = off")
        self._base.execute(
            "create table turns (place integer primary key, id text unique, parent text,"
            " role text, text text, time text, name text, ref text)"
        )
        self._has_gaps = False

    def __enter__(self) -> Self:
        self._base.execute("begin")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def clear(self) -> None:
        self._run("delete from turns")
        self._has_gaps = False

    def note_gap(self) -> None:
        """Note that a message could not be read. A turn that answers no known one then answers the one before it."""
        self._has_gaps = True

    def add(self, said: Iterable[SpooledTurn], id: str = "", parent: str = "") -> None:
        """Add a message, which may have several turns or none; a hidden one still links to its parent."""
        turns: list[SpooledTurn | None] = [*said] or [None]
        for number, turn in enumerate(turns, start=1):
            name = id if number == len(turns) else f"{id}{_PIECE}{number}"
            role, text, time, name_of, ref = turn or ("", "", None, "", "")
            row = (name if id else None, parent, role, text, time and time.isoformat(), name_of, ref)
            self._run("insert or ignore into turns values (null, ?, ?, ?, ?, ?, ?, ?)", row)
            parent = name

    def conversation(self, leaf: str, base: ImportedTurn) -> Iterator[ImportedTurn]:
        """Yield the turns from the first to `leaf`, or to the last added turn if there is no such leaf.

        Then yield all others as another branch, in the order of their times. `base` has the fields that all share.
        """
        (most,) = self._run("select coalesce(max(place), 0) from turns").fetchone()
        row = self._run("select place, parent from turns where id = ?", (leaf,)).fetchone()
        row = row or self._run("select place, parent from turns where place = ?", (most,)).fetchone()
        places, seen = array("q"), bytearray(most + 1)
        while row and not seen[row[0]]:  # a broken file may have cycles
            places.append(row[0])
            seen[row[0]] = True
            place, parent = row
            row = self._run("select place, parent from turns where id = ?", (parent,)).fetchone()
            if not row and self._has_gaps:
                row = self._run("select place, parent from turns where place = ?", (place - 1,)).fetchone()
        for place in reversed(places):
            said = self._run("select role, text, time, name, ref from turns where place = ?", (place,)).fetchone()
            if said[0]:
                yield _said(base, said)
        if len(places) == most:
            return
        aside = base.aside()
        for place, *rest in self._run(
            "select place, role, text, time, name, ref from turns where role <> '' order by time is null, time, place"
        ):
            if not seen[place]:
                yield _said(aside, rest)

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._base.execute(statement, values)
        except sqlite3.Error as error:
            raise StoreTrouble(f"no space for a long conversation in the temporary directory: {error}") from error


def _said(base: ImportedTurn, row: Sequence[Any]) -> ImportedTurn:
    role, text, time, name, ref = row
    when = datetime.fromisoformat(time) if time else base.time
    return base._replace(role=cast(Role, role), text=text, time=when, name=name, ref=ref)
