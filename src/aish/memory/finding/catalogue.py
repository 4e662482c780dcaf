"""The catalogue: which journals are in the index and how far, and how many rows count. Small, and changed as a whole.

It is written last: what the other files of the index have beyond it does not exist.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_SCHEMA = """
create table if not exists facts (name text primary key, value text) without rowid;
create table if not exists journals (
    id integer primary key, name text unique, channel integer, source text, title text, inode integer, size integer,
    changed integer, tail integer, turns integer, first integer, last integer, newest integer, seen integer,
    jumps integer
);
create index if not exists by_last on journals (last);
create index if not exists by_seen on journals (seen);
create table if not exists labels (id integer primary key, kind text, label text, unique (kind, label));
"""
_WAIT = 5.0  # seconds for somebody else's commit


class Known(NamedTuple):
    """A journal as far as it is in the index."""

    id: int
    name: str
    channel: int = 0
    source: str = ""  # the program it was imported from; empty for our own
    title: str = ""
    inode: int = 0
    size: int = 0  # bytes that are in the index
    changed: int = 0  # when the file was changed last, as the system tells it
    tail: int = 0  # checksum of the bytes before `size`
    turns: int = 0
    first: int = 0  # when the first turn was said, and the last
    last: int = 0
    newest: int = -1  # the row of its last turn
    seen: int = 0  # the commit that changed it last
    jumps: int = 0  # 1 if some turn is older than the one before it, as in what was imported piece by piece

    @property
    def gone(self) -> bool:
        """Is there no such file any more?"""
        return self.size < 0


class Catalogue:
    """One connection to the catalogue. Raises `sqlite3.Error` when the file cannot be used."""

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        mode = "rwc" if writable else "ro"
        try:
            self._db = sqlite3.connect(
                f"file:{_quoted(path)}?mode={mode}",
                uri=True,
                timeout=_WAIT,
                isolation_level=None,
                check_same_thread=False,
            )
            if writable:
                self._db.execute("pragma journal_mode = wal")
                self._db.execute("pragma synchronous = full")  # or a power cut leaves words that nobody counted
                self._db.executescript(_SCHEMA)
            else:
                self._db.execute("select 1 from facts").fetchone()
        except sqlite3.OperationalError:
            if writable or os.access(path.parent, os.W_OK):
                raise  # it may be readable the next time; what is opened as below never sees a change
            # a directory that cannot be written has no room for the files that readers share
            self._db = sqlite3.connect(f"file:{_quoted(path)}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        self._inode = _inode(path)

    def close(self) -> None:
        self._db.close()

    @property
    def is_current(self) -> bool:
        """Is this still the catalogue of the index? It may be deleted, and another one may have taken its place."""
        return _inode(self.path) == self._inode != 0

    def require(self) -> None:
        """Make sure that no purge has deleted it: what was read before must not be written after. Raises `OSError`."""
        if not self.is_current:
            raise FileNotFoundError("it was deleted meanwhile")

    @contextmanager
    def change(self) -> Iterator[None]:
        """All that is written inside counts from its end on, or none of it."""
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:  # whatever it was, nothing of it counts
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read inside is of one moment."""
        self._db.execute("begin")
        try:
            yield
        finally:
            self._db.execute("rollback")

    def fact(self, name: str) -> str:
        row = self._db.execute("select value from facts where name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def note(self, name: str, value: object) -> None:
        self._db.execute("insert or replace into facts values (?, ?)", (name, str(value)))

    @property
    def rows(self) -> int:
        """How many rows count."""
        return int(self.fact("rows") or 0)

    @property
    def turns(self) -> int:
        """How many turns all journals have."""
        return int(self._db.execute("select coalesce(sum(turns), 0) from journals").fetchone()[0])

    @property
    def commits(self) -> int:
        return int(self.fact("commits") or 0)

    def vectors(self, embedder: str) -> int:
        """How many rows have vectors of this embedder."""
        return min(int(self.fact(f"vectors of {embedder}") or 0), self.rows)

    def note_vectors(self, embedder: str, rows: int) -> None:
        self.note(f"vectors of {embedder}", rows)

    def journals(self, since: int = -1) -> dict[str, Known]:
        """Every journal by name, or those that changed after a commit."""
        return {row[1]: Known._make(row) for row in self._db.execute("select * from journals where seen > ?", (since,))}

    def newest(self, channels: Iterable[int] | None = None) -> Iterator[Known]:
        """The journals by their last turn, newest first; reads only as far as it is asked for."""
        wanted = None if channels is None else set(channels)
        for row in self._db.execute("select * from journals where newest >= 0 order by last desc, id desc"):
            if wanted is None or row[2] in wanted:
                yield Known(*row)

    def put(self, known: Known) -> int:
        """Write a journal down, and return its id; a new one has the id 0."""
        values = (known.id or None, *known[1:])
        cursor = self._db.execute(f"insert or replace into journals values ({', '.join('?' * len(values))})", values)
        return known.id or int(cursor.lastrowid or 0)

    def label(self, kind: str, label: str) -> int:
        """The number of a channel or a speaker, made if it is new."""
        self._db.execute("insert or ignore into labels (kind, label) values (?, ?)", (kind, label))
        return int(self._db.execute("select id from labels where kind = ? and label = ?", (kind, label)).fetchone()[0])

    def labels(self, kind: str) -> dict[int, str]:
        return dict(self._db.execute("select id, label from labels where kind = ?", (kind,)).fetchall())


def _inode(path: Path) -> int:
    """Which file this is; 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
