"""The head of a GGUF file: what its model is, and whether it can chat.

Nothing in a file is believed. A head that is damaged, too long or of an unknown version is no head.
"""

import struct
from pathlib import Path
from typing import IO

from aish.storage.line_reading import opener_now
from aish.values.named_tuple import NamedTuple

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_MOST = 64 << 20  # bytes that are read; the vocabularies of large models take 15 MB
_BLOCK = 1 << 20
_MOST_KEYS, _LONGEST_KEY, _LONGEST_TEXT = 4096, 256, 1 << 20
_SHAPES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_NUMBERS = {kind: struct.Struct(f"<{letter}") for kind, letter in _SHAPES.items()}
_TEXT, _LIST = 8, 9
_SHORT, _LONG = _NUMBERS[4], _NUMBERS[10]

Value = str | int | float | None  # None: a list, which is skipped


class GgufHead(NamedTuple):
    """What a file says about its model."""

    architecture: str
    has_template: bool = False
    is_encoder: bool = False  # it makes vectors or scores of texts
    has_vision: bool = False  # in this file; llama.cpp wants that in a file of its own

    @property
    def chats(self) -> bool:
        """Return whether it can be an embedded model."""
        return self.has_template and not self.is_encoder and not self.has_vision


def read_head(path: Path) -> GgufHead | None:
    """Return what the file says; None if it is another kind of file, damaged, or cannot be read."""
    try:
        with open(path, "rb", opener=opener_now) as file:
            return _head(_Reader(file).values())
    except (OSError, ValueError, struct.error):
        return None


def _head(values: dict[str, Value]) -> GgufHead | None:
    kind, template = values.get("general.architecture"), values.get("tokenizer.chat_template")
    if not isinstance(kind, str):
        return None

    return GgufHead(
        architecture=kind,
        has_template=isinstance(template, str) and bool(template),
        is_encoder=bool(values.get(f"{kind}.pooling_type")),
        has_vision=any(key.startswith(f"{kind}.vision.") for key in values),
    )


class _Reader:
    """Reads a head as far as it is needed. All methods raise `OSError`, `ValueError` and `struct.error`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._data, self._place = file, b"", 0

    def values(self) -> dict[str, Value]:
        """Return the keys and their values."""
        if self._take(4) != _MAGIC or self._number(_SHORT) not in _VERSIONS:
            raise ValueError("not a GGUF file, or of an unknown version")
        self._number(_LONG)  # of tensors
        count = self._count(_MOST_KEYS)
        return dict(self._pair() for _ in range(count))

    def _pair(self) -> tuple[str, Value]:
        key, kind = self._text(_LONGEST_KEY), self._number(_SHORT)
        if kind == _TEXT:
            return key, self._text(_LONGEST_TEXT)
        if kind == _LIST:
            self._skip_list()
            return key, None
        return key, self._number(_NUMBERS[int(kind)] if kind in _NUMBERS else _unknown(kind))

    def _skip_list(self) -> None:
        kind, count = self._number(_SHORT), self._count(_MOST)
        if kind in _NUMBERS:
            self._skip(count * _NUMBERS[int(kind)].size)
        elif kind == _TEXT:
            for _ in range(count):
                self._skip(self._count(_MOST))
        else:
            _unknown(kind)  # lists of lists are not used

    def _text(self, longest: int) -> str:
        return self._take(self._count(longest)).decode("utf-8", "replace")

    def _count(self, most: int) -> int:
        count = int(self._number(_LONG))
        if count > most:
            raise ValueError("longer than anything that is useful")
        return count

    def _number(self, shape: struct.Struct) -> int | float:
        self._need(shape.size)
        (number,) = shape.unpack_from(self._data, self._place)
        self._place += shape.size
        return number if isinstance(number, float) else int(number)

    def _take(self, size: int) -> bytes:
        self._need(size)
        taken = self._data[self._place : self._place + size]
        self._place += size
        return taken

    def _skip(self, size: int) -> None:
        self._need(size)
        self._place += size

    def _need(self, size: int) -> None:
        """Read on until so many bytes are there."""
        if self._place + size <= len(self._data):
            return
        if size > _MOST:
            raise ValueError("too long")
        rest = len(self._data) - self._place
        self._data, self._place = self._data[self._place :], 0
        more = self._file.read(max(size - rest, _BLOCK))
        self._data += more
        if len(self._data) < size or self._file.tell() > _MOST + _BLOCK:
            raise ValueError("ends early, or is too long")


def _unknown(kind: float) -> struct.Struct:
    raise ValueError(f"unknown type {kind}")
