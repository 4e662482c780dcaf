"""An in-memory log, for tests and for runs that store nothing."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import RLock
from typing import Any

from aish.values.stores import START, Cleaner, Cursor, Damage, Health, Record, StaleCursor


class InMemoryLog:
    """A list of records as JSON text, so that changing a returned record does not change the log."""

    def __init__(self, first: Callable[[], Mapping[str, Any]] | None = None) -> None:
        self._first = first
        self._texts: list[str] = []
        self._erased = 0  # how often records were erased; a part of every cursor
        self._alone = RLock()

    def append(self, record: Mapping[str, Any], *, sync: bool = True) -> None:
        self.extend(lambda: [record])

    def extend(self, make: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        with self._alone:
            first = [self._first()] if self._first and not self._texts else []
            self._texts += [_to_text(record) for record in [*first, *make()]]

    def read(self, damage: Damage | None = None) -> Iterator[Record]:
        return map(json.loads, self._texts)

    def read_back(self, damage: Damage | None = None) -> Iterator[Record]:
        return map(json.loads, reversed(self._texts))

    def having(self, field: str) -> Iterator[Record]:
        return (record for record in self.read() if field in record)

    def since(self, cursor: Cursor = START) -> Iterator[tuple[Cursor, Record]]:
        erased, place = map(int, cursor.split("-")) if cursor else (self._erased, 0)
        if erased != self._erased:
            raise StaleCursor
        for number, text in enumerate(self._texts[place:], start=place + 1):
            yield f"{erased}-{number}", json.loads(text)

    def erase(self, cleaner: Cleaner) -> int:
        with self._alone:
            old = self._texts
            self._texts = [
                _to_text(cleaner.clean_record(json.loads(text))) if cleaner.found_in(text) else text for text in old
            ]
            count = sum(before != after for before, after in zip(old, self._texts, strict=True))
            self._erased += bool(count)
            return count

    def health(self) -> Health:
        return Health("memory of this process")


def _to_text(record: Mapping[str, Any]) -> str:
    """The record as a file would keep it: half of a character becomes a question mark."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode()
