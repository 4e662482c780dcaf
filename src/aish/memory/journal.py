"""The journal: one file for each conversation, and the only complete record of it.

sessions/20261115-190946-3f2a.jsonl   {"meta": …} first, then one line for each turn
sessions/20261115-190946-3f2a.live    the answer that is being streamed; exists only meanwhile, or after a crash
sessions/names.jsonl                  names given with :save
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from aish.memory.live_file import LiveFile
from aish.memory.redaction import MaskedPart, Redaction
from aish.memory.stream_redaction import StreamRedaction
from aish.storage.lines import LineFile, decode, open_log
from aish.values.items import read_time, stamp
from aish.values.stores import START, Cleaner, Cursor, Damage, Health, LiveAnswer, Record, RecordLog
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry, State, ToolCall, Turn

FORMAT = 1
_NAMES = "names.jsonl"
PROVENANCE = "made_of"  # in the meta of an answer: the least trusted origin of its prompt


class TurnLog:
    """The turns of one conversation, in any store.

    1. Once `add` returns, the turn survives a crash and a power cut.
    2. Each piece of an answer is saved before it is shown. `recover` restores what a killed process had shown.
    3. Only a purge edits or removes turns, and `unmask` at the user's word. Numbers grow by one, also with several
       writers.
    4. Secrets are masked before anything is stored, also in an answer that is still streaming.
    """

    def __init__(self, id: str, log: RecordLog, live: LiveAnswer, redaction: Redaction | None = None) -> None:
        self.id = id
        self._log = log
        self._live = live
        self._redaction = redaction
        self.masked: list[str] = []  # the kinds of secrets in the turn that was added last
        self.masked_parts: list[MaskedPart] = []  # what they were
        self._showing = False
        self._stream_redaction: StreamRedaction | None = None
        self._unwritten: list[tuple[Turn, datetime, dict[str, Any]]] = []  # written before the next turn

    def add(self, turn: Turn, time: datetime, meta: dict[str, Any] | None = None) -> int:
        """Save one turn, and return its number. Raises `StoreTrouble`."""
        return self.extend([(turn, time, meta or {})])

    def extend(self, turns: Iterable[tuple[Turn, datetime, dict[str, Any]]]) -> int:
        """Save turns, all or none, and return the number of the last. Raises `StoreTrouble`."""
        self._unwritten += [(self._masked(turn), time, meta) for turn, time, meta in turns]
        number = 0

        def records() -> Iterator[Record]:
            nonlocal number
            number = self._last_number()
            for unwritten in self._unwritten:
                number += 1
                yield _record(number, *unwritten)

        self._log.extend(records)
        self._unwritten.clear()  # only after the write: a failed one is rolled back completely
        self._live.end()
        self._showing = False
        return number

    def show(self, text: str, provenance: str = "") -> None:
        """Save a piece of the answer before it is shown. Raises `StoreTrouble`."""
        if not self._showing:
            # With this number, `recover` can tell whether the answer reached the journal.
            self._live.begin(lambda: f"{self._last_number() + 1} {provenance}".rstrip())
            self._stream_redaction = StreamRedaction(self._redaction.text) if self._redaction else None
            self._showing = True
        text = for_keeping(text)
        if self._stream_redaction:
            self._live.put(*self._stream_redaction.feed(text))
        else:
            self._live.put(self._live.size, text.encode("utf-8", "replace"))

    def take_back_shown(self) -> None:
        """Forget the pieces that were shown: they were not the answer. Raises `StoreTrouble`."""
        if self._showing:
            self._stream_redaction = StreamRedaction(self._redaction.text) if self._redaction else None
            self._live.put(0, b"")

    def _masked(self, turn: Turn) -> Turn:
        """Return the turn with its secrets masked."""
        self.masked, self.masked_parts = [], []
        calls = tuple(ToolCall(*map(self._mask, call)) for call in turn.tool_calls)  # a secret can be in any field
        return turn._replace(content=self._mask(turn.content), tool_calls=calls, call_id=self._mask(turn.call_id))

    def _mask(self, text: str) -> str:
        if self._redaction is None:
            return text
        masked = self._redaction.mask(text)
        self.masked += masked.kinds
        self.masked_parts += masked.parts
        return masked.text

    def recover(self, time: datetime) -> int:
        """Save the partial answer of a killed process as a turn, and return its number; 0 if there is none."""

        def take(header: str, shown: str) -> int:
            first, _, provenance = header.partition(" ")
            if not shown or self._holds(int(first), for_keeping(shown)):
                return 0
            turn = Turn(role="assistant", content=shown, state="interrupted")
            return self.add(turn, time, {"recovered": True} | ({PROVENANCE: provenance} if provenance else {}))

        return self._live.recover(take)

    def note(self, record: Record) -> None:
        """Save a record that is not a turn, such as a compaction. Raises `StoreTrouble`."""
        self._log.append(record)

    def entries(self, damage: Damage | None = None) -> Iterator[JournalEntry]:
        """Yield all turns, oldest first."""
        yield from _entries(self._log.read(damage))

    def entries_back(self, damage: Damage | None = None) -> Iterator[JournalEntry]:
        """Yield all turns, newest first, reading on demand."""
        yield from _entries(self._log.read_back(damage))

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, JournalEntry]]:
        """Yield all turns after `cursor`, oldest first, each with its cursor. Raises `StaleCursor`."""
        for place, record in self._log.since(cursor):
            entry = _entry(record)
            if entry:
                yield place, entry

    def records_with(self, field: str) -> Iterator[Record]:
        """Yield the records that have a field, oldest first."""
        return self._log.having(field)

    def erase(self, cleaner: Cleaner) -> int:
        """Erase phrases from all turns, and return how many had them. Call `recover` first for a leftover answer."""
        return self._log.erase(cleaner)

    def unmask(self, number: int, part: MaskedPart) -> bool:
        """Write a part of turn `number` as it was before it was masked. False if its mask is not there any more.

        The file is replaced atomically, as for a purge. Raises `StoreTrouble`.
        """
        unmasking = _Unmasking(number, part)
        self._log.erase(unmasking)
        return unmasking.done

    def health(self) -> Health:
        return self._log.health()

    def meta(self) -> dict[str, Any]:
        """Return the metadata in the first record."""
        first = next(self._log.read(), None) or {}
        meta = first.get("meta")
        return meta if isinstance(meta, dict) else {}

    def _last_number(self) -> int:
        numbers = (record.get("n") for record in self._log.read_back())
        return next((number for number in numbers if isinstance(number, int)), 0)

    def _holds(self, first: int, shown: str) -> bool:
        """Is there an answer that starts with this text, as turn `first` or later?"""
        since = takewhile(lambda entry: entry.number >= first, self.entries_back())
        return any(entry.turn.role == "assistant" and entry.turn.content.startswith(shown) for entry in since)


class _Unmasking:
    """Puts the original text in the place of its mask, in one turn. A `Cleaner`."""

    def __init__(self, number: int, part: MaskedPart) -> None:
        self._number, self._mask, self._original = number, part.mask, for_keeping(part.original)
        self.done = False

    def found_in(self, text: str) -> bool:
        return self._mask[-10:] in text  # the hash; the rest may be escaped in JSON

    def clean(self, text: str) -> str:
        return text  # a damaged line stays as it is

    def clean_record(self, record: Record) -> Record:
        if record.get("n") != self._number:
            return record
        return {
            key: self._unmasked(one) if key in ("content", "tool_calls", "call_id") else one
            for key, one in record.items()
        }

    def _unmasked(self, value: Any) -> Any:
        match value:
            case str():
                self.done = self.done or self._mask in value
                return value.replace(self._mask, self._original)
            case list():
                return [self._unmasked(one) for one in value]
            case dict():
                return {key: self._unmasked(one) for key, one in value.items()}
        return value


class JournalFiles:
    """Conversations as files in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def ids(self) -> list[str]:
        try:
            paths = list(self._directory.iterdir())
        except OSError:
            return []
        return list({path.stem for path in paths if path.suffix in (".jsonl", ".live") and path.name != _NAMES})

    def log(self, id: str, first: Callable[[], Mapping[str, Any]]) -> LineFile:
        return LineFile(self._directory / f"{id}.jsonl", first)

    def live(self, id: str) -> LiveFile:
        return LiveFile(self._directory / f"{id}.live")

    def names(self) -> RecordLog:
        return open_log(self._directory / _NAMES, "names")


class Journal(TurnLog):
    """A conversation in files of a directory."""

    def __init__(
        self, directory: Path, name: str, meta: dict[str, Any] | None = None, redaction: Redaction | None = None
    ) -> None:
        files = JournalFiles(directory)
        log = files.log(name, lambda: first_record(name, meta))
        super().__init__(name, log, files.live(name), redaction)
        self.path = log.path
        self.live_path = log.path.with_suffix(".live")


def first_record(id: str, meta: Mapping[str, Any] | None = None) -> Record:
    """Return the first record of a new conversation."""
    return {"meta": {"format": FORMAT, "id": id, **(meta or {})}}


def entry_of(line: bytes) -> JournalEntry | None:
    """Parse a line of a journal. None if it is not a turn."""
    record = decode(line)
    return _entry(record) if record else None


def new_id(now: datetime) -> str:
    """Return an id for a new conversation. Ids sort by time, and do not collide."""
    utc = now.astimezone(UTC)
    return f"{utc:%Y%m%d-%H%M%S}-{utc.microsecond:05x}{os.urandom(3).hex()}"


def _record(number: int, turn: Turn, time: datetime, meta: dict[str, Any]) -> Record:
    record: Record = {"n": number, "ts": stamp(time), "role": turn.role, "content": for_keeping(turn.content)}
    if turn.tool_calls:
        record["tool_calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in turn.tool_calls]
    if turn.call_id:
        record["call_id"] = turn.call_id
    if turn.state != "complete":
        record["state"] = turn.state
    return record | meta


_OWN = {"n", "ts", "role", "content", "tool_calls", "call_id", "state"}


def _entries(records: Iterator[Record]) -> Iterator[JournalEntry]:
    for record in records:
        entry = _entry(record)
        if entry:
            yield entry


def _entry(record: Record) -> JournalEntry | None:
    """Return the turn in a record. None for the first line, or for a record of a later version."""
    role, number = record.get("role"), record.get("n")
    if role not in ("user", "assistant", "tool") or not isinstance(number, int):
        return None
    time = read_time(str(record.get("ts")))
    state: State = record["state"] if record.get("state") in ("interrupted", "failed") else "complete"
    calls = record.get("tool_calls")
    turn = Turn(
        role=role,
        content=str(record.get("content", "")),
        tool_calls=tuple(
            ToolCall(id=str(c.get("id", "")), name=str(c.get("name", "")), arguments=str(c.get("arguments", "")))
            for c in (calls if isinstance(calls, list) else [])
            if isinstance(c, dict)
        ),
        call_id=str(record.get("call_id", "")),
        state=state,
    )
    return JournalEntry(number=number, time=time, turn=turn, meta={k: v for k, v in record.items() if k not in _OWN})
