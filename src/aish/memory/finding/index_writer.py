"""Adds turns to the index and commits now and then: one run of the indexer."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from aish.memory.finding.catalogue import Catalogue, IndexedConversation
from aish.memory.finding.columns import COLUMNS, NONE, Columns, clamp_number
from aish.memory.finding.conversation_changes import ConversationChange, find_changes
from aish.memory.finding.feed import Feed, FeedEntry, Revision
from aish.memory.finding.ranking import BLOCK, traits
from aish.memory.finding.term_sets import TermSets, hash_terms
from aish.memory.finding.terms import terms
from aish.memory.finding.turn_text import indexed_text, searchable_text
from aish.memory.finding.turn_vectors import TurnVectors, read_indexed_texts
from aish.memory.finding.vectors import Embedder
from aish.memory.finding.word_index import WordWriter
from aish.values.errors import StoreTrouble
from aish.values.invisible import visible
from aish.values.turns import JournalEntry

ROLES = ("user", "assistant", "tool")
_TURNS_PER_COMMIT, _CHARACTERS_PER_COMMIT = 10_000, 4_000_000  # what is in memory until then
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class _Block:
    """Consecutive turns of a conversation that are indexed as one document, while they are collected."""

    first_row: int = NONE
    time: int = 0
    turns: int = 0
    terms: list[str] = field(default_factory=list)
    indexed: bool = False  # the index has it already, with fewer turns
    grown: bool = False

    def clear(self) -> None:
        self.first_row, self.turns, self.terms, self.indexed, self.grown = NONE, 0, [], False, False


class IndexWriter:
    """Brings the index up to date with a feed. Used once, under the lock of the indexer."""

    def __init__(
        self,
        feed: Feed,
        directory: Path,
        catalogue: Catalogue,
        embedder: Embedder | None,
        progress: Progress | None,
        stop: Callable[[], bool],
    ) -> None:
        self._feed, self._catalogue = feed, catalogue
        self._directory, self._progress, self._stop = directory, progress, stop
        self._columns = Columns(directory)
        self._turn_vectors = TurnVectors(feed, directory, catalogue, embedder) if embedder else None
        self._rows = self._first_new_row = catalogue.rows
        self._columns.map_rows(self._rows)
        self._term_sets, self._new_terms = TermSets(directory), array("I")
        self._terms = self._first_new_term = count_terms(self._columns, self._rows)
        self._values = {name: array("q") for name in COLUMNS}
        self._texts, self._characters = list[str](), 0
        self._next_rows: dict[int, int] = {}  # the rows that follow rows which are written already
        self._changed: dict[str, IndexedConversation] = {}
        self._labels: dict[tuple[str, str], int] = {}
        self._errors: list[str] = []

    def run(self) -> None:
        """Index everything that changed. Raises `StoreTrouble` at the end if conversations could not be read."""
        changes = find_changes(self._feed, self._feed.revisions(), self._catalogue.conversations())
        if changes:
            self._index_all(changes)
        if self._turn_vectors:
            self._turn_vectors.add_missing(self._columns, self._stop, self._progress)
        if self._errors:
            more = f" and {len(self._errors) - 1} more" if len(self._errors) > 1 else ""
            raise StoreTrouble(f"{self._errors[0]}{more}; what was said there is not found")

    def _index_all(self, changes: list[ConversationChange]) -> None:
        total, done = sum(change.unread for change in changes), 0
        interrupted = self._catalogue.fact("busy") == "1"
        self._set_busy(True)
        self._words = WordWriter(self._directory / "words")
        self._blocks = WordWriter(self._directory / "blocks")
        if interrupted:
            self._words.delete_rows_from(self._rows)
            self._blocks.delete_rows_from(self._rows)
        for change in changes:
            if self._stop():
                break
            try:
                self._index(change)
            except StoreTrouble as error:
                self._errors.append(str(error))  # the other conversations can still be indexed
            done += change.unread
            if self._progress:
                self._progress(done, total)
        self._commit()
        self._words.close()
        self._blocks.close()
        self._set_busy(False)

    def _set_busy(self, busy: bool) -> None:
        with self._catalogue.transaction():
            self._catalogue.set_fact("busy", int(busy))

    def _index(self, change: ConversationChange) -> None:
        known = change.indexed
        meta = self._feed.meta(change.conversation) if change.revision and not change.start else None
        if known and not change.start:  # deleted or rewritten
            self._remove(known)
            known = known._replace(turns=0, newest_row=NONE, end=0, unordered=0)
        if change.revision is None:
            assert known
            self._changed[known.name] = known._replace(end=-1, version="", fingerprint="")
            return
        if meta:
            known = (known or IndexedConversation(0, change.conversation))._replace(
                channel=self._label("channel", meta.channel), source=meta.source, title=meta.title
            )
        assert known
        if not known.id:
            known = known._replace(id=self._catalogue.put(known))
        self._add_turns(known, change.revision, change.start)

    def _add_turns(self, known: IndexedConversation, revision: Revision, start: int) -> None:
        end, block = start, self._open_last_block(known)
        try:
            for item in self._feed.entries(known.name, revision, start):
                end = item.position + item.length
                text = item.entry and searchable_text(item.entry)
                if item.entry and text:
                    known = self._add_turn(known, item, item.entry, text, block)
                    if len(self._texts) >= _TURNS_PER_COMMIT or self._characters >= _CHARACTERS_PER_COMMIT:
                        self._set_end(known, revision, end, block)
                        self._commit()
                        if self._stop():
                            break
        finally:  # if the rest cannot be read, keep what was read
            self._set_end(known, revision, end, block)

    def _set_end(self, known: IndexedConversation, revision: Revision, end: int, block: "_Block") -> None:
        """Record up to which position a conversation is indexed."""
        self._write_block(known, block)
        version = revision.version if end >= revision.end else ""  # an empty version never equals a revision
        fingerprint = self._feed.fingerprint(known.name, revision, end)
        self._changed[known.name] = known._replace(end=end, version=version, fingerprint=fingerprint)

    def _add_turn(
        self, known: IndexedConversation, item: FeedEntry, entry: JournalEntry, text: str, block: "_Block"
    ) -> IndexedConversation:
        row, time = self._rows, round(entry.time.timestamp() * 1000)
        if block.turns == BLOCK:
            self._write_block(known, block)
            block.clear()
        if not block.turns:
            block.first_row, block.time = row, time
        role = ROLES.index(entry.turn.role)
        name = entry.meta.get("name")
        speaker = self._label("speaker", name) if isinstance(name, str) and name else 0
        text = indexed_text(text, entry.number, known.title)
        found = terms(text)
        term_set = hash_terms(found)
        values = {
            "time": time,
            "position": item.position,
            "length": item.length,
            "number": clamp_number(entry.number),
            "conversation": known.id,
            "channel": known.channel,
            "speaker": speaker,
            "before": known.newest_row,
            "after": NONE,
            "block": block.first_row,
            "first_term": self._terms,
            "term_count": len(term_set),
            "role": role,
            "traits": traits(text),
        }
        for column, value in values.items():
            self._values[column].append(value)
        if known.newest_row >= self._first_new_row:
            self._values["after"][known.newest_row - self._first_new_row] = row
        elif known.newest_row >= 0:
            self._next_rows[known.newest_row] = row
        self._words.add(found, row=row, conversation=known.id, channel=known.channel, role=role, time=time)
        self._new_terms.extend(term_set)
        self._terms += len(term_set)
        block.terms += found
        block.turns += 1
        block.grown = True
        self._texts.append(text)
        self._characters += len(text)
        self._rows += 1
        first_time = known.first_time if known.turns else time
        return known._replace(
            turns=known.turns + 1,
            newest_row=row,
            first_time=min(first_time, time),
            last_time=max(known.last_time, time) if known.turns else time,
            unordered=int(known.unordered or (known.turns > 0 and time < known.last_time)),
        )

    def _open_last_block(self, known: IndexedConversation) -> "_Block":
        """The last block of a conversation that continues, with its terms so far."""
        block = _Block()
        if known.newest_row == NONE or known.newest_row >= self._first_new_row:
            return block
        row = known.newest_row
        block.first_row = int(self._columns["block"][row])
        rows = []
        while row != NONE and self._columns["block"][row] == block.first_row:
            rows.append(row)
            row = int(self._columns["before"][row])
        if len(rows) == BLOCK:
            return _Block()
        block.time, block.turns, block.indexed = int(self._columns["time"][rows[-1]]), len(rows), True
        for text in read_indexed_texts(self._feed, known, self._columns, rows[::-1]):
            block.terms += terms(text)
        return block

    def _write_block(self, known: IndexedConversation, block: "_Block") -> None:
        """Index a block, and replace its older version."""
        if not block.grown:
            return
        if block.indexed:
            self._blocks.delete_row(block.first_row)
        self._blocks.add(
            block.terms, row=block.first_row, conversation=known.id, channel=known.channel, role=0, time=block.time
        )
        block.indexed, block.grown = True, False

    def _remove(self, known: IndexedConversation) -> None:
        """Invalidate the rows of a conversation. If the process is killed now, the next run reads it again."""
        self._catalogue.put(known._replace(version="", fingerprint=""))
        self._words.delete_conversation(known.id)
        self._blocks.delete_conversation(known.id)
        rows, row = [], known.newest_row
        while row != NONE:
            rows.append(row)
            row = int(self._columns["before"][row])
        self._columns.overwrite("conversation", rows, [NONE] * len(rows))

    def _label(self, kind: str, label: str) -> int:
        label = visible(label)
        if (kind, label) not in self._labels:
            self._labels[kind, label] = self._catalogue.label(kind, label)
        return self._labels[kind, label]

    def _commit(self) -> None:
        """Make what was added valid: write all other files first, the catalogue last."""
        self._catalogue.require_current()
        self._words.commit()  # first, because vectors need as much memory as these have buffered
        self._blocks.commit()
        if self._texts:
            self._columns.write(self._first_new_row, self._values)
            self._term_sets.write(self._first_new_term, self._new_terms)
            self._columns.overwrite("after", list(self._next_rows), list(self._next_rows.values()))
            if self._turn_vectors and self._turn_vectors.rows == self._first_new_row:
                self._turn_vectors.add(self._texts)
        with self._catalogue.transaction():
            commit = self._catalogue.commits + 1
            for known in self._changed.values():
                self._catalogue.put(known._replace(last_commit=commit))
            self._catalogue.set_fact("rows", self._rows)
            if self._turn_vectors:
                self._turn_vectors.record_rows()
            self._catalogue.set_fact("commits", commit)
        self._first_new_row = self._rows
        self._values = {name: array("q") for name in COLUMNS}
        self._columns.map_rows(self._rows)
        self._new_terms, self._first_new_term = array("I"), self._terms
        self._texts, self._characters, self._next_rows, self._changed = [], 0, {}, {}


def count_terms(columns: Columns, rows: int) -> int:
    """How many entries the term sets of the first rows have together."""
    return int(columns["first_term"][rows - 1] + columns["term_count"][rows - 1]) if rows else 0
