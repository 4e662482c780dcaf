"""Taking in what other tools have kept: each conversation becomes a journal like any other, and twice is once.

A journal of an import has the source in its first line. Its name ends in a hash of the source's own id, by which it
is found again; a turn is known by the source's id of it, or else by its time, speaker and words. What was purged is
taken out of everything that comes in, as it was taken out of the journals.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aish.memory.fingerprint import digest
from aish.memory.journal import Journal
from aish.memory.ledger_lines import PUNCTUATION
from aish.memory.purge import GONE
from aish.memory.purged_phrases import Purged
from aish.memory.redaction import Redaction
from aish.storage.files import locked
from aish.values.imported import MADE_REF, ImportedRecord, ImportedTurn, Skipped
from aish.values.items import stamp
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry, Turn

_MOST_TURNS, _MOST_CHARS = 5_000, 8_000_000  # that wait before they are written
_DAWN = datetime(1970, 1, 1, tzinfo=UTC)
_REMEMBERED = 200_000  # turns of conversations that are not read again while they come in


@dataclass(slots=True)
class Imported:
    """What an import came to."""

    turns: int = 0
    known: int = 0  # turns that were here already
    conversations: set[str] = field(default_factory=set)  # those that got turns
    masked: Counter[str] = field(default_factory=Counter)
    purged: int = 0  # turns that came in without something that was purged
    skipped: Counter[str] = field(default_factory=Counter)  # what could not be read, by reason
    where: dict[str, str] = field(default_factory=dict)  # the first place of each


class Importer:
    """Writes what it hears into journals. Memory is bounded, whatever comes."""

    def __init__(
        self,
        sessions: Path,
        source: str,
        redaction: Redaction,
        seals: Callable[[], Collection[str]] = frozenset,
        *,
        dry_run: bool = False,
    ) -> None:
        self._sessions, self._source, self._redaction, self._dry_run = sessions, source, redaction, dry_run
        self._seals = seals  # of what was purged, also while we are at work
        self._purged: Purged | None = None
        self._names: dict[str, str] = {}  # of journals, by the hash they end in
        self._pending_item: dict[str, list[ImportedTurn]] = {}
        self._turns = self._chars = 0
        self._there: dict[str, Counter[bytes]] = {}  # the turns of conversations that are coming in, the last ones last
        self._remembered = 0  # how many they are
        self.result = Imported()

    def take(
        self, heard: Iterable[ImportedRecord], told: Callable[[Imported], object] = lambda result: None
    ) -> Imported:
        """Take in all of one file; `told` learns how far it is after each write. Raises `StoreTrouble`."""
        # Other imports wait: two at once would both see that a turn is not there yet.
        with nullcontext() if self._dry_run else locked(self._sessions / "import.lock"):
            self._names = {path.stem.rpartition("-")[2]: path.stem for path in self._sessions.glob("*-*.jsonl")}
            self._there, self._remembered = {}, 0  # what one file has twice is said twice; what two files have is one
            self._hear(heard, told)
            self._write()
        told(self.result)
        return self.result

    def _hear(self, heard: Iterable[ImportedRecord], told: Callable[[Imported], object]) -> None:
        for one in heard:
            if isinstance(one, Skipped):
                self.result.skipped[one.why] += one.times
                self.result.where.setdefault(one.why, one.where)
                continue
            self._pending_item.setdefault(one.conversation, []).append(one)
            self._turns += 1
            self._chars += len(one.text)
            if self._turns >= _MOST_TURNS or self._chars >= _MOST_CHARS:
                self._write()
                told(self.result)

    def _write(self) -> None:
        seals = self._seals()
        self._purged = Purged(seals, self._redaction.salt) if seals else None
        for conversation, said in self._pending_item.items():
            self._keep(conversation, said)
        self._pending_item, self._turns, self._chars = {}, 0, 0

    def _keep(self, conversation: str, said: list[ImportedTurn]) -> None:
        key = hashlib.sha256(f"{self._source}\0{conversation}".encode("utf-8", "replace")).hexdigest()[:12]
        times = [one.time for one in said if one.time]
        first = min(times, default=_DAWN)
        name = self._names.setdefault(key, f"{first.astimezone(UTC):%Y%m%d-%H%M%S}-{key}")
        journal = Journal(self._sessions, name, self._meta(said[0], first), self._redaction)
        there = self._turns_of(journal)
        before = len(there)
        new = list(self._new(said, there, first))
        self._remembered += len(there) - before
        self.result.known += len(said) - len(new)
        if not new:
            return
        if not self._dry_run:
            journal.extend(new)
        self.result.turns += len(new)
        self.result.conversations.add(name)

    def _meta(self, said: ImportedTurn, first: datetime) -> dict[str, Any]:
        meta = {"started": first.isoformat(timespec="seconds"), "source": self._source, "trust": "import"}
        meta |= {"conversation": said.conversation, "channel": said.channel, "title": said.title}
        return {key: self._clean(self._redaction.text(for_keeping(value))) for key, value in meta.items() if value}

    def _new(
        self, said: list[ImportedTurn], there: Counter[bytes], time: datetime
    ) -> Iterator[tuple[Turn, datetime, dict[str, Any]]]:
        """Those of the turns that are not there yet, as a journal takes them."""
        for one in said:
            time = one.time or time  # who does not tell speaks right after the one before
            masked = self._redaction.mask(for_keeping(one.text))
            self.result.masked.update(masked.kinds)
            name, ref = self._label(one.name), self._label(one.ref)
            text = self._clean(masked.text)
            forms = dict.fromkeys([masked.text, text])  # a purge may have left what its seal would not
            keys = [_key(ref, time if one.time else None, one.role, form) for form in forms]
            if known := next((key for key in keys if there[key] > 0), None):
                there[known] -= not ref  # the same words may be said again, but an id is one turn
                continue
            there[keys[-1]] += bool(ref)
            self.result.purged += len(forms) > 1
            meta: dict[str, Any] = {field: value for field, value in (("name", name), ("ref", ref)) if value}
            if one.time is None:
                meta["undated"] = True
            yield Turn(role=one.role, content=text), time, meta

    def _label(self, label: str) -> str:
        """A name or an id as it may be kept. One that was made of the words would tell who guesses them right."""
        if label.startswith(MADE_REF):
            return digest(label, self._redaction.salt)
        return self._clean(self._redaction.text(label)) if label else ""

    def _clean(self, text: str) -> str:
        return self._purged.clean(text) if self._purged else text

    def _turns_of(self, journal: Journal) -> Counter[bytes]:
        """How often each turn is in a journal, and was not heard yet in this import."""
        there = self._there.pop(journal.id, None)
        if there is None:
            while self._there and self._remembered > _REMEMBERED:
                self._remembered -= len(self._there.pop(next(iter(self._there))))
            there = Counter(map(_key_of, journal.entries()))
            self._remembered += len(there)
        self._there[journal.id] = there
        return there


def _key_of(entry: JournalEntry) -> bytes:
    ref = entry.meta.get("ref")
    time = None if entry.meta.get("undated") else entry.time
    return _key(ref if isinstance(ref, str) else "", time, entry.turn.role, entry.turn.content)


def _key(ref: str, time: datetime | None, role: str, text: str) -> bytes:
    if GONE in text:  # a seal is of words without their last full stop, so it may be there once and once not
        text = re.sub(rf"(?<={re.escape(GONE)})[{PUNCTUATION}]+", "", text)
    whole = f"ref\0{ref}" if ref else f"{stamp(time) if time else ''}\0{role}\0{text}"
    return hashlib.blake2b(whole.encode("utf-8", "replace"), digest_size=8).digest()
