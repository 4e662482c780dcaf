"""What the index does not have yet: read from the journals themselves, so that a turn is found once it is written."""

import os
import time
from collections.abc import Iterator, Set
from heapq import nlargest
from pathlib import Path
from typing import NamedTuple

from aish.memory.finding.backlog import Seen, Work, behind, journal_of, look, searchable, seen
from aish.memory.finding.catalogue import Known
from aish.memory.journal import Journal, entries_from
from aish.values.errors import StoreTrouble
from aish.values.turns import JournalEntry

MOST = 1_000  # turns; more of them are a matter for the index
_LONGEST = 1 << 22  # bytes of one conversation, of which the newest are read
_FRESH = 0.25  # seconds for which conversations that were long silent are believed to be so still, or more:
_REST = 40  # times what it takes to look at all of them, so that many are not looked at all the time
_LATE = 32  # conversations that changed last, which are looked at each time, and so is the list of all
_TICK = 50_000_000  # nanoseconds within which two changes may have the same time


class UnindexedEntry(NamedTuple):
    """A turn that is not in the index."""

    journal: str
    entry: JournalEntry
    text: str


class Unindexed:
    """The newest turns that are in no index, and which conversations the index should not be asked about."""

    def __init__(self, sessions: Path) -> None:
        self._sessions = sessions
        self._looked = float("-inf")
        self._rest = _FRESH
        self._names: Set[str] = frozenset()
        self._directory: Seen | None = None
        self._late: dict[str, Seen] = {}
        self._behind: dict[str, Work] = {}
        self._read: dict[str, tuple[Work, list[UnindexedEntry], int]] = {}  # and how many bytes were not
        self.turns: list[UnindexedEntry] = []
        self.stale: frozenset[int] = frozenset()  # the ids of journals that are gone, or not what they were
        self.bytes = 0  # that were not read, because they were too many
        self.troubles: list[str] = []  # why something could not be read

    def look(self, journals: dict[str, Known], *, anew: bool = False) -> bool:
        """See what is pending, unless nothing has changed; True if it was looked at."""
        whole = anew or time.monotonic() - self._looked >= self._rest or self._are_others()
        some = {} if whole else self._changed()
        if not whole and not some:
            return False
        self.turns, self.bytes, self.troubles, self.stale, read = [], 0, [], frozenset(), {}
        try:
            if whole:
                self._behind = {one.name: one for one in behind(self._sessions, self._watch(), journals)}
        except StoreTrouble as error:
            self.troubles.append(str(error))
            self._looked = float("-inf")
            return True
        for name in some:
            self._behind.pop(name, None)
        known = {name: journals[name] for name in some if name in journals}
        self._behind |= {one.name: one for one in behind(self._sessions, some, known)}
        work = sorted(self._behind.values(), key=lambda one: one.name, reverse=True)
        self.stale = frozenset(one.known.id for one in work if one.known and not one.start)
        for one in work:
            if one.seen is None:
                continue
            if len(self.turns) >= MOST:
                self.bytes += one.seen.size - one.start
                continue
            found = self._read.get(one.name)
            try:
                turns, left = found[1:] if found and found[0] == one else self._turns(one)
            except StoreTrouble as error:
                self.troubles.append(str(error))
                continue
            read[one.name] = one, turns, left
            self.turns += turns
            self.bytes += left
        self._read = read
        return True

    def _watch(self) -> dict[str, Seen]:
        """Every journal there is; those that changed last are watched from now on."""
        self._looked = time.monotonic()
        self._directory = self._settled()
        files = look(self._sessions)
        self._names = files.keys()
        late = nlargest(_LATE, files, key=lambda name: files[name].changed)
        self._late = {name: files[name] for name in late}
        self._rest = max(_FRESH, _REST * (time.monotonic() - self._looked))
        return files

    def _settled(self) -> Seen | None:
        directory = _seen(self._sessions)
        young = directory and time.time_ns() - directory.changed < _TICK  # a new one might not be seen by the time
        return None if young else directory

    def _are_others(self) -> bool:
        """Is there another conversation, or one fewer?"""
        if self._directory and _seen(self._sessions) == self._directory:
            return False
        self._directory = self._settled()
        return _names(self._sessions) != self._names  # and not only an answer that is being given, which comes and goes

    def _changed(self) -> dict[str, Seen]:
        """Those of the late conversations that are not what they were."""
        found = {name: _seen(f"{self._sessions}/{name}.jsonl") for name in self._late}
        changed = {name: now for name, now in found.items() if now and now != self._late[name]}
        self._late |= changed
        return changed

    def _turns(self, work: Work) -> tuple[list[UnindexedEntry], int]:
        """The newest turns of a conversation, and how many bytes of others were not read. Raises `StoreTrouble`."""
        assert work.seen
        path, found = self._sessions / f"{work.name}.jsonl", []
        start = max(work.start, work.seen.size - _LONGEST)
        if start > work.start:
            start = _next_line(path, start)
        for offset, _, entry in entries_from(path, start, work.seen.size):
            if entry and (text := searchable(entry)):
                found.append((offset, UnindexedEntry(work.name, entry, text)))
        if len(found) > MOST:
            start = found[-MOST][0]
        return [fresh for _, fresh in found[-MOST:]], start - work.start

    def left_out(self, journal: str) -> bool:
        """Has this conversation turns that are neither in the index nor among those that were read?"""
        work, read = self._behind.get(journal), self._read.get(journal)
        return work is not None and work.seen is not None and (read is None or read[2] > 0)

    def whole(self, journal: str) -> Iterator[UnindexedEntry]:
        """Every turn of a conversation that is behind, in its order. Raises `StoreTrouble`."""
        work = self._behind[journal]
        assert work.seen
        for _, _, entry in entries_from(self._sessions / f"{journal}.jsonl", 0, work.seen.size):
            if entry and (text := searchable(entry)):
                yield UnindexedEntry(journal, entry, text)

    def seen(self, journal: str) -> Seen:
        """The file of a conversation that is behind, as it was when it was looked at."""
        work = self._behind[journal]
        assert work.seen
        return work.seen

    def meta(self, journal: str) -> dict[str, object]:
        return Journal(self._sessions, journal).meta()


def _seen(path: Path | str) -> Seen | None:  # text, because making a path takes longer than the look
    try:
        return seen(path)
    except OSError:
        return None


def _names(sessions: Path) -> frozenset[str]:
    try:
        return frozenset(filter(None, map(journal_of, os.listdir(sessions))))  # noqa: PTH208  # thousands
    except OSError:
        return frozenset()


def _next_line(path: Path, start: int) -> int:
    """Where the first line begins after an offset. Raises `StoreTrouble`."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            return start + len(file.readline())
    except OSError as error:
        raise StoreTrouble(f"cannot read {path}: {error.strerror or error}") from error
