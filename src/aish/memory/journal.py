"""The journal: one file for each conversation, and the only truth about what was said in it.

sessions/20261115-190946-3f2a.jsonl   {"meta": …} first, then one line a turn, as it happens
sessions/20261115-190946-3f2a.live    the answer that is being given; there only while it is, or after a crash
sessions/names.jsonl                  names given with :save
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from aish.memory.live_file import LiveFile
from aish.memory.redaction import Redaction
from aish.memory.stream_redaction import StreamRedaction
from aish.storage.lines import LineFile, decode, open_log
from aish.values.items import read_time, stamp
from aish.values.stores import START, Cleaner, Cursor, Damage, Health, LiveAnswer, Record, RecordLog
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry, State, ToolCall, Turn

FORMAT = 1
_NAMES = "names.jsonl"
PROVENANCE = "made_of"  # in the meta of an answer: the least trusted that was brought along for it, as an origin


class TurnLog:
    """The turns of one conversation, in any store.

    1. Once `add` returns, the turn survives a crash and a power cut.
    2. An answer is written down piece by piece before it is shown; `recover` finds what a killed program had shown.
    3. A turn is never edited or removed except by a purge. Numbers grow by one, also with two writers.
    4. Secrets are masked before anything is stored, also in an answer that is still being given.
    """

    def __init__(self, id: str, log: RecordLog, live: LiveAnswer, redaction: Redaction | None = None) -> None:
        self.id = id
        self._log = log
        self._live = live
        self._redaction = redaction
        self.masked: list[str] = []  # the kinds of secrets in the turn that was added last
        self._showing = False
        self._stream_redaction: StreamRedaction | None = None
        self._waiting: list[tuple[Turn, datetime, dict[str, Any]]] = []  # could not be written; go before the next

    def add(self, turn: Turn, time: datetime, meta: dict[str, Any] | None = None) -> int:
        """Write one turn down and return its number. Raises `StoreTrouble`."""
        return self.extend([(turn, time, meta or {})])

    def extend(self, turns: Iterable[tuple[Turn, datetime, dict[str, Any]]]) -> int:
        """Write turns down, all or none, and return the number of the last. Raises `StoreTrouble`."""
        self._waiting += [(self._masked(turn), time, meta) for turn, time, meta in turns]
        number = 0

        def records() -> Iterator[Record]:
            nonlocal number
            number = self._last_number()
            for waiting in self._waiting:
                number += 1
                yield _record(number, *waiting)

        self._log.extend(records)
        self._waiting.clear()  # not before they are safe: what fails is taken back as a whole
        self._live.end()
        self._showing = False
        return number

    def show(self, text: str, provenance: str = "") -> None:
        """Write down a piece of the answer that is about to be shown. Raises `StoreTrouble`."""
        if not self._showing:
            # The number tells a leftover from an answer that reached the journal.
            self._live.begin(lambda: f"{self._last_number() + 1} {provenance}".rstrip())
            self._stream_redaction = StreamRedaction(self._redaction.text) if self._redaction else None
            self._showing = True
        text = for_keeping(text)
        if self._stream_redaction:
            self._live.put(*self._stream_redaction.feed(text))
        else:
            self._live.put(self._live.size, text.encode("utf-8", "replace"))

    def _masked(self, turn: Turn) -> Turn:
        """The turn without its secrets."""
        self.masked = []
        calls = tuple(ToolCall(*map(self._mask, call)) for call in turn.tool_calls)  # a model may say anything anywhere
        return turn._replace(content=self._mask(turn.content), tool_calls=calls, call_id=self._mask(turn.call_id))

    def _mask(self, text: str) -> str:
        if self._redaction is None:
            return text
        masked = self._redaction.mask(text)
        self.masked += masked.kinds
        return masked.text

    def recover(self, time: datetime) -> int:
        """Take in what a killed program had shown of an answer, and return its number; 0 if there is nothing."""

        def take(header: str, shown: str) -> int:
            first, _, provenance = header.partition(" ")
            if not shown or self._holds(int(first), for_keeping(shown)):
                return 0
            turn = Turn(role="assistant", content=shown, state="interrupted")
            return self.add(turn, time, {"recovered": True} | ({PROVENANCE: provenance} if provenance else {}))

        return self._live.recover(take)

    def entries(self, damage: Damage | None = None) -> Iterator[JournalEntry]:
        """Every turn, oldest first."""
        yield from _entries(self._log.read(damage))

    def entries_back(self, damage: Damage | None = None) -> Iterator[JournalEntry]:
        """Every turn, newest first; reads only as far as it is asked for."""
        yield from _entries(self._log.read_back(damage))

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, JournalEntry]]:
        """Every turn after `cursor`, oldest first, each with its own cursor. Raises `StaleCursor`."""
        for place, record in self._log.since(cursor):
            entry = _entry(record)
            if entry:
                yield place, entry

    def records_with(self, field: str) -> Iterator[Record]:
        """The records that have a field, oldest first."""
        return self._log.having(field)

    def erase(self, cleaner: Cleaner) -> int:
        """Take phrases out of all turns, and return how many had them. Call `recover` first for a leftover answer."""
        return self._log.erase(cleaner)

    def health(self) -> Health:
        return self._log.health()

    def meta(self) -> dict[str, Any]:
        """What the first record says about the conversation."""
        first = next(self._log.read(), None) or {}
        meta = first.get("meta")
        return meta if isinstance(meta, dict) else {}

    def _last_number(self) -> int:
        numbers = (record.get("n") for record in self._log.read_back())
        return next((number for number in numbers if isinstance(number, int)), 0)

    def _holds(self, first: int, shown: str) -> bool:
        """Did the answer that began like this reach the journal, as turn `first` or later?"""
        since = takewhile(lambda entry: entry.number >= first, self.entries_back())
        return any(entry.turn.role == "assistant" and entry.turn.content.startswith(shown) for entry in since)


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
    """What a new conversation starts with."""
    return {"meta": {"format": FORMAT, "id": id, **(meta or {})}}


def entry_of(line: bytes) -> JournalEntry | None:
    """The turn in a line of a journal, if it is one."""
    record = decode(line)
    return _entry(record) if record else None


def new_id(now: datetime) -> str:
    """The name of a new conversation: sorts by time, and two at once do not collide."""
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
    """The turn in a record, or None: the first line, or something from a later version."""
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
