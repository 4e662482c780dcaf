"""In-memory conversations and notes, for tests and for runs that store nothing."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from aish.memory.notes.files import KEPT, LARGEST_READ, TOO_LARGE, check_name, revision_of
from aish.storage.in_memory import InMemoryLog
from aish.values.errors import StoreTrouble
from aish.values.stores import Cleaner, Note, NoteName


class _Shown:
    """The shown part of an answer, shared by all `InMemoryLive` of a conversation."""

    def __init__(self) -> None:
        self.writer: InMemoryLive | None = None
        self.header: str | None = None
        self.data = b""


class InMemoryLive:
    """One live answer in memory. Implements `LiveAnswer`."""

    def __init__(self, shown: _Shown) -> None:
        self._shown = shown

    @property
    def size(self) -> int:
        return len(self._shown.data)

    def begin(self, header: Callable[[], str]) -> None:
        if self._shown.writer is self:
            return
        if self._shown.writer:
            raise StoreTrouble("another aish is answering in this conversation")
        self._shown.writer, self._shown.header, self._shown.data = self, header(), b""

    def put(self, keep: int, data: bytes) -> None:
        assert self._shown.writer is self
        self._shown.data = self._shown.data[:keep] + data

    def end(self) -> None:
        if self._shown.writer is self:
            self._shown.writer, self._shown.header, self._shown.data = None, None, b""

    def close(self) -> None:
        if self._shown.writer is self:
            self._shown.writer = None

    def recover(self, take: Callable[[str, str], int]) -> int:
        if self._shown.writer or self._shown.header is None:
            return 0
        number = take(self._shown.header, self._shown.data.decode("utf-8", "ignore"))
        self._shown.header, self._shown.data = None, b""
        return number


class InMemoryJournals:
    """Conversations in dictionaries."""

    def __init__(self) -> None:
        self._logs: dict[str, InMemoryLog] = {}
        self._live: dict[str, _Shown] = {}
        self._names = InMemoryLog(lambda: {"meta": {"format": 1, "what": "names"}})

    def ids(self) -> list[str]:
        shown = {id for id, live in self._live.items() if live.header is not None}
        return list(shown | {id for id, log in self._logs.items() if next(log.read(), None)})

    def log(self, id: str, first: Callable[[], Mapping[str, Any]]) -> InMemoryLog:
        return self._logs.setdefault(id, InMemoryLog(first))

    def live(self, id: str) -> InMemoryLive:
        return InMemoryLive(self._live.setdefault(id, _Shown()))

    def names(self) -> InMemoryLog:
        return self._names


class InMemoryNotes:
    """Notes in a dictionary: the texts of each, newest first."""

    def __init__(self) -> None:
        self._texts: dict[NoteName, list[str]] = {}
        self._alone = RLock()

    def read(self, name: NoteName) -> Note:
        check_name(name)
        texts = self._texts.get(name)
        if not texts:
            return Note("", "")
        data = texts[0].encode()
        return Note("", revision_of(data), TOO_LARGE) if len(data) > LARGEST_READ else Note(texts[0], revision_of(data))

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._alone:
            yield

    def replace(self, name: NoteName, text: str, expected: str) -> str | Note:
        with self._alone:
            note = self.read(name)
            if note.revision != expected:
                return note
            data = text.encode("utf-8", "replace")
            revision = revision_of(data)
            if revision != expected:
                self._texts[name] = [data.decode(), *self._texts.get(name, [])][: KEPT + 1]
            return revision

    def earlier(self, name: NoteName) -> list[str]:
        check_name(name)
        return self._texts.get(name, [""])[1:]

    def names(self) -> list[NoteName]:
        return sorted(self._texts)

    def erase(self, cleaner: Cleaner) -> int:
        count = 0
        for texts in self._texts.values():
            count += sum(map(cleaner.found_in, texts))
            texts[:] = map(cleaner.clean, texts)
        return count
