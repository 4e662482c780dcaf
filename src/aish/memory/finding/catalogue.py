"""The catalogue: which conversations are indexed, up to where, and how many rows of the index are valid.

It is written last, in one transaction. Rows in other files of the index that it does not count are ignored.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aish.storage.files import private_opener
from aish.values.named_tuple import NamedTuple

_SCHEMA = """
create table if not exists facts (name text primary key, value text) without rowid;
create table if not exists conversations (
    id integer primary key, name text unique, channel integer, source text, title text, version text, position integer,
    fingerprint text, turns integer, first_time integer, last_time integer, newest_row integer, last_commit integer,
    unordered integer
);
create index if not exists by_last_time on conversations (last_time);
create index if not exists by_last_commit on conversations (last_commit);
create table if not exists labels (id integer primary key, kind text, label text, unique (kind, label));
"""
_TIMEOUT = 5.0  # seconds to wait for the commit of another process


class IndexedConversation(NamedTuple):
    """A conversation as far as it is in the index. The fields are the columns of its table."""

    id: int
    name: str
    channel: int = 0
    source: str = ""  # the program it was imported from; empty for our own
    title: str = ""
    version: str = ""  # of the revision that was indexed; empty if it was not read to its end
    end: int = 0  # the position up to which it is indexed
    fingerprint: str = ""  # of the turns before `end`
    turns: int = 0
    first_time: int = 0  # when the first turn was said, and the last
    last_time: int = 0
    newest_row: int = -1  # the row of its last turn
    last_commit: int = 0  # the commit that changed it last
    unordered: int = 0  # 1 if a turn is older than the turn before it, which happens in imports

    @property
    def deleted(self) -> bool:
        return self.end < 0


class Catalogue:
    """One connection to the catalogue. Raises `sqlite3.Error` when the file cannot be used."""

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        mode = "rw" if writable else "ro"
        try:
            if writable:  # SQLite would use the umask; its other files get the mode of this one
                with suppress(OSError):
                    os.close(private_opener(str(path), os.O_RDWR | os.O_CREAT))
            self._db = sqlite3.connect(
                f"file:{_quoted(path)}?mode={mode}",
                uri=True,
                timeout=_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
            if writable:
                self._db.execute("pragma journal_mode = wal")
                self._db.execute("pragma synchronous = full")  # a power cut must not lose a commit
                self._db.executescript(_SCHEMA)
            else:
                self._db.execute("select 1 from facts").fetchone()
        except sqlite3.OperationalError:
            self.close()
            if writable or os.access(path.parent, os.W_OK):
                raise  # it may be readable next time; a connection opened as below never sees a change
            # SQLite cannot create the files that readers share in a directory that is not writable
            self._db = sqlite3.connect(f"file:{_quoted(path)}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        self._inode = _inode(path)

    def close(self) -> None:
        if hasattr(self, "_db"):  # it is missing if the file could not be opened
            self._db.close()

    def __del__(self) -> None:
        self.close()  # since Python 3.13, sqlite3 warns about connections that nobody closed

    @property
    def is_current(self) -> bool:
        """Is this still the catalogue of the index? It may have been deleted or replaced."""
        return _inode(self.path) == self._inode != 0

    def require_current(self) -> None:
        """Raise `OSError` if a purge has deleted the catalogue: what was read before must not be written now."""
        if not self.is_current:
            raise FileNotFoundError("the index was deleted in the meantime")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything written inside becomes valid at its end, or nothing of it."""
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:  # whatever happened, nothing is written
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside belongs to one commit."""
        self._db.execute("begin")
        try:
            yield
        finally:
            self._db.execute("rollback")

    def fact(self, name: str) -> str:
        row = self._db.execute("select value from facts where name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def set_fact(self, name: str, value: object) -> None:
        self._db.execute("insert or replace into facts values (?, ?)", (name, str(value)))

    @property
    def rows(self) -> int:
        """The number of valid rows."""
        return int(self.fact("rows") or 0)

    @property
    def turns(self) -> int:
        """The number of turns of all conversations."""
        return int(self._db.execute("select coalesce(sum(turns), 0) from conversations").fetchone()[0])

    @property
    def commits(self) -> int:
        return int(self.fact("commits") or 0)

    def vector_rows(self, embedder: str) -> int:
        """The number of rows that have vectors of this embedder."""
        return min(int(self.fact(f"vectors of {embedder}") or 0), self.rows)

    def set_vector_rows(self, embedder: str, rows: int) -> None:
        self.set_fact(f"vectors of {embedder}", rows)

    def conversations(self, after_commit: int = -1) -> dict[str, IndexedConversation]:
        """Every conversation by name, or only those that changed after a commit."""
        rows = self._db.execute("select * from conversations where last_commit > ?", (after_commit,))
        return {row[1]: IndexedConversation._make(row) for row in rows}

    def newest_first(self, channels: Iterable[int] | None = None) -> Iterator[IndexedConversation]:
        """Yield conversations by their last turn, newest first. Rows are only read when they are needed."""
        wanted = None if channels is None else set(channels)
        query = "select * from conversations where newest_row >= 0 order by last_time desc, id desc"
        for row in self._db.execute(query):
            if wanted is None or row[2] in wanted:
                yield IndexedConversation(*row)

    def put(self, conversation: IndexedConversation) -> int:
        """Store a conversation and return its id; a new one has the id 0."""
        values = (conversation.id or None, *conversation[1:])
        places = ", ".join("?" * len(values))
        cursor = self._db.execute(f"insert or replace into conversations values ({places})", values)
        return conversation.id or int(cursor.lastrowid or 0)

    def label(self, kind: str, label: str) -> int:
        """The number of a channel or a speaker; a new one gets a new number."""
        self._db.execute("insert or ignore into labels (kind, label) values (?, ?)", (kind, label))
        return int(self._db.execute("select id from labels where kind = ? and label = ?", (kind, label)).fetchone()[0])

    def labels(self, kind: str) -> dict[int, str]:
        return dict(self._db.execute("select id, label from labels where kind = ?", (kind,)).fetchall())


def _inode(path: Path) -> int:
    """The inode of a file; 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
