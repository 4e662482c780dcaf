"""The notebook of a channel: the only way in which the program changes note files."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from aish.memory.notes.document import Document, Entry, parse, problem_of
from aish.memory.notes.entry import ALPHABET, COMMENT, ID_LENGTH
from aish.memory.notes.history import add_to_day, fold
from aish.memory.notes.merge import Conflict, merge
from aish.memory.notes.operations import Add, Forget, Milestone, Operation, Result, Supersede, apply
from aish.memory.notes.review_log import (
    CHANGE,
    FOUND,
    RESOLVED,
    SESSION,
    EntryChange,
    LogState,
    NoteChange,
    Unresolved,
    change_record,
    conflict_record,
    differences,
    forgotten_record,
    matches,
)
from aish.memory.redaction import Redaction
from aish.values.channels import is_channel_name
from aish.values.errors import BadUsage, Declined, NotFound, StoreTrouble
from aish.values.items import stamp
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Note, NoteName, NoteStore, Record, RecordLog
from aish.values.text import counted, one_line

SOUL, AGENTS, SHARED = NoteName("SOUL.md"), NoteName("AGENTS.md"), NoteName("MEMORY.md")  # of the whole workspace
_TITLES = {"MEMORY.md": "# Memory\n", "HISTORY.md": "# History\n"}  # of new files
_ATTEMPTS = 20
_ARCHIVES = 1000


class Saved(NamedTuple):
    """The text of SESSION.md after saving, and what could not be merged."""

    text: str
    conflicts: list[Conflict]


class _Notes(NamedTuple):
    """MEMORY.md and HISTORY.md as they are, or as they shall be."""

    memory: Document
    history: Document


def random_id() -> str:
    """Return a new id for an entry."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in os.urandom(ID_LENGTH))


class Notebook:
    """The notes of a channel.

    1. Every change is applied to the text that is there now. A change of the person is never lost.
    2. HISTORY.md is written before MEMORY.md: a crash in between may repeat an entry, but loses none.
    3. Secrets are masked. What was forgotten is not learned again, unless the user says so.
    4. Every change is in the log, with its reason, and can be undone.
    5. The notes of the whole workspace are only read.
    """

    def __init__(
        self,
        store: NoteStore,
        channel: str,
        log: RecordLog,
        redaction: Redaction,
        now: Callable[[], datetime],
        new_id: Callable[[], str] = random_id,
        refuse: Callable[[str], str] = lambda text: "",
    ) -> None:
        """`refuse` says why a text may not be kept, such as a purged one; empty: it may. Raises `BadUsage`."""
        if not is_channel_name(channel):
            raise BadUsage(f"{channel!r} is not a valid channel name; use letters, digits and -")
        self._store, self._log, self._redaction, self._now = store, log, redaction, now
        self._new_id, self._refuse = new_id, refuse
        self.channel = channel
        self.session, self.memory, self.history, self.archive = (
            NoteName(file, channel) for file in ("SESSION.md", "MEMORY.md", "HISTORY.md", "HISTORY.archive.md")
        )

    # Reading

    def read(self, name: NoteName) -> Document:
        """Return a note. A missing one is empty; one that cannot be used says so in `problem`."""
        return _document(self._store.read(name))

    def log(self, limit: int = 20) -> list[NoteChange]:
        """Return the last changes, newest first."""
        state = self._state()
        undone = {change.undoes for change in state.changes}
        newest = state.changes[: -limit - 1 : -1] if limit > 0 else []
        return [change._replace(undone=change.number in undone) for change in newest]

    def conflicts(self) -> list[Unresolved]:
        """Return the conflicts that the user has not decided yet."""
        return list(self._state().conflicts.values())

    # Changing MEMORY.md and HISTORY.md

    def apply(self, operations: Sequence[Operation], *, reason: str, by_user: bool = False) -> list[Result]:
        """Apply operations to the entries that are there now, and return what became of each. Raises `StoreTrouble`."""
        masked = [self._masked(operation) for operation in operations]
        results: list[Result] = []

        def edit(notes: _Notes, state: LogState) -> _Notes:
            nonlocal results

            def refuse(operation: Operation) -> str:
                return self._veto(operation, notes, state, by_user=by_user)

            applied = apply(
                *notes,
                [one for one, _ in masked],
                today=self._today(),
                new_id=self._unused(state),
                refuse=refuse,
                by_user=by_user,
            )
            results = [
                result._replace(masked=notice) for result, (_, notice) in zip(applied.results, masked, strict=True)
            ]
            return _Notes(applied.memory, applied.history)

        def extra(state: LogState, rows: Sequence[EntryChange]) -> Iterator[Record]:
            forgotten = {one.id for one in results if one.applied and isinstance(one.operation, Forget)}
            yield from self._forgotten((row.before for row in rows if row.id in forgotten), "forgotten")

        problem = self._change(edit, reason, by_user=by_user, extra=extra, refused=lambda: _refusals(results))
        if problem:
            return [Result(one, applied=False, reason=problem) for one in operations]
        return results

    def promote(self, ids: Iterable[str], *, reason: str = "recalled") -> list[str]:
        """End the probation of entries, and return the ids of those that were on probation."""
        wanted, done = set(ids), list[str]()

        def edit(notes: _Notes, state: LogState) -> _Notes:
            done[:] = [entry.id for entry in notes.memory.entries if entry.id in wanted and entry.until]
            memory = notes.memory
            for entry in memory.entries:
                if entry.id in done:
                    memory = memory.replace(entry.id, entry._replace(until=""))
            return notes._replace(memory=memory)

        return [] if self._change(edit, reason) else done

    def expire(self, today: str = "") -> list[str]:
        """Remove the entries whose probation has ended, and return their ids. They may be learned again."""
        day, done = today or self._today(), list[str]()

        def edit(notes: _Notes, state: LogState) -> _Notes:
            done[:] = [entry.id for entry in notes.memory.entries if entry.id and "" < entry.until < day]
            memory = notes.memory
            for id in done:
                memory = memory.remove(id)
            return notes._replace(memory=memory)

        return [] if self._change(edit, "probation ended") else done

    def identify(self) -> Document:
        """Give an id to each entry of MEMORY.md that has none, and return the note."""

        def edit(notes: _Notes, state: LogState) -> _Notes:
            return notes._replace(memory=notes.memory.with_ids(self._unused(state)))

        self._change(edit, "")
        return self.read(self.memory)

    def fold(self) -> bool:
        """Fold old blocks of HISTORY.md into coarser ones, and tell whether there were any. The archive keeps them."""
        with self._store.exclusive():
            history = self.read(self.history)
            archived = "" if history.problem else fold(history, self._today()).archived
            if not archived:
                return False
            self._archive(archived)

            def edit(notes: _Notes, state: LogState) -> _Notes:
                again = fold(notes.history, self._today())
                return notes._replace(history=again.kept) if again.archived == archived else notes

            return not self._change(edit, "folded old blocks")

    def undo(self) -> str:
        """Undo the last change that is not undone yet, and return its description. Raises `NotFound`.

        Entries that the person changed since stay as they are, and are reported as conflicts.
        """
        with self._store.exclusive():
            change = self._state().last_change()
            if change is None:
                raise NotFound("there is no change of MEMORY.md or HISTORY.md to undo")
            conflicts = list[tuple[str, Conflict]]()

            def edit(notes: _Notes, state: LogState) -> _Notes:
                conflicts.clear()
                for row in reversed(change.rows):
                    notes, conflict = self._reversed(notes, row)
                    conflicts.extend([(row.note, conflict)] if conflict else [])
                return notes

            def extra(state: LogState, rows: Sequence[EntryChange]) -> Iterator[Record]:
                return (conflict_record(self._time(), *one) for one in conflicts)

            about = f"undid: {change.reason or 'a change'}"
            if problem := self._change(edit, about, undoes=change.number, extra=extra):
                raise StoreTrouble(problem)
            kept = f"; kept {counted(len(conflicts), 'entry')} that you changed since" if conflicts else ""
            return f"{about}{kept}"

    def resolve(self, id: str, take: str) -> None:
        """End a conflict: `theirs` keeps the note as it is, `mine` writes the program's text. Raises `NotFound`."""
        if take not in ("mine", "theirs"):
            raise BadUsage("take must be mine or theirs")
        with self._store.exclusive():
            found = self._state().conflicts.get(id)
            if found is None:
                raise NotFound(f"there is no conflict about {one_line(id, 20) or 'an entry without an id'}")
            if take == "mine":
                self._take_mine(found)
            self._log.append({"ts": self._time(), "what": RESOLVED, "id": id, "reason": take})

    def save_edited(self, name: NoteName, base: str, edited: str) -> Saved:
        """Save a note that the user edited. What the program changed since `base` is merged; the user's text wins.

        Raises `StoreTrouble`.
        """
        if name not in (self.session, self.memory, self.history):
            raise BadUsage(f"{name.file} is not written by aish; edit the file itself")
        with self._store.exclusive():
            for _ in range(_ATTEMPTS):
                note, new = self._store.read(name), parse(self._redaction.text(edited))
                if note.problem:
                    raise StoreTrouble(f"{name.file} is not changed: {note.problem}")
                merged = merge(parse(base), _document(note), new)
                if not isinstance(self._replace(name, merged.document.text, note.revision), Note):
                    return Saved(merged.document.text, merged.conflicts)
        raise StoreTrouble(f"{name.file} is not changed: another program keeps changing it")

    # Changing SESSION.md

    def forget_state(self, id: str) -> Entry:
        """Remove a line of SESSION.md, because the user says so. It is not written again. Raises `NotFound`."""
        with self._store.exclusive():
            document = self.read(self.session)
            entry = document.find(id)
            if entry is None:
                raise NotFound(f"there is no entry {one_line(id, 20)}")
            self.save_session(document.text, document.remove(id).text, reason="forgotten by the user")
            self._log.extend(lambda: list(self._forgotten([entry], "forgotten")))
        return entry

    def was_forgotten(self, text: str, source: str) -> bool:
        """Was this said before, and forgotten?"""
        return any(matches(self._state().forgotten.values(), text, source, self._redaction.fingerprint))

    def save_session(self, base: str, new: str, *, reason: str) -> Saved:
        """Write SESSION.md. `base` is the text that `new` was made from; what changed on disk since is merged.

        Raises `StoreTrouble`, and `Declined` for a text that may not be kept.
        """
        new = self._redaction.text(new)
        if problem := parse(new).problem or self._refuse(new):
            raise Declined(f"SESSION.md is not changed: {problem}")
        with self._store.exclusive():
            for _ in range(_ATTEMPTS):
                note = self._store.read(self.session)
                there = _document(note)
                if there.problem:
                    raise StoreTrouble(f"SESSION.md is not changed: {there.problem}")
                merged = merge(parse(base), parse(new), there) if note.revision else None
                text, conflicts = (merged.document.text, merged.conflicts) if merged else (new, [])
                same = bool(note.revision) and text == note.text
                if same or not isinstance(self._replace(self.session, text, note.revision), Note):
                    self._log_session(reason, conflicts, changed=not same)
                    return Saved(text, conflicts)
        raise StoreTrouble("SESSION.md is not changed: another program keeps changing it")

    def _log_session(self, reason: str, conflicts: list[Conflict], *, changed: bool) -> None:
        if not changed and not conflicts:
            return
        state = self._state()
        change = NoteChange(state.next_number, self._time(), SESSION, self._redaction.text(reason))
        records = [change_record(change)] if changed else []
        new = [one for one in conflicts if Unresolved(self.session.file, one) not in state.conflicts.values()]
        records += [conflict_record(self._time(), self.session.file, one) for one in new]
        self._log.extend(lambda: records)

    # Helpers

    def _change(
        self,
        edit: Callable[[_Notes, LogState], _Notes],
        reason: str,
        *,
        by_user: bool = False,
        undoes: int = 0,
        extra: Callable[[LogState, Sequence[EntryChange]], Iterable[Record]] = lambda state, rows: (),
        refused: Callable[[], tuple[tuple[str, str], ...]] = lambda: (),
    ) -> str:
        """Edit MEMORY.md and HISTORY.md until nobody changed them meanwhile, and log it. Returns why that cannot be."""
        with self._store.exclusive():
            for _ in range(_ATTEMPTS):
                stored = [self._store.read(name) for name in (self.memory, self.history)]
                for name, note in zip(self._both, stored, strict=True):
                    if problem := note.problem or problem_of(note.text):
                        return f"{name.file} is not changed: {problem}"
                notes = _Notes(*(_document(note, name.file) for note, name in zip(stored, self._both, strict=True)))
                state = self._noticed(notes, stored)
                new = edit(notes, state)
                if problem := next((one.problem for one in new if one.problem), ""):
                    return f"the notes are not changed: the result could not be written, because {problem}"
                rows = [
                    row
                    for name, *pair in zip(self._both, notes, new, strict=True)
                    for row in differences(name.file, *pair)
                ]
                change = NoteChange(
                    state.next_number,
                    self._time(),
                    CHANGE,
                    self._redaction.text(reason),
                    by_user,
                    tuple(rows),
                    refused(),
                    undoes,
                )
                records = [change_record(change, self._restored(state, rows) if by_user else ()), *extra(state, rows)]
                if self._written(notes, new, stored):
                    if rows or change.refused or undoes or len(records) > 1:
                        self._log.extend(lambda made=records: made)  # type: ignore[misc]  # bound now, used at once
                    return ""
        raise StoreTrouble("the notes are not changed: another program keeps changing them")

    @property
    def _both(self) -> tuple[NoteName, NoteName]:
        return self.memory, self.history

    def _written(self, old: _Notes, new: _Notes, stored: Sequence[Note]) -> bool:
        """Write what changed, HISTORY.md first. False: a note was changed meanwhile."""
        for place in (1, 0):
            if new[place].text != old[place].text:
                written = self._replace(self._both[place], new[place].text, stored[place].revision)
                if isinstance(written, Note):
                    return False
        return True

    def _noticed(self, notes: _Notes, stored: Sequence[Note]) -> LogState:
        """Log what happened since the last change: entries deleted by hand, and entries of an interrupted change."""
        state = self._state()
        there = {id for note in notes for id, _ in COMMENT.findall(note.text)}
        exists = {name.file for name, note in zip(self._both, stored, strict=True) if note.revision}
        gone = [entry for note, entry in state.written.values() if entry.id not in there and note in exists]
        found = [
            EntryChange(name.file, entry.id, None, entry)
            for name, document in zip(self._both, notes, strict=True)
            for entry in document.entries
            if entry.id and entry.made and entry.id not in state.written
        ]
        records = list(self._forgotten(gone, "deleted by hand"))
        if found:
            records.append(change_record(NoteChange(state.next_number, self._time(), FOUND, "", rows=tuple(found))))
        if records:
            self._log.extend(lambda: records)
            state = self._state()
        return state

    def _forgotten(self, entries: Iterable[Entry | None], reason: str) -> Iterator[Record]:
        return (
            forgotten_record(self._time(), entry, self._redaction.fingerprint, reason) for entry in entries if entry
        )

    def _restored(self, state: LogState, rows: Iterable[EntryChange]) -> list[str]:
        """Return the ids of forgotten entries that the user wrote again."""
        added = [row.after for row in rows if row.after and not row.before and row.note == self.memory.file]
        known = state.forgotten.values()
        return sorted({id for one in added for id in matches(known, one.text, one.source, self._redaction.fingerprint)})

    def _veto(self, operation: Operation, notes: _Notes, state: LogState, *, by_user: bool) -> str:
        if not isinstance(operation, Add | Supersede | Milestone):
            return ""
        if reason := self._refuse(operation.text):
            return reason
        if by_user:
            return ""
        there = {entry.id for note in notes for entry in note.entries}  # put back by hand: no longer forgotten
        known = [one for one in state.forgotten.values() if one.id not in there]
        found = any(matches(known, operation.text, operation.source, self._redaction.fingerprint))
        return "was forgotten" if found else ""

    def _reversed(self, notes: _Notes, row: EntryChange) -> tuple[_Notes, Conflict | None]:
        """Undo one row, unless the person changed the entry since."""
        place = 0 if row.note == self.memory.file else 1
        document, now = notes[place], notes[place].find(row.id)
        if (now and now.content) != (row.after and row.after.content):
            if (now and now.content) == (row.before and row.before.content):
                return notes, None
            texts = (entry.text if entry else "" for entry in (row.after, row.before, now))
            return notes, Conflict(row.id, *texts)
        if row.before is None:
            document = document.remove(row.id) if now else document
        elif now:
            document = document.replace(row.id, row.before)
        elif place:
            document = add_to_day(document, row.before.section, row.before)
        else:
            document = document.add(row.before.section, row.before)
        return (notes._replace(history=document) if place else notes._replace(memory=document)), None

    def _take_mine(self, found: Unresolved) -> None:
        conflict = found.conflict
        if found.note not in (self.memory.file, self.history.file) or not conflict.id:
            raise BadUsage(f"{found.note} is changed by hand only; take theirs, and edit it")

        def edit(notes: _Notes, state: LogState) -> _Notes:
            place = 0 if found.note == self.memory.file else 1
            document, now = notes[place], notes[place].find(conflict.id)
            if now and conflict.mine:
                document = document.replace(conflict.id, now._replace(text=conflict.mine))
            elif now:
                document = document.remove(conflict.id)
            elif conflict.mine:
                row = next(
                    (row for change in reversed(state.changes) for row in change.rows if row.id == conflict.id), None
                )
                old = (row and (row.before or row.after)) or Entry(conflict.id, "Decisions", "", self._today())
                document = document.add(old.section, old._replace(text=conflict.mine))
            return notes._replace(history=document) if place else notes._replace(memory=document)

        if problem := self._change(edit, f"resolved a conflict about {conflict.id}", by_user=True):
            raise StoreTrouble(problem)

    def _archive(self, text: str) -> None:
        """Append to the archive; when one is full, to the next."""
        for number in range(1, _ARCHIVES):
            name = self.archive if number == 1 else NoteName(f"HISTORY.archive.{number}.md", self.channel)
            for _ in range(_ATTEMPTS):
                note = self._store.read(name)
                whole = note.text + ("\n" if note.text and not note.text.endswith("\n") else "") + text
                if text.strip() in note.text:  # by a run that was interrupted
                    return
                if note.problem or parse(whole).problem:
                    break
                if not isinstance(self._replace(name, whole, note.revision), Note):
                    return
        raise StoreTrouble("HISTORY.md is not folded: the archive cannot be written")

    def _replace(self, name: NoteName, text: str, revision: str) -> str | Note:
        if name.channel != self.channel:
            raise BadUsage(f"{name.file} of the workspace is changed by hand only")
        return self._store.replace(name, text, revision)

    def _unused(self, state: LogState) -> Callable[[], str]:
        """Return a maker of ids that were never used."""
        return lambda: next(id for id in iter(self._new_id, None) if id not in state.ids)

    def _masked(self, operation: Operation) -> tuple[Operation, str]:
        if not isinstance(operation, Add | Supersede | Milestone):
            return operation, ""
        masked = self._redaction.mask(operation.text)
        return operation._replace(text=masked.text), masked.notice

    def _state(self) -> LogState:
        return LogState(self._log.read())

    def _today(self) -> str:
        return self._now().astimezone().date().isoformat()  # the day of the user

    def _time(self) -> str:
        return stamp(self._now())


def _document(note: Note, file: str = "") -> Document:
    if note.problem:
        return Document(problem=note.problem)
    return parse(note.text if note.revision else _TITLES.get(file, ""))


def _refusals(results: Iterable[Result]) -> tuple[tuple[str, str], ...]:
    """Return the refused operations for the log. A refused text is not logged: it may be one to forget."""
    return tuple(
        (f"{type(one.operation).__name__.lower()} {getattr(one.operation, 'id', '')}".strip(), one.reason)
        for one in results
        if not one.applied
    )
