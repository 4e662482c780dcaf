"""The log of a channel's notes: every change with its reason, what was refused, and what must stay forgotten.

    change      entries that changed, each as it was before and after
    found       entries that an interrupted change wrote
    forgotten   fingerprints of an entry that was forgotten
    conflict    an entry that both the program and the person changed
    resolved    the end of a conflict
    session     a new SESSION.md

Pure: records in, values out, and back.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aish.memory.finding.terms import query_terms
from aish.memory.ledger_lines import folded
from aish.memory.notes.document import Document, Entry
from aish.memory.notes.merge import Conflict
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.stores import Record

CHANGE, FOUND, FORGOTTEN, CONFLICT, RESOLVED, SESSION = (
    "change",
    "found",
    "forgotten",
    "conflict",
    "resolved",
    "session",
)
Fingerprint = Callable[[str], str]
_UNTIL = pattern(r"^Until \d{4}-\d\d-\d\d: ")
_COMMON = frozenset(query_terms("user person name like prefer want need use always usually project"))


class EntryChange(NamedTuple):
    """An entry of one note before and after a change; None: not there."""

    note: str
    id: str
    before: Entry | None
    after: Entry | None


class NoteChange(NamedTuple):
    """A change of the notes, as it was logged."""

    number: int
    time: str
    what: str
    reason: str
    by_user: bool = False
    rows: tuple[EntryChange, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # the operation and why
    undoes: int = 0
    undone: bool = False


class Forgotten(NamedTuple):
    """Fingerprints of a forgotten entry: of its text and of its terms."""

    id: str
    text: str
    terms: frozenset[str]
    source: str


class Unresolved(NamedTuple):
    """A conflict that the user has not decided."""

    note: str
    conflict: Conflict


class LogState:
    """What the records of the log add up to."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.changes: list[NoteChange] = []
        self.written: dict[str, tuple[str, Entry]] = {}  # entries of the program, by id, each with its note
        self.forgotten: dict[str, Forgotten] = {}
        self.conflicts: dict[str, Unresolved] = {}
        self.ids: set[str] = set()  # all that were ever used; a new entry must not get the id of a forgotten one
        for record in records:
            self._read(record)

    @property
    def next_number(self) -> int:
        return max((change.number for change in self.changes), default=0) + 1

    def last_change(self) -> NoteChange | None:
        """Return the last change that is not undone, and is no undoing itself."""
        undone = {change.undoes for change in self.changes}
        kept = (one for one in reversed(self.changes) if one.rows and not one.undoes and one.number not in undone)
        return next((one for one in kept if one.what == CHANGE), None)

    def _read(self, record: Record) -> None:
        what = record.get("what")
        if what in (CHANGE, FOUND, SESSION):
            rows = tuple(_row(one) for one in _list(record, "rows"))
            refused = tuple((str(one.get("name", "")), str(one.get("reason", ""))) for one in _list(record, "refused"))
            number, undoes = _number(record, "n"), _number(record, "undoes")
            by_user = record.get("origin") == "user"
            texts = (_text(record, "ts"), str(what), _text(record, "reason"))
            self.changes.append(NoteChange(number, *texts, by_user, rows, refused, undoes))
            self._follow(rows)
            for id in record.get("restores") or ():
                self.forgotten.pop(id, None)
        elif what == FORGOTTEN:
            id, terms = _text(record, "id"), record.get("terms")
            known = frozenset(map(str, terms)) if isinstance(terms, list) else frozenset[str]()
            self.forgotten[id] = Forgotten(id, _text(record, "sha256"), known, _text(record, "source"))
            self.written.pop(id, None)
            self.ids.add(id)
        elif what == CONFLICT:
            conflict = Conflict(*(_text(record, name) for name in Conflict._fields))
            self.conflicts[conflict.id] = Unresolved(_text(record, "note"), conflict)
        elif what == RESOLVED:
            self.conflicts.pop(_text(record, "id"), None)

    def _follow(self, rows: Iterable[EntryChange]) -> None:
        self.ids.update(row.id for row in rows)
        gone = {row.id for row in rows if row.after is None}
        there = {row.id: (row.note, row.after) for row in rows if row.after}
        for id in gone:
            self.written.pop(id, None)
        self.written |= there


def differences(note: str, before: Document, after: Document) -> list[EntryChange]:
    """Return the entries with an id that differ between two versions of a note."""
    old, new = ({entry.id: entry for entry in one.entries if entry.id} for one in (before, after))
    ids = [*old, *(id for id in new if id not in old)]
    rows = (EntryChange(note, id, old.get(id), new.get(id)) for id in ids)
    return [row for row in rows if row.before != row.after and not _only_identified(row, before)]


def _only_identified(row: EntryChange, before: Document) -> bool:
    """Was an entry of the person only given an id?"""
    return row.before is None and row.after is not None and row.after._replace(id="") in before.entries


def change_record(change: NoteChange, restores: Iterable[str] = ()) -> Record:
    record: Record = {"ts": change.time, "what": change.what, "n": change.number, "reason": change.reason}
    if change.by_user:
        record["origin"] = "user"
    if change.rows:
        record["rows"] = [_row_record(row) for row in change.rows]
    if change.refused:
        record["refused"] = [{"name": name, "reason": reason} for name, reason in change.refused]
    if change.undoes:
        record["undoes"] = change.undoes
    if ids := list(restores):
        record["restores"] = ids
    return record


def forgotten_record(time: str, entry: Entry, fingerprint: Fingerprint, reason: str) -> Record:
    """Return a record that recognizes an entry, also reworded, without its words."""
    text = _UNTIL.sub("", entry.text)  # as it was before it went to the history
    return {
        "ts": time,
        "what": FORGOTTEN,
        "id": entry.id,
        "reason": reason,
        "sha256": fingerprint(folded(text)),
        "terms": sorted(map(fingerprint, telling_terms(text))),
        "source": entry.source,
    }


def conflict_record(time: str, note: str, conflict: Conflict) -> Record:
    return {"ts": time, "what": CONFLICT, "note": note, **conflict._asdict()}


def matches(forgotten: Iterable[Forgotten], text: str, source: str, fingerprint: Fingerprint) -> Iterator[str]:
    """Yield the ids of the forgotten entries that a text would bring back.

    The same text always does. Another wording does if it comes from the same turns and shares half of the terms.
    """
    known = list(forgotten)
    if not known:
        return
    whole = fingerprint(folded(text))
    near = any(overlap(one.source, source) for one in known)
    terms = set(map(fingerprint, telling_terms(text))) if near else set()
    for one in known:
        reworded = one.terms and 2 * len(one.terms & terms) >= len(one.terms) and overlap(one.source, source)
        if one.text == whole or reworded:
            yield one.id


def telling_terms(text: str) -> set[str]:
    """Return the terms of a text without words that most entries have, unless there is nothing else."""
    terms = set(query_terms(text))
    return terms - _COMMON or terms


def overlap(first: str, second: str) -> bool:
    """Do two sources, such as 20261117-101500-abc/12-18, have turns in common?"""
    one, other = _turns(first), _turns(second)
    return one is not None and other is not None and one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


def _turns(source: str) -> tuple[str, int, int] | None:
    conversation, slash, turns = source.rpartition("/")
    first, _, last = turns.partition("-")
    if not slash or not first.isdecimal() or not (last or first).isdecimal():
        return None
    return conversation, int(first), int(last or first)


def _row_record(row: EntryChange) -> Record:
    return {"note": row.note, "id": row.id, "before": _entry_record(row.before), "after": _entry_record(row.after)}


def _entry_record(entry: Entry | None) -> Record | None:
    return {name: value for name, value in entry._asdict().items() if value} if entry else None


def _row(record: Record) -> EntryChange:
    return EntryChange(
        _text(record, "note"), _text(record, "id"), _entry(record.get("before")), _entry(record.get("after"))
    )


def _entry(record: Any) -> Entry | None:
    return Entry(*(_text(record, name) for name in Entry._fields)) if isinstance(record, dict) else None


def _text(record: Record, name: str) -> str:
    value = record.get(name, "")
    return value if isinstance(value, str) else ""


def _number(record: Record, name: str) -> int:
    value = record.get(name, 0)
    return value if isinstance(value, int) else 0


def _list(record: Record, name: str) -> list[Record]:
    value = record.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
