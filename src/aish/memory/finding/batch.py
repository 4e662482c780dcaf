"""A batch: one run of an indexer, which adds turns and commits now and then."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from aish.memory.finding.backlog import LONGEST, Seen, Work, behind, look, searchable, tail_of, titled
from aish.memory.finding.catalogue import Catalogue, Known
from aish.memory.finding.columns import COLUMNS, NONE, Columns, numbered
from aish.memory.finding.ranking import BLOCK, traits
from aish.memory.finding.term_sets import Numbers, TermSets, numbers_of
from aish.memory.finding.terms import terms
from aish.memory.finding.turn_vectors import TurnVectors, text_at
from aish.memory.finding.vectors import Embedder
from aish.memory.finding.word_index import WordWriter
from aish.memory.journal import Journal, entries_from
from aish.values.channels import channel_of
from aish.values.errors import StoreTrouble
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry

ROLES = ("user", "assistant", "tool")
_BATCH = 10_000  # turns between two commits
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class _Block:
    """A few turns in a row while they are collected."""

    first: int = NONE
    time: int = 0
    turns: int = 0
    terms: list[str] = field(default_factory=list)
    old: bool = False  # it is in the index already, with fewer turns
    grown: bool = False

    def clear(self) -> None:
        self.first, self.turns, self.terms, self.old, self.grown = NONE, 0, [], False, False


class Batch:
    """One run of an indexer: adds turns, and commits now and then."""

    def __init__(
        self,
        sessions: Path,
        directory: Path,
        catalogue: Catalogue,
        embedder: Embedder | None,
        progress: Progress | None,
        stop: Callable[[], bool],
    ) -> None:
        self._sessions, self._catalogue = sessions, catalogue
        self._directory, self._progress, self._stop = directory, progress, stop
        self._columns = Columns(directory)
        self._meanings = TurnVectors(sessions, directory, catalogue, embedder) if embedder else None
        self._rows = self._start = catalogue.rows
        self._columns.show(self._rows)
        self._term_sets, self._bags_waiting = TermSets(directory), list[Numbers]()
        self._bagged = self._bags_start = bagged(self._columns, self._rows)
        self._values: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self._texts: list[str] = []
        self._after: dict[int, int] = {}  # of rows that are written already
        self._changed: dict[str, Known] = {}
        self._labels: dict[tuple[str, str], int] = {}
        self._troubles: list[str] = []

    def run(self) -> None:
        work = behind(self._sessions, look(self._sessions), self._catalogue.journals())
        if work:
            self._take_all(work)
        if self._meanings:
            self._meanings.fill(self._columns, self._stop, self._progress)
        if self._troubles:
            more = f", nor {len(self._troubles) - 1} others" if len(self._troubles) > 1 else ""
            raise StoreTrouble(f"{self._troubles[0]}{more}; what was said there is not found")

    def _take_all(self, work: list[Work]) -> None:
        total, done = sum(one.seen.size - one.start for one in work if one.seen), 0
        unclean = self._catalogue.fact("busy") == "1"
        self._note_busy(True)
        many = total > 1 << 20 or len(work) > 100
        self._words = WordWriter(self._directory / "words", many=many)
        self._blocks = WordWriter(self._directory / "blocks", many=many)
        if unclean:
            self._words.drop_rows(self._rows)
            self._blocks.drop_rows(self._rows)
        for one in work:
            if self._stop():
                break
            try:
                self._take(one)
            except StoreTrouble as error:
                self._troubles.append(str(error))  # the others are not to suffer for it
            done += one.seen.size - one.start if one.seen else 0
            if self._progress:
                self._progress(done, total)
        self._commit()
        self._words.close()
        self._blocks.close()
        self._note_busy(False)

    def _note_busy(self, busy: bool) -> None:
        with self._catalogue.change():
            self._catalogue.note("busy", int(busy))

    def _take(self, work: Work) -> None:
        known = work.known
        meta = Journal(self._sessions, work.name).meta() if work.seen and not work.start else {}
        if known and not work.start:  # gone, or not what it was
            self._forget(known)
            known = known._replace(turns=0, newest=NONE, size=0, jumps=0)
        if work.seen is None:
            assert known
            self._changed[known.name] = known._replace(size=-1, inode=0)
            return
        path = self._sessions / f"{work.name}.jsonl"
        if known is None or not work.start:
            channel = self._label("channel", str(meta.get("channel") or channel_of(str(meta.get("cwd", "")))))
            source, title = (for_keeping(str(meta.get(key, ""))) for key in ("source", "title"))
            known = (known or Known(0, work.name))._replace(channel=channel, source=source, title=title)
        if not known.id:
            known = known._replace(id=self._catalogue.put(known))
        self._read(path, known, work)

    def _read(self, path: Path, known: Known, work: Work) -> None:
        assert work.seen
        end, block = work.start, self._open_block(path, known)
        try:
            for offset, length, entry in entries_from(path, work.start, work.seen.size):
                end = offset + length
                text = entry and searchable(entry)
                if entry and text:
                    known = self._add(known, offset, length, entry, text, block)
                    if len(self._texts) >= _BATCH:
                        self._reached(path, known, work.seen, end, block)
                        self._commit()
                        if self._stop():
                            break
        finally:  # what was read counts, also where the rest cannot be read
            self._reached(path, known, work.seen, end, block)

    def _reached(self, path: Path, known: Known, seen: Seen, end: int, block: "_Block") -> None:
        """Note how far a journal is in the index."""
        self._close_block(known, block)
        stamp = seen.changed if end >= seen.size else 0  # 0: what it has beyond is looked at again
        self._changed[known.name] = known._replace(size=end, inode=seen.inode, tail=tail_of(path, end), changed=stamp)

    def _add(self, known: Known, offset: int, length: int, entry: JournalEntry, text: str, block: "_Block") -> Known:
        row, time = self._rows, round(entry.time.timestamp() * 1000)
        if block.turns == BLOCK:
            self._close_block(known, block)
            block.clear()
        if not block.turns:
            block.first, block.time = row, time
        role = ROLES.index(entry.turn.role)
        name = entry.meta.get("name")
        speaker = self._label("speaker", name) if isinstance(name, str) and name else 0
        text = titled(text, entry.number, known.title)[:LONGEST]
        found = terms(text)
        term_set = numbers_of(found)
        values = {
            "time": time,
            "offset": offset,
            "length": length,
            "number": numbered(entry.number),
            "journal": known.id,
            "channel": known.channel,
            "speaker": speaker,
            "before": known.newest,
            "after": NONE,
            "block": block.first,
            "bag": self._bagged,
            "bag_size": len(term_set),
            "role": role,
            "traits": traits(text),
        }
        for column, value in values.items():
            self._values[column].append(value)
        if known.newest >= self._start:
            self._values["after"][known.newest - self._start] = row
        elif known.newest >= 0:
            self._after[known.newest] = row
        self._words.add(found, row=row, journal=known.id, channel=known.channel, role=role, time=time)
        self._bags_waiting.append(term_set)
        self._bagged += len(term_set)
        block.terms += found
        block.turns += 1
        block.grown = True
        self._texts.append(text)
        self._rows += 1
        first = known.first if known.turns else time
        return known._replace(
            turns=known.turns + 1,
            newest=row,
            first=min(first, time),
            last=max(known.last, time) if known.turns else time,
            jumps=int(known.jumps or (known.turns > 0 and time < known.last)),
        )

    def _open_block(self, path: Path, known: Known) -> "_Block":
        """The last block of a journal that goes on: its terms so far."""
        block = _Block()
        if known.newest == NONE or known.newest >= self._start:
            return block
        row = known.newest
        block.first = int(self._columns["block"][row])
        rows = []
        while row != NONE and self._columns["block"][row] == block.first:
            rows.append(row)
            row = int(self._columns["before"][row])
        if len(rows) == BLOCK:
            return _Block()
        block.time, block.turns, block.old = int(self._columns["time"][rows[-1]]), len(rows), True
        try:
            with path.open("rb") as file:
                for row in reversed(rows):
                    block.terms += terms(text_at(file, self._columns, row, known.title))
        except OSError as error:
            raise StoreTrouble(f"cannot read {path}: {error.strerror or error}") from error
        return block

    def _close_block(self, known: Known, block: "_Block") -> None:
        """Put a block into the index, in the place of what it was before."""
        if not block.grown:
            return
        if block.old:
            self._blocks.drop_row(block.first)
        self._blocks.add(block.terms, row=block.first, journal=known.id, channel=known.channel, role=0, time=block.time)
        block.old, block.grown = True, False

    def _forget(self, known: Known) -> None:
        """Let the rows of a journal count no more; if we are killed now, it is to be read again."""
        self._catalogue.put(known._replace(inode=0, changed=0))
        self._words.drop_journal(known.id)
        self._blocks.drop_journal(known.id)
        rows, row = [], known.newest
        while row != NONE:
            rows.append(row)
            row = int(self._columns["before"][row])
        self._columns.mend("journal", rows, [NONE] * len(rows))

    def _label(self, kind: str, label: str) -> int:
        label = for_keeping(label)
        if (kind, label) not in self._labels:
            self._labels[kind, label] = self._catalogue.label(kind, label)
        return self._labels[kind, label]

    def _commit(self) -> None:
        """Make what was added count: all else first, the catalogue last."""
        self._catalogue.require()
        if self._texts:
            self._columns.write(self._start, self._values)
            self._term_sets.write(self._bags_start, self._bags_waiting)
            self._columns.mend("after", list(self._after), list(self._after.values()))
            if self._meanings and self._meanings.rows == self._start:
                self._meanings.add(self._texts)
        self._words.commit()
        self._blocks.commit()
        with self._catalogue.change():
            commit = self._catalogue.commits + 1
            for known in self._changed.values():
                self._catalogue.put(known._replace(seen=commit))
            self._catalogue.note("rows", self._rows)
            if self._meanings:
                self._meanings.note()
            self._catalogue.note("commits", commit)
        self._start = self._rows
        self._values = {name: [] for name in COLUMNS}
        self._columns.show(self._rows)
        self._bags_waiting, self._bags_start = [], self._bagged
        self._texts, self._after, self._changed = [], {}, {}


def bagged(columns: Columns, rows: int) -> int:
    """How many numbers the bags of the first rows have together."""
    return int(columns["bag"][rows - 1] + columns["bag_size"][rows - 1]) if rows else 0
