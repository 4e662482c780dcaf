"""The journal: one file for each conversation, and the only truth about what was said in it.

sessions/20261115-190946-3f2a.jsonl   {"meta": …} first, then one line a turn, as it happens
sessions/20261115-190946-3f2a.live    the answer that is being given; there only while it is, or after a crash
sessions/names.jsonl                  names given with :save
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from aish.memory.redaction import Redaction
from aish.memory.stream_redaction import StreamRedaction
from aish.storage.files import make_directory
from aish.storage.lines import LineFile, decode
from aish.values.errors import StoreTrouble
from aish.values.items import read_time, stamp
from aish.values.stores import Damage, Record
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry, State, ToolCall, Turn

FORMAT = 1
PROVENANCE = "made_of"  # in the meta of an answer: the least trusted that was brought along for it, as an origin


class Journal:
    """The record of one conversation.

    1. Once `add` returns, the turn survives a crash and a power cut.
    2. An answer is written down piece by piece before it is shown; what a killed program had shown is found again.
    3. A line is never edited or removed, but by a purge. Numbers grow by one, also with two writers.
    4. Secrets are masked before anything reaches the disk, also in an answer that is still being given.
    """

    def __init__(
        self, directory: Path, name: str, meta: dict[str, Any] | None = None, redaction: Redaction | None = None
    ) -> None:
        self.id = name
        self.path = directory / f"{name}.jsonl"
        self._lines = LineFile(self.path, first=lambda: {"meta": {"format": FORMAT, "id": name, **(meta or {})}})
        self._redaction = redaction
        self.masked: list[str] = []  # the kinds of secrets in the turn that was added last
        self._live: int | None = None
        self._stream_redaction: StreamRedaction | None = None
        self._head = self._shown = 0  # bytes of the live file: its first line, and all of it
        self._waiting: list[tuple[Turn, datetime, dict[str, Any]]] = []  # could not be written; go before the next

    @property
    def live_path(self) -> Path:
        return self.path.with_suffix(".live")

    def add(self, turn: Turn, time: datetime, meta: dict[str, Any] | None = None) -> int:
        """Write one turn down and return its number. Raises `StoreTrouble`."""
        return self.extend([(turn, time, meta or {})])

    def extend(self, turns: Iterable[tuple[Turn, datetime, dict[str, Any]]]) -> int:
        """Write turns down, all or none, and return the number of the last. Raises `StoreTrouble`."""
        self._waiting += [(self._masked(turn), time, meta) for turn, time, meta in turns]
        with self._lines.writing() as writer:
            number = self._last_number()
            for waiting in self._waiting:
                number += 1
                writer.write(_record(number, *waiting))
        self._waiting.clear()  # not before they are safe: what fails is taken back as a whole
        self._end_live()
        return number

    def show(self, text: str, provenance: str = "") -> None:
        """Write down a piece of the answer that is about to be shown. Raises `StoreTrouble`."""
        try:
            if self._live is None:
                self._live = self._open_live(provenance)
                self._stream_redaction = StreamRedaction(self._redaction.text) if self._redaction else None
                self._head = self._shown = os.fstat(self._live).st_size
            self._put(*self._stream_redaction.feed(for_keeping(text))) if self._stream_redaction else self._put(
                self._shown - self._head, for_keeping(text).encode("utf-8", "replace")
            )
        except OSError as error:
            raise StoreTrouble(f"cannot write {self.live_path}: {error.strerror or error}") from error

    def _put(self, keep: int, data: bytes) -> None:
        """Cut what was shown to `keep` bytes, and write `data` after them."""
        assert self._live is not None
        if self._head + keep < self._shown:
            os.ftruncate(self._live, self._head + keep)
        self._shown = self._head + keep + os.pwrite(self._live, data, self._head + keep)

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
        try:
            fd = os.open(self.live_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreTrouble(f"cannot read {self.live_path}: {error.strerror or error}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            header, _, text = os.read(fd, os.fstat(fd).st_size).partition(b"\n")
            shown = text.decode("utf-8", "ignore")
            first, _, provenance = header.decode("utf-8", "replace").partition(" ")
            number = 0
            if shown and not self._holds(int(first), for_keeping(shown)):
                turn = Turn(role="assistant", content=shown, state="interrupted")
                number = self.add(turn, time, {"recovered": True} | ({PROVENANCE: provenance} if provenance else {}))
            self.live_path.unlink(missing_ok=True)
            return number
        except (BlockingIOError, ValueError):  # an answer is being given right now, or the file is not ours
            return 0
        except OSError as error:
            raise StoreTrouble(f"cannot read {self.live_path}: {error.strerror or error}") from error
        finally:
            os.close(fd)

    def entries(self, damage: Damage | None = None) -> Iterator[JournalEntry]:
        """Every turn, oldest first."""
        yield from _entries(self._lines.read(damage))

    def entries_back(self, damage: Damage | None = None) -> Iterator[JournalEntry]:
        """Every turn, newest first; reads only as far as it is asked for."""
        yield from _entries(self._lines.read_back(damage))

    def meta(self) -> dict[str, Any]:
        """The first line of the journal."""
        first = next(self._lines.read(), None) or {}
        meta = first.get("meta")
        return meta if isinstance(meta, dict) else {}

    def _open_live(self, provenance: str) -> int:
        make_directory(self.path.parent)
        fd = os.open(self.live_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, 0)
            number = self._last_number() + 1
            head = (
                f"{number} {provenance}".rstrip()
            )  # the number tells a leftover from an answer that reached the journal
            os.write(fd, head.encode() + b"\n")
        except (OSError, StoreTrouble) as error:
            os.close(fd)
            if isinstance(error, BlockingIOError):
                raise StoreTrouble("another aish is answering in this conversation") from None
            raise
        return fd

    def _end_live(self) -> None:
        if self._live is not None:  # another program's is not ours to end
            try:
                self.live_path.unlink(missing_ok=True)
            except OSError:
                pass  # the turn is safe, and `recover` knows a leftover of it
            os.close(self._live)
            self._live = None

    def _last_number(self) -> int:
        numbers = (record.get("n") for record in self._lines.read_back())
        return next((number for number in numbers if isinstance(number, int)), 0)

    def _holds(self, first: int, shown: str) -> bool:
        """Did the answer that began like this reach the journal, as turn `first` or later?"""
        since = takewhile(lambda entry: entry.number >= first, self.entries_back())
        return any(entry.turn.role == "assistant" and entry.turn.content.startswith(shown) for entry in since)


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
