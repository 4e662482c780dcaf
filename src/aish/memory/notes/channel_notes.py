"""All that belongs to the notes of one channel: the notebook, the queue of turns, and the log of upkeep."""

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta

from aish.memory.finding.terms import query_terms
from aish.memory.ledger_lines import folded
from aish.memory.notes.consolidation import PROBATION, SECTION_OF
from aish.memory.notes.document import Document, Entry, plain
from aish.memory.notes.notebook import AGENTS, SHARED, SOUL, Notebook
from aish.memory.notes.operations import Add, Confirm, Forget, Invalidate, Operation, Result, Supersede, ToHistory
from aish.memory.notes.queue import ConsolidationQueue
from aish.memory.redaction import Redaction
from aish.memory.trust import is_users
from aish.values.errors import NotFound
from aish.values.invisible import visible
from aish.values.items import read_time, stamp
from aish.values.named_tuple import NamedTuple
from aish.values.stores import NoteName, NoteStore, RecordLog
from aish.values.text import counted, one_line

STATE_JOB = "working state"
_TIDY_EVERY = timedelta(hours=12)
_MOST_MERGED = 10
_MOST_REASON = 200


class UpkeepEvent(NamedTuple):
    """Something that upkeep did, skipped or failed to do."""

    time: str
    outcome: str  # refreshed, skipped, failed, recalled, tidied
    job: str
    reason: str = ""
    ids: tuple[str, ...] = ()


class ChannelNotes:
    """The notes of a channel."""

    def __init__(
        self,
        store: NoteStore,
        channel: str,
        *,
        log: RecordLog,
        context: RecordLog,
        redaction: Redaction,
        now: Callable[[], datetime],
        refuse: Callable[[str], str] = lambda text: "",
        place: str = "",
    ) -> None:
        """`log` has all changes of the notes, `context` the queue and what upkeep did.

        `refuse` says why a text may not be kept; empty: it may. `place` is for people.
        """
        self.channel, self.place, self.refuse = channel, place, refuse
        self.notebook = Notebook(store, channel, log, redaction, now, refuse=refuse)
        self.queue = ConsolidationQueue(context)
        self._store, self._log, self._context, self._redaction, self._now = store, log, context, redaction, now

    @property
    def names(self) -> dict[str, NoteName]:
        """All notes by the short name that commands use."""
        book = self.notebook
        own = {"session": book.session, "memory": book.memory, "history": book.history, "archive": book.archive}
        return {**own, "soul": SOUL, "agents": AGENTS, "workspace": SHARED}

    def read(self, name: str) -> Document:
        """Return a note by its short name. Raises `StoreTrouble`."""
        return self.notebook.read(self.names[name])

    def plain(self, name: str) -> str:
        """Return the text of a note as a model sees it: without ids. Raises `StoreTrouble`."""
        return plain(self.read(name))

    def exists(self, name: str) -> bool:
        return bool(self.revision(name))

    def revision(self, name: str) -> str:
        """Return what identifies the current text of a note; empty if there is none. Raises `StoreTrouble`."""
        return self._store.read(self.names[name]).revision

    def channels(self) -> list[str]:
        """Return all channels that have notes."""
        return sorted({name.channel for name in self._store.names() if name.channel})

    def find(self, id: str) -> tuple[Entry, str]:
        """Return an entry by its id, and the short name of its note. Raises `NotFound`."""
        for name in ("session", "memory", "history"):
            entry = self.read(name).find(id)
            if entry:
                return entry, name
        raise NotFound(f"there is no entry {one_line(id, 20)!r}; :notes show lists the ids")

    def find_text(self, text: str) -> Entry | None:
        """Return the only entry of MEMORY.md that has this text, or contains it."""
        wanted, entries = folded(text), self.read("memory").entries
        found = [entry for entry in entries if folded(entry.text) == wanted]
        found = found or [entry for entry in entries if wanted and wanted in folded(entry.text)]
        return found[0] if len(found) == 1 else None

    def forget(self, id: str) -> Entry:
        """Remove an entry, because the user says so. Raises `NotFound`."""
        entry, name = self.find(id)
        if name == "session":
            return self.notebook.forget_state(id)
        self._applied(Forget(id))
        return entry

    def confirm(self, id: str) -> Entry:
        """Trust an entry as if the user had said it, and keep it. Raises `NotFound`."""
        entry, name = self.find(id)
        if name == "session":
            document = self.read(name)
            new = document.replace(id, entry._replace(text=visible(entry.text), origin="", until=""))
            self.notebook.save_session(document.text, new.text, reason="confirmed by the user")
        elif name == "memory":
            self._applied(Confirm(id))
        return entry

    def change_entry(self, entry: Entry | None, text: str, kind: str, *, origin: str, source: str) -> Result:
        """Add an entry to MEMORY.md, replace one, or without a text remove it. What only a model said is on trial."""
        operation: Operation
        if entry and text:
            operation = Supersede(entry.id, text, origin, source)
        elif entry:
            operation = Invalidate(entry.id, "removed by the model")
        else:
            until = "" if is_users(origin) else (self._now().date() + PROBATION).isoformat()
            operation = Add(SECTION_OF[kind], text, origin, source, until)
        (result,) = self.notebook.apply([operation], reason="tool of the model")
        return result

    def _applied(self, operation: Forget | Confirm) -> Result:
        (result,) = self.notebook.apply([operation], reason="by the user", by_user=True)
        if not result.applied:
            raise NotFound(result.reason)
        return result

    def problems(self) -> list[str]:
        """Say what is wrong with the files of this channel. Raises `StoreTrouble`."""
        found = [f"{name}: {problem}" for name in self.names if (problem := self.read(name).problem)]
        for log in (self._log, self._context):
            health = log.health()
            if health.damaged:
                found.append(f"{health.place}: {counted(health.damaged, 'damaged line')} skipped")
        return found

    # What upkeep did

    def record(self, outcome: str, job: str, reason: str = "", ids: Sequence[str] = ()) -> None:
        """Log what upkeep did, skipped or failed to do. Raises `StoreTrouble`."""
        reason = one_line(self._redaction.text(reason), _MOST_REASON)
        record = {"ts": stamp(self._now()), "upkeep": outcome, "job": job, "reason": reason}
        self._context.append({**record, **({"ids": list(ids)} if ids else {})}, sync=False)

    def record_once(self, outcome: str, job: str, reason: str) -> None:
        """Log what upkeep could not do, unless the same was logged today. Raises `StoreTrouble`."""
        reason = one_line(self._redaction.text(reason), _MOST_REASON)
        today = itertools.takewhile(lambda one: one.time[:10] >= stamp(self._now())[:10], self.events())
        if not any((one.outcome, one.job, one.reason) == (outcome, job, reason) for one in today):
            self.record(outcome, job, reason)

    def events(self) -> Iterator[UpkeepEvent]:
        """Yield what upkeep did, newest first."""
        for record in self._context.read_back():
            match record:
                case {"ts": str(time), "upkeep": str(outcome), "job": str(job), "reason": str(reason)}:
                    ids = record.get("ids")
                    yield UpkeepEvent(time, outcome, job, reason, tuple(map(str, ids)) if isinstance(ids, list) else ())

    def refreshed_to(self, conversation: str) -> int:
        """Return the last turn of a conversation that SESSION.md knows."""
        for event in self.events():
            name, _, turns = event.reason.rpartition("/")
            if event.outcome == "refreshed" and name == conversation:
                last = turns.rpartition("-")[2]
                return int(last) if last.isdecimal() else 0
        return 0

    def refreshed_last(self) -> str:
        """Return the conversation that SESSION.md tells of; empty if there is none."""
        made = (one.reason for one in self.events() if one.outcome == "refreshed" and one.job == STATE_JOB)
        return next(made, "").rpartition("/")[0]

    def _merge_duplicates(self) -> int:
        """Move entries of aish that another one repeats in other words to the history, and return how many."""
        newest: dict[tuple[str, frozenset[str]], Entry] = {}
        older: list[Operation] = []
        for entry in self.read("memory").entries:
            key = entry.section, frozenset(query_terms(entry.text))
            before, newest[key] = newest.get(key), entry
            if before and before.id and before.source:  # not one that the user wrote
                older.append(ToHistory(before.id))
        results = self.notebook.apply(older[:_MOST_MERGED], reason="said twice") if older else []
        return sum(result.applied for result in results)

    # Tidying, without a model

    def needs_tidying(self, recalled: Collection[str]) -> bool:
        """Was something recalled that is not counted yet, or is it time to look for what has expired?"""
        last = next((read_time(event.time) for event in self.events() if event.outcome == "tidied"), None)
        return bool(recalled) or last is None or not timedelta() <= self._now() - last < _TIDY_EVERY

    def count(self, recalled: Collection[str]) -> list[str]:
        """Log which entries were recalled, end their probation, and return the ids of those that were on probation."""
        ids = sorted({key.partition(":")[2] for key in recalled if not key.startswith("ledger:")})
        if not ids:
            return []
        self.record("recalled", "recall", ids=ids)
        return self.notebook.promote(ids)

    def tidy(self, recalled: Collection[str]) -> None:
        """Count recalls, promote what was recalled, remove what did not last, and fold old history."""
        promoted = self.count(recalled)
        expired = self.notebook.expire()
        merged = self._merge_duplicates()
        is_folded = self.notebook.fold()
        counts = {"promoted": len(promoted), "expired": len(expired), "merged": merged}
        told = [f"{count} {what}" if count else "" for what, count in counts.items()]
        told.append("old history folded" if is_folded else "")
        self.record("tidied", "tidying", ", ".join(filter(None, told)))
