"""Import conversations of other tools: each becomes a journal, and importing again adds nothing.

The first line of an imported journal names the source. Its file name ends in a hash of the conversation's id in the
source, so a later import finds it again. A turn is recognised by its id in the source, or else by its time, speaker and
text. Purged phrases are removed from all imported text.
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
from aish.values.invisible import visible
from aish.values.items import stamp
from aish.values.text import for_keeping
from aish.values.turns import THINKING_META, JournalEntry, ToolCall, Turn

_MOST_TURNS, _MOST_CHARS = 5_000, 8_000_000  # collected before they are written
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # undated imports get the epoch
# Ids without a secret: a UUID, or a few letters. Most turns have one, and a search in each would take long.
_PLAIN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:/[a-z0-9-]{1,11})?|[a-z0-9/-]{1,11}")
_REASONS = 40  # kinds of what could not be read that are reported
_REMEMBERED = 200_000  # existing turns held in memory, so that their journals are not read again


@dataclass(slots=True)
class Imported:
    """The result of an import."""

    turns: int = 0
    known: int = 0  # turns that were imported before
    conversations: set[str] = field(default_factory=set)  # those that got new turns
    masked: Counter[str] = field(default_factory=Counter)
    purged: int = 0  # turns from which purged phrases were removed
    skipped: Counter[str] = field(default_factory=Counter)  # what could not be read, by reason
    where: dict[str, str] = field(default_factory=dict)  # the first place of each reason


class Importer:
    """Writes imported turns into journals, with bounded memory."""

    def __init__(
        self,
        sessions: Path,
        source: str,
        redaction: Redaction,
        purged: Callable[[], Collection[str]] = frozenset,
        *,
        dry_run: bool = False,
    ) -> None:
        self._sessions, self._source, self._redaction, self._dry_run = sessions, source, redaction, dry_run
        self._read_purged = purged  # fingerprints of purged phrases, read again before each write
        self._purged: Purged | None = None
        self._stems: set[str] = set()  # names of the journals that were here before
        self._names: dict[str, str] = {}  # journal names by the hash at their end
        self._pending: dict[tuple[str, str], list[ImportedTurn]] = {}  # by source and conversation
        self._turns = self._chars = 0
        self._existing: dict[str, Counter[bytes]] = {}  # turns by conversation, least recently used first
        self._remembered = 0  # the number of turns in `_existing`
        self.result = Imported()

    def take(
        self, records: Iterable[ImportedRecord], progress: Callable[[Imported], object] = lambda result: None
    ) -> Imported:
        """Import all records of one file, and call `progress` after each write. Raises `StoreTrouble`."""
        # Only one import at a time: two could both find that a turn is missing, and add it twice.
        with nullcontext() if self._dry_run else locked(self._sessions / "import.lock"):
            self._stems = {path.stem for path in self._sessions.glob("*-*.jsonl")}
            self._names = {stem.rpartition("-")[2]: stem for stem in self._stems}
            self._existing, self._remembered = {}, 0  # repeats inside one file are kept, repeats across files are not
            self._collect(records, progress)
            self._write()
        progress(self.result)
        return self.result

    def _collect(self, records: Iterable[ImportedRecord], progress: Callable[[Imported], object]) -> None:
        for one in records:
            if isinstance(one, Skipped):
                known = one.why in self.result.skipped or len(self.result.skipped) < _REASONS
                why = one.why if known else "other oddities"  # a thousand damaged files may have as many
                self.result.skipped[why] += one.times
                self.result.where.setdefault(why, one.where)
                continue
            self._pending.setdefault((one.source or self._source, one.conversation), []).append(one)
            self._turns += 1
            self._chars += len(one.text) + sum(len(call.arguments) for call in one.tool_calls)
            if self._turns >= _MOST_TURNS or self._chars >= _MOST_CHARS:
                self._write()
                progress(self.result)

    def _write(self) -> None:
        fingerprints = self._read_purged()
        self._purged = Purged(fingerprints, self._redaction.salt) if fingerprints else None
        for (source, conversation), said in self._pending.items():
            self._keep(source, conversation, said)
        self._pending, self._turns, self._chars = {}, 0, 0

    def _keep(self, source: str, conversation: str, said: list[ImportedTurn]) -> None:
        key = _name_end(source, conversation)
        times = [one.time for one in said if one.time]
        first = min(times, default=_EPOCH)
        name = self._names.setdefault(key, f"{first.astimezone(UTC):%Y%m%d-%H%M%S}-{key}")
        # Without redaction: everything is masked here, and masking it again would take as long as all the rest.
        journal = Journal(self._sessions, name, self._meta(source, said[0], first))
        fresh = self._not_in_main(source, said)
        existing = self._turns_of(journal, conversation if source == self._source else "")
        before = len(existing)
        new = list(self._new(fresh, existing, first))
        self._remembered += len(existing) - before
        self.result.known += len(said) - len(new)
        if not new:
            return
        if not self._dry_run:
            journal.extend(new)
        self.result.turns += len(new)
        self.result.conversations.add(name)

    def _not_in_main(self, source: str, said: list[ImportedTurn]) -> list[ImportedTurn]:
        """Return the turns of other branches that the main conversation does not have.

        It has them if they were in the visible branch at an earlier import, or if an older version of aish put them
        there.
        """
        name = self._names.get(_name_end(source, said[0].branch_of)) if said[0].branch_of else None
        if name is None:
            return said
        main = self._turns_of(Journal(self._sessions, name), "")
        return [one for one in said if not one.ref or main[_key(self._label(one.ref), None, one.role, "")] <= 0]

    def _meta(self, source: str, said: ImportedTurn, first: datetime) -> dict[str, Any]:
        meta = {"started": first.isoformat(timespec="seconds"), "source": source, "trust": "import"}
        meta |= {"conversation": said.conversation, "channel": said.channel, "title": said.title}
        return {key: self._clean(visible(self._redaction.text(value))) for key, value in meta.items() if value}

    def _new(
        self, said: list[ImportedTurn], existing: Counter[bytes], time: datetime
    ) -> Iterator[tuple[Turn, datetime, dict[str, Any]]]:
        """Yield the turns that are not in the journal yet, as the journal stores them."""
        for one in said:
            time = one.time or time  # an undated turn gets the time of the turn before it
            given = for_keeping(one.text)
            masked = self._redaction.mask(given)
            self.result.masked.update(masked.kinds)
            name, ref = self._label(one.name), self._label(one.ref)
            text = self._clean(masked.text)
            forms = dict.fromkeys([masked.text, text])  # the journal may have either form
            keys = [
                _key(ref, time if one.time else None, one.role, form) for form in (given, *forms)
            ]  # given: `:unmask`
            if known := next((key for key in keys if existing[key] > 0), None):
                existing[known] -= not ref  # the same text may occur again, but an id names one turn
                continue
            existing[keys[-1]] += bool(ref)
            self.result.purged += len(forms) > 1
            meta: dict[str, Any] = {field: value for field, value in (("name", name), ("ref", ref)) if value}
            if one.time is None:
                meta["undated"] = True
            if one.thinking:
                meta[THINKING_META] = self._masked(one.thinking)
            calls = tuple(ToolCall(*map(self._masked, call)) for call in one.tool_calls)
            yield Turn(one.role, text, calls, self._masked(one.call_id), one.state), time, meta

    def _label(self, label: str) -> str:
        """Return a name or an id that is safe to store. An id made from the text is hashed, so it confirms no guess."""
        if label.startswith(MADE_REF):
            return digest(label, self._redaction.salt)
        if _PLAIN_ID.fullmatch(label):
            return self._clean(label)
        return self._clean(self._redaction.text(label)) if label else ""

    def _masked(self, text: str) -> str:
        """Return a part of a tool call that is safe to store, and count its secrets."""
        masked = self._redaction.mask(text)
        self.result.masked.update(masked.kinds)
        return self._clean(masked.text)

    def _clean(self, text: str) -> str:
        return self._purged.clean(text) if self._purged else text

    def _turns_of(self, journal: Journal, exported: str) -> Counter[bytes]:
        """Count each turn of a journal that this import has not matched yet.

        Turns of our own conversation `exported`, if it is still here, count as imported: an export of it adds nothing.
        """
        existing = self._existing.pop(journal.id, None)
        if existing is None:
            while self._existing and self._remembered > _REMEMBERED:
                self._remembered -= len(self._existing.pop(next(iter(self._existing))))
            existing = Counter(map(_key_of, journal.entries()))
            if exported in self._stems:
                existing.update(map(_key_of, Journal(self._sessions, exported).entries()))
            self._remembered += len(existing)
        self._existing[journal.id] = existing
        return existing


def _name_end(source: str, conversation: str) -> str:
    """Return the end of the name of a journal, by which a later import finds it again."""
    return hashlib.sha256(f"{source}\0{conversation}".encode("utf-8", "replace")).hexdigest()[:12]


def _key_of(entry: JournalEntry) -> bytes:
    ref = entry.meta.get("ref")
    time = None if entry.meta.get("undated") else entry.time
    return _key(ref if isinstance(ref, str) else "", time, entry.turn.role, entry.turn.content)


def _key(ref: str, time: datetime | None, role: str, text: str) -> bytes:
    if GONE in text:  # hashes of purged phrases ignore final punctuation, so ignore it here too
        text = re.sub(rf"(?<={re.escape(GONE)})[{PUNCTUATION}]+", "", text)
    if "[masked " in text:  # the name of a secret may have been another one in an earlier version
        text = re.sub(r"\[masked [^\]\n]{1,60} #([0-9a-f]{8})\]", r"[masked #\1]", text)
    whole = f"ref\0{ref}" if ref else f"{stamp(time) if time else ''}\0{role}\0{text}"
    return hashlib.blake2b(whole.encode("utf-8", "replace"), digest_size=8).digest()
