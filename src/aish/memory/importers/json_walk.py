"""Walk through JSON text of any size, with one value in memory at a time.

Pure: the bytes come from the function `read`; no file is opened here.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from aish.memory.importers.fields import parsed

_CHUNK, _LARGEST = 1 << 18, 1 << 22
_BOM = b"\xef\xbb\xbf"
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_INSIDE = rb'[^"\\]*+(?>(?:\\.[^"\\]*+)*)'  # the content of a string


class CutOff(Exception):
    """The text ends too early, or is not JSON from here on."""


class UnreadableJson:
    """Stands for a value that is too long or not JSON; the walk continues after it."""


UNREADABLE = UnreadableJson()


class JsonWalk:
    """Moves forward only. At a value, call `members`, `elements` or `value` to read it; otherwise it is skipped.

    1. Little more than `most` bytes of the text are in memory at a time.
    2. A value that is not valid JSON does not end the walk if its brackets and quotes are balanced.
    """

    def __init__(self, read: Callable[[int], bytes], most: int) -> None:
        self._read = read
        self._most = most
        self._data, self._at = b"", 0
        self._passed = 0  # bytes dropped from `_data`
        while len(self._data) < len(_BOM) and self._more():
            pass  # a pipe may return fewer bytes than requested
        self._at = len(_BOM) if self._data.startswith(_BOM) else 0

    @property
    def place(self) -> int:
        """The number of bytes already read."""
        return self._passed + self._at

    def peek(self) -> bytes:
        """Return the next byte that is not white space; b"" at the end of the text."""
        while True:
            self._at = _end(_blanks(), self._data, self._at)
            if self._at < len(self._data):
                return self._data[self._at : self._at + 1]
            if not self._more():
                return b""

    def elements(self) -> Iterator[None]:
        """Stop at each element of the next array."""
        self._take(b"[")
        while self.peek() != b"]":
            start = self.place
            yield
            self._go_on(start, b"]")
        self._at += 1

    def members(self) -> Iterator[str]:
        """Stop at the value of each member of the next object, and yield its name."""
        self._take(b"{")
        while self.peek() != b"}":
            name = self.value()
            self._take(b":")
            self.peek()
            start = self.place
            yield name if isinstance(name, str) else ""
            self._go_on(start, b"}")
        self._at += 1

    def value(self) -> Any:
        """Read the whole next value."""
        raw = self._raw()
        value = None if raw is None else parsed(raw)
        return UNREADABLE if value is None and raw != b"null" else value

    def _take(self, sign: bytes) -> None:
        if self.peek() != sign:
            raise CutOff
        self._at += 1

    def _go_on(self, start: int, end: bytes) -> None:
        """Skip the value at `start` if the caller did not read it, and the comma after it."""
        if self.place == start:
            self._raw()
        if self.peek() == b",":
            self._at += 1
        elif self.peek() != end:
            raise CutOff

    def _raw(self) -> bytes | None:
        """Return the bytes of the next value; None if it was too long and was skipped."""
        first = self.peek()
        if first == b'"':
            return self._until(_string(), 0)
        return self._until(_to_bracket(), 1) if first in (b"{", b"[") else self._word()

    def _word(self) -> bytes:
        """Read a number or a literal such as `true`."""
        while True:
            size = _end(_letters(), self._data, self._at) - self._at
            if not 0 < size <= self._most:
                raise CutOff
            if self._at + size < len(self._data) or not self._more():
                self._at += size
                return self._data[self._at - size : self._at]

    def _until(self, pattern: re.Pattern[bytes], depth: int) -> bytes | None:
        """Read up to the end of the string, object or array that starts here."""
        size, kept, is_string = depth, True, not depth
        while True:
            while match := pattern.match(self._data, self._at + size):
                size = match.end() - self._at
                depth += _STEPS.get(self._data[match.end() - 1], 0)
                if depth == 0:
                    self._at += size
                    return self._data[self._at - size : self._at] if kept and size <= self._most else None
            if len(self._data) - self._at > self._most:
                kept, self._at, size = False, _end(_quiet(), self._data, self._at + size), 0
                if self._data[self._at : self._at + 1] == b'"':
                    self._pass_string()
                    if is_string:
                        return None
                    continue
            if not self._more():
                raise CutOff

    def _pass_string(self) -> None:
        """Skip the string that starts here, without keeping it in memory."""
        self._at += 1
        while True:
            self._at = _end(_inside(), self._data, self._at)
            if self._data[self._at : self._at + 1] == b'"':
                self._at += 1
                return
            if not self._more():
                raise CutOff

    def _more(self) -> bool:
        """Drop the bytes already read and read more; larger chunks for a long value, to search it less often."""
        chunk = self._read(min(max(_CHUNK, len(self._data) - self._at), _LARGEST))
        self._passed += self._at
        self._data, self._at = self._data[self._at :] + chunk, 0
        return bool(chunk)


def _end(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    match = pattern.match(data, start)
    return match.end() if match else start


@functools.cache
def _blanks() -> re.Pattern[bytes]:
    return re.compile(rb"[ \t\r\n]*+")


@functools.cache
def _letters() -> re.Pattern[bytes]:
    return re.compile(rb'[^\s,:"{}\[\]]*+')


@functools.cache
def _string() -> re.Pattern[bytes]:
    return re.compile(b'"' + _INSIDE + b'"', re.DOTALL)


@functools.cache
def _inside() -> re.Pattern[bytes]:
    return re.compile(_INSIDE, re.DOTALL)


@functools.cache
def _quiet() -> re.Pattern[bytes]:
    """Match complete strings, and characters that are neither quotes nor brackets."""
    return re.compile(rb'(?>(?:[^"{}\[\]]++|"' + _INSIDE + rb'")*)', re.DOTALL)


@functools.cache
def _to_bracket() -> re.Pattern[bytes]:
    return re.compile(_quiet().pattern + rb"[{}\[\]]", re.DOTALL)
