"""Read the values of YAML that stand on one line: `[a, b]`, `{a: b}`, quoted and plain texts.

Pure: text in, values out. There is no recursion, so that no text can exhaust the stack.
"""

import re
from typing import Any

from aish.values.patterns import pattern

_WORDS = {"": None, "~": None, "null": None, "true": True, "True": True, "false": False, "False": False}
_ESCAPES = dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
_ESCAPE = pattern(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_TEXT = pattern(r"[^\[\]{},:]+|:(?=[^\s\"'\[\]{},])")  # a colon before another letter is part of the text


def plain_value(text: str) -> str | bool | None:
    """Return what a text without quotes means; numbers stay texts."""
    return _WORDS.get(text, text)


def unquoted(inner: str, mark: str) -> str:
    """Return the text between quotes of this kind."""
    return inner.replace("''", "'") if mark == "'" else _ESCAPE.sub(_character, inner)


def closing_quote(text: str, start: int, mark: str) -> int | None:
    """Return where a quoted text ends."""
    at = start
    while at < len(text):
        if mark == '"' and text[at] == "\\":
            at += 2
        elif text[at] != mark:
            at += 1
        elif mark == "'" and text[at + 1 : at + 2] == "'":
            at += 2
        else:
            return at
    return None


def read_flow(text: str, deepest: int) -> tuple[Any, int] | None:
    """Read the value at the start of a text, and return it with where it ends; None if it is nested too deeply.

    The end is -1 if its brackets are not closed. A bracket of the wrong kind closes, too.
    """
    open_ones = list[_Collection]()
    at = 0
    while at < len(text):
        letter = text[at]
        if letter in "[{":
            if len(open_ones) == deepest:
                return None
            open_ones.append(_Collection(is_list=letter == "["))
        elif letter in "]}":
            done = open_ones.pop().value()
            if not open_ones:
                return done, at + 1
            open_ones[-1].take(done)
        elif letter == ",":
            open_ones[-1].next()
        elif letter in "\"'" and open_ones[-1].is_free:
            end = closing_quote(text, at + 1, letter)
            if end is None:
                return None, -1
            open_ones[-1].take(unquoted(text[at + 1 : end], letter))
            at = end
        elif letter.isspace() and open_ones[-1].is_free:
            pass
        elif not open_ones[-1].has_value and (found := _TEXT.match(text, at)):
            open_ones[-1].add(found[0])
            at = found.end() - 1
        elif letter == ":":
            open_ones[-1].colon()
        at += 1
    return None, -1


class _Collection:
    """A list or mapping whose bracket is open."""

    def __init__(self, *, is_list: bool) -> None:
        self._is_list = is_list
        self._found: list[tuple[Any, Any]] = []  # keys and values; the keys of a list are not used
        self._key: Any = None
        self._value: tuple[Any] | None = None
        self._parts: list[str] = []  # of a text without quotes

    @property
    def is_free(self) -> bool:
        """Nothing is there since the last comma or colon, so a quote opens a text."""
        return self._value is None and not self._parts

    @property
    def has_value(self) -> bool:
        """A quoted text, a list or a mapping is there, so that nothing but a comma, colon or bracket counts."""
        return self._value is not None

    def take(self, value: Any) -> None:
        self._value, self._parts = (value,), []

    def add(self, text: str) -> None:
        self._parts.append(text)

    def colon(self) -> None:
        """What was there is a key; in a list, the colon is part of a text."""
        if self._is_list or self._key is not None:
            if not self.has_value:
                self.add(":")
        else:
            self._key = self._take_current()

    def next(self) -> None:
        there = self._value is not None or bool(self._parts) or self._key is not None
        current = self._take_current()
        if there:
            self._found.append((self._key, current) if self._key is not None else (current, None))
        self._key = None

    def _take_current(self) -> Any:
        current = self._value[0] if self._value else plain_value("".join(self._parts).strip())
        self._value, self._parts = None, []
        return current

    def value(self) -> Any:
        self.next()
        if self._is_list:
            return [one for one, _ in self._found]
        return {str("" if key is None else key): value for key, value in self._found}


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 1:
        return _ESCAPES.get(code, code)
    number = int(code[1:], 16)
    return chr(number) if number < 0xD800 or 0xDFFF < number <= 0x10FFFF else "\ufffd"  # surrogates cannot be stored
