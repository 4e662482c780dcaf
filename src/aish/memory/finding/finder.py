"""The finder: searches all conversations, and lists recent turns, threads and days. It uses the index and the feed."""

import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path

from aish.memory.finding.bounds import Bounds, combine_bounds
from aish.memory.finding.conversation_changes import find_changes
from aish.memory.finding.exclusions import exclusions
from aish.memory.finding.feed import ConversationMeta, Feed, Revision
from aish.memory.finding.index import Indexer, delete_index
from aish.memory.finding.index_writer import Progress
from aish.memory.finding.matched_words import find_matched_words
from aish.memory.finding.query import Query, read_query
from aish.memory.finding.recent import newest_first_key, newest_pieces
from aish.memory.finding.search import search
from aish.memory.finding.snapshot import IndexSnapshot, hit_of
from aish.memory.finding.terms import query_terms
from aish.memory.finding.unindexed import UnindexedEntry, UnindexedReader
from aish.memory.finding.unindexed_turns import UnindexedTurn, UnindexedTurns, prepare_turns, unindexed_conversation
from aish.memory.finding.vectors import Embedder
from aish.memory.finding.when import MAX_CHARACTERS, find_times, read_moment
from aish.values.errors import StoreTrouble
from aish.values.hits import EVERYWHERE, Hit, Scope, SearchResult, Unit

_MAX_UNINDEXED = 50  # turns that are searched directly; more of them start the indexer
_SAMPLE = 20  # turns of a day from which its topic is taken
_TOPIC_WORDS = 4
_MAX_ERRORS = 3  # that are shown in full
_POLL_INTERVAL = 0.1  # seconds
_PATIENCE = 30.0  # seconds without progress of another indexer; one of its commits takes a few seconds
_UNUSABLE = (OSError, ValueError, sqlite3.Error)


class ConversationFinder:
    """The finder over a feed of conversations and an index of them.

    1. A turn is found from the moment it is stored.
    2. An index that is missing, damaged or of another version is not an error: what can be read is searched.
    """

    def __init__(
        self,
        feed: Feed,
        directory: Path,
        embedder: Callable[[], Embedder | None] = lambda: None,
        *,
        now: Callable[[], datetime],
        progress: Callable[[], Progress] | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        self._feed, self._directory, self._now, self._progress = feed, directory, now, progress
        self._patience = patience
        self._load_embedder = embedder
        self._embedder: Embedder | None = None
        self._embedder_loaded = False
        self._snapshot: IndexSnapshot | None = None
        self._indexing: threading.Thread | None = None
        self._unindexed = UnindexedReader(feed)
        self._unindexed_by_hit: dict[Hit, UnindexedTurn] = {}
        self._unindexed_turns = UnindexedTurns()
        self._meta: dict[str, tuple[Revision, ConversationMeta]] = {}  # of conversations with unindexed turns

    @property
    def embedder(self) -> Embedder | None:
        if not self._embedder_loaded:
            self._embedder, self._embedder_loaded = self._load_embedder(), True
        return self._embedder

    def moment(self, text: str, *, end: bool = False) -> datetime | None:
        """The moment that a text names; with `end`, the end of the period that it names."""
        return read_moment(text, self._local_now(), end=end)

    def times(self, text: str) -> list[tuple[datetime | None, datetime | None]]:
        """The periods in the past that a text names."""
        return [(span.first, span.last) for span in find_times(text, self._local_now())]

    def _local_now(self) -> datetime:
        """The local time without a time zone, because another day may have another UTC offset."""
        return self._now().astimezone().replace(tzinfo=None)

    def search(self, query: str, limit: int = 20, scope: Scope = EVERYWHERE) -> SearchResult:
        """The turns that match a query best. Never raises an error, whatever the query is."""
        started = time.perf_counter()
        asked = read_query(query, self._local_now())
        snapshot = self._update()
        self._start_indexing()
        if not asked.words and not asked.phrases:  # only limits: the newest turns within them
            hits = _without(asked.without, self._newest(combine_bounds(asked, scope)))
            found = SearchResult(tuple(hit._replace(why="the newest") for hit in islice(hits, limit)))
        else:
            invalidated, now = self._unindexed.invalidated, self._now().timestamp()
            found = search(asked, scope, snapshot, self._unindexed_turns, invalidated, self.embedder, limit, now)
        notes = (*asked.trouble, *self.missing())
        sought = (*query_terms(" ".join([asked.words, *asked.phrases])[:MAX_CHARACTERS]), *_corrected_words(found))
        return found._replace(notes=notes, sought=sought, milliseconds=1000 * (time.perf_counter() - started))

    def marks(self, text: str, sought: Collection[str]) -> list[tuple[int, int]]:
        """Which characters of a text are words that a search looked for."""
        return find_matched_words(text, sought)

    def recent(self, limit: int = 20, scope: Scope = EVERYWHERE, by: Unit = "turn") -> list[Hit]:
        """The newest turns, newest first: `limit` turns, or the turns of `limit` exchanges, conversations or days.

        Of each conversation, its newest `THREAD_TURNS` are returned.
        """
        self._update()
        self._start_indexing()
        within = combine_bounds(Query(), scope)
        if by == "day":
            return list(_of_days(self._newest(within), limit))
        return sorted(chain.from_iterable(islice(self._pieces(within, by), limit)), key=newest_first_key)

    def thread(self, conversation: str, around: int | None = None, count: int = 5) -> list[Hit]:
        """The turns of a conversation, or those around one turn. Raises `StoreTrouble` if it cannot be read."""
        snapshot = self._update()
        known = snapshot.conversations.get(conversation) if snapshot else None
        rows: list[int] = []
        if self._unindexed.has_skipped(conversation):  # neither the index nor the unindexed turns are complete
            unindexed: Iterable[Hit] = map(self._hit_of, self._unindexed.all_turns(conversation))
        else:
            unindexed = (self._unindexed_turns.hit(place) for place in range(self._unindexed_turns.size))
            if snapshot and known and known.id not in self._unindexed.invalidated:
                rows = snapshot.rows_of(conversation, around, count)
        hits = [hit for row in rows if snapshot and (hit := snapshot.hit(row))]
        if snapshot and snapshot.unreadable and not hits:
            raise StoreTrouble(snapshot.error())
        new = (hit for hit in unindexed if hit.conversation == conversation)
        return hits + [hit for hit in new if around is None or abs(hit.turn - around) <= count]

    def days(self, since: datetime) -> list[tuple[str, int, str]]:
        """Each day since then that has turns, oldest first: the number of turns, and words for its topic."""
        self._update()
        self._start_indexing()
        counts: Counter[str] = Counter()
        words: dict[str, Counter[str]] = {}
        for hit in self._newest(combine_bounds(Query(), Scope(since=since))):
            day = f"{hit.time.astimezone():%Y-%m-%d %a}"
            counts[day] += 1
            if hit.role == "user" and counts[day] <= 2 * _SAMPLE:
                words.setdefault(day, Counter()).update(set(re.findall(r"[^\W\d_]{5,}", hit.text.casefold())))
        common = Counter(word for day in words.values() for word in day)
        return [(day, counts[day], _topic(words.get(day, Counter()), common)) for day in sorted(counts)]

    def catch_up(self, *, wait: bool = False, stop: Callable[[], bool] = lambda: False) -> str:
        """Bring the index up to date, unless told to `stop`, and return what went wrong.

        With `wait`, show the progress, and wait for another process that is indexing.
        """
        while self._indexing and self._indexing.is_alive() and not stop():
            self._indexing.join(_POLL_INTERVAL)  # our own background thread holds the lock
        self._update()
        if not self._needs_indexing and not self._unindexed.invalidated:
            return ""
        try:
            progress = self._progress() if self._progress and wait else None
            error_text = self._index(progress, stop, self._patience if wait else 0)
        except StoreTrouble as error:
            error_text = str(error)
        self._update(full=True)
        return error_text

    def _index(self, progress: Progress | None, stop: Callable[[], bool], patience: float) -> str:
        """Bring the index up to date, or wait while another process does so; return an error if that one stalls."""
        indexer = Indexer(self._feed, self._directory, self.embedder)
        total, since = 0, time.monotonic()
        while not indexer.catch_up(progress, stop):
            if stop() or not patience:
                return ""
            if self._open_snapshot() or not total:
                left, since = self._unindexed_bytes(), time.monotonic()
                total = max(total, left, 1)
                if progress:
                    progress(total - left, total)
            if time.monotonic() - since > patience:
                return "another aish process is indexing and makes no progress; stopped waiting for it"
            time.sleep(_POLL_INTERVAL)
        if progress and total:
            progress(total, total)
        return ""

    def _unindexed_bytes(self) -> int:
        """How many bytes are not in the index yet. Raises `StoreTrouble`."""
        indexed = self._snapshot.conversations if self._snapshot else {}
        return sum(change.unread for change in find_changes(self._feed, self._feed.revisions(), indexed))

    def missing(self) -> tuple[str, ...]:
        """What the last search skipped or could not read, as messages for the user."""
        errors = self._unindexed.errors
        notes = errors[:_MAX_ERRORS]
        if len(errors) > _MAX_ERRORS:
            notes.append(f"{len(errors) - _MAX_ERRORS} more could not be read")
        if self._snapshot and self._snapshot.unreadable:
            notes.append(self._snapshot.error())
        if self._unindexed.skipped_bytes:
            size = self._unindexed.skipped_bytes / 1e6
            notes.append(f"{size:.1f} MB are not indexed yet and were not searched; aish search indexes them")
        return tuple(notes)

    def drop(self) -> None:
        """Delete the index; the next search rebuilds it. Raises `StoreTrouble`."""
        failure = None
        for _ in range(3):  # an indexer of another process may be adding files right now
            try:
                return delete_index(self._directory)
            except OSError as error:
                failure = error
        index = self._directory
        raise StoreTrouble(f"cannot delete {index}, which may contain purged text: {failure}; delete it yourself")

    def _start_indexing(self) -> None:
        """Start the indexer in the background if many turns are unindexed; a search does not wait for it."""
        if not self._needs_indexing or (self._indexing and self._indexing.is_alive()):
            return
        self._indexing = threading.Thread(target=self._index_in_background, daemon=True)
        self._indexing.start()

    @property
    def _needs_indexing(self) -> bool:
        """Is there more to index than a search can read by itself?"""
        snapshot, too_many = self._snapshot, self._unindexed_turns.size > _MAX_UNINDEXED
        lacks_vectors = snapshot is not None and snapshot.vector_rows < snapshot.rows
        return self._unindexed.skipped_bytes > 0 or too_many or lacks_vectors

    def _index_in_background(self) -> None:
        try:
            Indexer(self._feed, self._directory, self.embedder).catch_up()
        except StoreTrouble:
            pass  # a search works without the index, and `catch_up` reports the error

    def _update(self, *, full: bool = False) -> IndexSnapshot | None:
        """Refresh the snapshot of the index, if there is an index, and the unindexed turns."""
        if self._snapshot:
            self._snapshot.unreadable.clear()
        changed = self._open_snapshot()  # unindexed turns may be indexed now
        if self._unindexed.update(self._snapshot.conversations if self._snapshot else {}, full=full or changed):
            self._prepare_unindexed(self._snapshot)
        return self._snapshot

    def _open_snapshot(self) -> bool:
        """Open or refresh the snapshot of the index; True if it changed."""
        old = self._snapshot
        try:
            if old and old.catalogue.is_current:
                return old.refresh()
            self._snapshot = IndexSnapshot(self._feed, self._directory, self.embedder)
        except _UNUSABLE:
            self._snapshot = None
        if old:
            old.close()
        return self._snapshot is not old

    def _prepare_unindexed(self, snapshot: IndexSnapshot | None) -> None:
        """Prepare the unindexed turns for searches, each of them once."""
        unknown: dict[str, int] = {}
        hits: dict[Hit, int] = {}
        for turn in self._unindexed.turns:
            name = turn.conversation
            known = snapshot.conversations.get(name) if snapshot else None
            hits[self._hit_of(turn)] = (
                known.id if known else unindexed_conversation(unknown.setdefault(name, len(unknown)))
            )
        old = self._unindexed_by_hit
        new = prepare_turns({hit: number for hit, number in hits.items() if hit not in old}, self.embedder)
        self._unindexed_by_hit = {hit: new.get(hit) or old[hit]._replace(conversation=hits[hit]) for hit in hits}
        self._unindexed_turns = UnindexedTurns(list(self._unindexed_by_hit.values()))

    def _hit_of(self, turn: UnindexedEntry) -> Hit:
        name = turn.conversation
        revision, known = self._unindexed.revision(name), self._meta.get(name)
        if known is None or known[0] != revision:  # a purge or an editor may have changed the title
            known = self._meta[name] = revision, self._feed.meta(name)
        return hit_of(name, turn.entry, known[1])

    def _newest(self, within: Bounds) -> Iterator[Hit]:
        """Turns within bounds, newest first."""
        return chain.from_iterable(self._pieces(within, "turn"))

    def _pieces(self, within: Bounds, by: Unit) -> Iterator[list[Hit]]:
        """The newest turns, exchanges or conversations, as far as they can be read."""
        snapshot, new = self._snapshot, self._unindexed_turns.within(within._replace(roles=frozenset()))
        unindexed = sorted((new.hit(place) for place in range(new.size)), key=newest_first_key)
        for piece in newest_pieces(snapshot, unindexed, self._unindexed.invalidated, within, by):
            hits = [hit for place in piece if (hit := place.hit or (snapshot and snapshot.hit(place.row)))]
            if hits:
                yield hits


def _of_days(hits: Iterator[Hit], limit: int) -> Iterator[Hit]:
    """The turns of the newest `limit` days that have any."""
    days = set[date]()
    for hit in hits:
        days.add(hit.time.astimezone().date())
        if len(days) > limit:
            return
        yield hit


def _without(texts: Sequence[str], hits: Iterator[Hit]) -> Iterator[Hit]:
    """The turns that have none of these words and phrases."""
    left_out = exclusions(texts)
    return (hit for hit in hits if left_out.allow(hit.text)) if texts else hits


def _corrected_words(found: SearchResult) -> Iterator[str]:
    """The words that replaced misspelt ones."""
    return (value.rpartition(" ")[2] for name, value in found.asked if name == "spelt")


def _topic(words: Counter[str], common: Counter[str]) -> str:
    """The words that are typical of a day."""
    best = sorted(words, key=lambda word: (-words[word] / common[word], -words[word], word))
    return ", ".join(best[:_TOPIC_WORDS])
