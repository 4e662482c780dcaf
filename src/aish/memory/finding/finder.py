"""The finder: the door to all conversations. Searches, the newest turns, threads and days, in the index and beyond."""

import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path

from aish.memory.finding.backlog import Seen, behind, look
from aish.memory.finding.batch import Progress
from aish.memory.finding.index import Indexer, drop
from aish.memory.finding.matched_words import find_matched_words
from aish.memory.finding.query import Query, read_query
from aish.memory.finding.question import Bounds, bounds
from aish.memory.finding.recent import newest, newness
from aish.memory.finding.search import search
from aish.memory.finding.snapshot import IndexSnapshot, hit_of
from aish.memory.finding.terms import query_terms, terms
from aish.memory.finding.unindexed import Unindexed, UnindexedEntry
from aish.memory.finding.unindexed_turns import UnindexedTurn, UnindexedTurns, read_turns, unknown_journal
from aish.memory.finding.vectors import Embedder
from aish.memory.finding.when import LONGEST, find_times, read_moment
from aish.values.channels import channel_of
from aish.values.errors import StoreTrouble
from aish.values.hits import EVERYWHERE, Hit, Scope, SearchResult, Unit

_FEW = 50  # turns that are searched directly rather than put into the index first
_SAMPLE = 20  # turns of a day that tell what it was about
_TOPIC = 4  # words that do
_TOLD = 3  # troubles that are told in full
_MOMENT = 0.1  # seconds
_PATIENCE = 30.0  # seconds for which another indexer may not get on; a commit takes it a few
_UNUSABLE = (OSError, ValueError, sqlite3.Error)


class ConversationFinder:
    """The finder over a directory of journals and an index of them.

    1. A turn is found from the moment it is in its journal.
    2. An index that is missing, broken or of another version is no trouble: what can be read is searched.
    """

    def __init__(
        self,
        sessions: Path,
        directory: Path,
        embedder: Callable[[], Embedder | None] = lambda: None,
        *,
        now: Callable[[], datetime],
        progress: Callable[[], Progress] | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        self._sessions, self._directory, self._now, self._progress = sessions, directory, now, progress
        self._patience = patience
        self._load_embedder = embedder
        self._embedder: Embedder | None = None
        self._loaded = False
        self._snapshot: IndexSnapshot | None = None
        self._indexing: threading.Thread | None = None
        self._unindexed = Unindexed(sessions)
        self._unindexed_by_hit: dict[Hit, UnindexedTurn] = {}
        self._turns = UnindexedTurns()
        self._meta: dict[str, tuple[Seen, tuple[str, str, str]]] = {}  # channel, source and title of files in no index

    @property
    def embedder(self) -> Embedder | None:
        if not self._loaded:
            self._embedder, self._loaded = self._load_embedder(), True
        return self._embedder

    def moment(self, text: str, *, end: bool = False) -> datetime | None:
        """The moment that words mean, or with `end` the one after what they mean."""
        return read_moment(text, self._clock(), end=end)

    def times(self, text: str) -> list[tuple[datetime | None, datetime | None]]:
        """The parts of the past that a text speaks of."""
        return [(span.first, span.last) for span in find_times(text, self._clock())]

    def _clock(self) -> datetime:
        """Now, on the user's clock; without a zone, because the zone of today need not be that of another day."""
        return self._now().astimezone().replace(tzinfo=None)

    def search(self, query: str, limit: int = 20, scope: Scope = EVERYWHERE) -> SearchResult:
        """The turns that fit a question best. Never an error, whatever is asked."""
        started = time.perf_counter()
        asked = read_query(query, self._clock())
        snapshot = self._look()
        self._keep_up()
        if not asked.words and not asked.phrases:  # only bounds: what is newest within them
            hits = _without(asked.without, self._newest(bounds(asked, scope)))
            found = SearchResult(tuple(hit._replace(why="the newest") for hit in islice(hits, limit)))
        else:
            stale, now = self._unindexed.stale, self._now().timestamp()
            found = search(asked, scope, snapshot, self._turns, stale, self.embedder, limit, now)
        notes = (*asked.trouble, *self.missing())
        sought = (*query_terms(" ".join([asked.words, *asked.phrases])[:LONGEST]), *_respelt(found))
        return found._replace(notes=notes, sought=sought, milliseconds=1000 * (time.perf_counter() - started))

    def marks(self, text: str, sought: Collection[str]) -> list[tuple[int, int]]:
        """Which characters of a text are words that a search sought."""
        return find_matched_words(text, sought)

    def recent(self, limit: int = 20, scope: Scope = EVERYWHERE, by: Unit = "turn") -> list[Hit]:
        """The newest turns, newest first: so many turns, or those of so many exchanges, conversations or days.

        Of a conversation these are its newest `THREAD_TURNS`.
        """
        self._look()
        self._keep_up()
        within = bounds(Query(), scope)
        if by == "day":
            return list(_of_days(self._newest(within), limit))
        return sorted(chain.from_iterable(islice(self._pieces(within, by), limit)), key=newness)

    def thread(self, conversation: str, around: int | None = None, count: int = 5) -> list[Hit]:
        """The turns of a conversation, or those around one of them. Raises `StoreTrouble` if it cannot be read."""
        snapshot = self._look()
        known = snapshot.journals.get(conversation) if snapshot else None
        rows: list[int] = []
        if self._unindexed.left_out(conversation):  # the journal itself has it, whatever the index does not
            fresh: Iterable[Hit] = map(self._hit_of, self._unindexed.whole(conversation))
        else:
            fresh = (self._turns.hit(place) for place in range(self._turns.size))
            if snapshot and known and known.id not in self._unindexed.stale:
                rows = snapshot.rows_of(conversation, around, count)
        hits = [hit for row in rows if snapshot and (hit := snapshot.hit(row))]
        if snapshot and snapshot.unread and not hits:
            raise StoreTrouble(snapshot.troubles())
        new = (hit for hit in fresh if hit.conversation == conversation)
        return hits + [hit for hit in new if around is None or abs(hit.turn - around) <= count]

    def days(self, since: datetime) -> list[tuple[str, int, str]]:
        """Each day that has turns since then, oldest first: how many, and the words that it was about."""
        self._look()
        self._keep_up()
        counts: Counter[str] = Counter()
        words: dict[str, Counter[str]] = {}
        for hit in self._newest(bounds(Query(), Scope(since=since))):
            day = f"{hit.time.astimezone():%Y-%m-%d %a}"
            counts[day] += 1
            if hit.role == "user" and counts[day] <= 2 * _SAMPLE:
                words.setdefault(day, Counter()).update(set(re.findall(r"[^\W\d_]{5,}", hit.text.casefold())))
        common = Counter(word for day in words.values() for word in day)
        return [(day, counts[day], _topic(words.get(day, Counter()), common)) for day in sorted(counts)]

    def catch_up(self, *, wait: bool = False, stop: Callable[[], bool] = lambda: False) -> str:
        """Bring the index up to date unless told to `stop`, and say what stands in the way.

        `wait` shows how far it is, and waits for another process that is at it.
        """
        while self._indexing and self._indexing.is_alive() and not stop():
            self._indexing.join(_MOMENT)  # it is at it already, and has the lock
        self._look()
        if not self._is_behind and not self._unindexed.stale:
            return ""
        try:
            progress = self._progress() if self._progress and wait else None
            trouble = self._index(progress, stop, self._patience if wait else 0)
        except StoreTrouble as error:
            trouble = str(error)
        self._look(anew=True)
        return trouble

    def _index(self, progress: Progress | None, stop: Callable[[], bool], patience: float) -> str:
        """Bring the index up to date, or let another process do so as long as it gets on, and say if it does not."""
        indexer = Indexer(self._sessions, self._directory, self.embedder)
        whole, since = 0, time.monotonic()
        while not indexer.catch_up(progress, stop):
            if stop() or not patience:
                return ""
            if self._open() or not whole:
                left, since = self._left(), time.monotonic()
                whole = max(whole, left, 1)
                if progress:
                    progress(whole - left, whole)
            if time.monotonic() - since > patience:
                return "another aish has the index and does not get on; it was not waited for any longer"
            time.sleep(_MOMENT)
        if progress and whole:
            progress(whole, whole)
        return ""

    def _left(self) -> int:
        """How many bytes are in no index yet. Raises `StoreTrouble`."""
        work = behind(self._sessions, look(self._sessions), self._snapshot.journals if self._snapshot else {})
        return sum(one.seen.size - one.start for one in work if one.seen)

    def missing(self) -> tuple[str, ...]:
        """What was not looked at, or could not be read, when something was looked for last."""
        notes, more = self._unindexed.troubles[:_TOLD], len(self._unindexed.troubles) - _TOLD
        if more > 0:
            notes.append(f"{more} more could not be read")
        if self._snapshot and self._snapshot.unread:
            notes.append(self._snapshot.troubles())
        if self._unindexed.bytes:
            size = self._unindexed.bytes / 1e6
            notes.append(f"the index is behind: {size:.1f} MB were not looked at; aish search brings it up to date")
        return tuple(notes)

    def drop(self) -> None:
        """Delete the index; it is made again when something is looked for. Raises `StoreTrouble`."""
        trouble = None
        for _ in range(3):  # an indexer of another shell may be adding to it right now
            try:
                return drop(self._directory)
            except OSError as error:
                trouble = error
        index = self._directory
        raise StoreTrouble(f"cannot delete {index}, which may hold what was said: {trouble}; delete it yourself")

    def _keep_up(self) -> None:
        """Let the index follow in the background when much is new; a search goes on with what is there."""
        if not self._is_behind or (self._indexing and self._indexing.is_alive()):
            return
        self._indexing = threading.Thread(target=self._index_quietly, daemon=True)
        self._indexing.start()

    @property
    def _is_behind(self) -> bool:
        """Is there more to do for the index than is worth a search?"""
        snapshot = self._snapshot
        return bool(self._unindexed.bytes or self._turns.size > _FEW or (snapshot and snapshot.meant < snapshot.rows))

    def _index_quietly(self) -> None:
        try:
            Indexer(self._sessions, self._directory, self.embedder).catch_up()
        except StoreTrouble:
            pass  # who waits for the index is told; a search works without it

    def _look(self, *, anew: bool = False) -> IndexSnapshot | None:
        """The index as it is now, if there is one, and what it does not have."""
        if self._snapshot:
            self._snapshot.unread.clear()
        changed = self._open()  # what was pending may be in it now
        if self._unindexed.look(self._snapshot.journals if self._snapshot else {}, anew=anew or changed):
            self._read_unindexed(self._snapshot)
        return self._snapshot

    def _open(self) -> bool:
        """Open the index, or see what was added to it; True if it is not what it was."""
        old = self._snapshot
        try:
            if old and old.catalogue.is_current:
                return old.refresh()
            self._snapshot = IndexSnapshot(self._sessions, self._directory, self.embedder)
        except _UNUSABLE:
            self._snapshot = None
        if old:
            old.close()
        return self._snapshot is not old

    def _read_unindexed(self, snapshot: IndexSnapshot | None) -> None:
        """Read what is not in the index, each turn once."""
        unknown: dict[str, int] = {}
        hits: dict[Hit, int] = {}
        for fresh in self._unindexed.turns:
            known = snapshot.journals.get(fresh.journal) if snapshot else None
            journal = known.id if known else unknown_journal(unknown.setdefault(fresh.journal, len(unknown)))
            hits[self._hit_of(fresh)] = journal
        new = read_turns(
            {hit: journal for hit, journal in hits.items() if hit not in self._unindexed_by_hit}, self.embedder
        )
        self._unindexed_by_hit = {
            hit: new.get(hit) or self._unindexed_by_hit[hit]._replace(journal=hits[hit]) for hit in hits
        }
        self._turns = UnindexedTurns(list(self._unindexed_by_hit.values()))

    def _hit_of(self, fresh: UnindexedEntry) -> Hit:
        seen, known = self._unindexed.seen(fresh.journal), self._meta.get(fresh.journal)
        if known is None or known[0] != seen:  # a purge puts another in its place, and it may be edited by hand
            meta = self._unindexed.meta(fresh.journal)
            channel = str(meta.get("channel") or channel_of(str(meta.get("cwd", ""))))
            known = seen, (channel, str(meta.get("source", "")), str(meta.get("title", "")))
            self._meta[fresh.journal] = known
        return hit_of(fresh.journal, fresh.entry, *known[1])

    def _newest(self, within: Bounds) -> Iterator[Hit]:
        """Turns within bounds, newest first: of the index and of what is new."""
        return chain.from_iterable(self._pieces(within, "turn"))

    def _pieces(self, within: Bounds, by: Unit) -> Iterator[list[Hit]]:
        """The same by turns, exchanges or conversations, as far as they can be read."""
        snapshot, new = self._snapshot, self._turns.within(within._replace(roles=frozenset()))
        fresh = sorted((new.hit(place) for place in range(new.size)), key=newness)
        for piece in newest(snapshot, fresh, self._unindexed.stale, within, by):
            hits = [hit for place in piece if (hit := place.hit or (snapshot and snapshot.hit(place.row)))]
            if hits:
                yield hits


def _of_days(hits: Iterator[Hit], limit: int) -> Iterator[Hit]:
    """The turns of the newest so many days on which something was said."""
    days = set[date]()
    for hit in hits:
        days.add(hit.time.astimezone().date())
        if len(days) > limit:
            return
        yield hit


def _without(texts: Sequence[str], hits: Iterator[Hit]) -> Iterator[Hit]:
    """The turns that have none of these words."""
    barred = {term for text in texts for term in query_terms(text)}
    return (hit for hit in hits if barred.isdisjoint(terms(hit.text))) if barred else hits


def _respelt(found: SearchResult) -> Iterator[str]:
    """The words that were taken for others that nobody has used."""
    return (value.rpartition(" ")[2] for name, value in found.asked if name == "spelt")


def _topic(words: Counter[str], common: Counter[str]) -> str:
    """The words that a day has and others have not."""
    best = sorted(words, key=lambda word: (-words[word] / common[word], -words[word], word))
    return ", ".join(best[:_TOPIC])
