"""Pieces of words, as static vectors are made for: byte-pair encoding over a vocabulary that is read from a file.

A library that does this brings a dozen others along and takes longer to load than all the rest of a search.
"""

import json
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_BLANK = "▁"  # begins a word in the vocabulary
_LONGEST = 40  # letters of a word; what is longer is cut into words, because the time grows with the square


class WordPieces:
    """Splits text into pieces of words. Raises `OSError`, `ValueError` or `KeyError` if the file is no vocabulary."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes().decode()  # as text it would be read ten times slower
        # Which pieces are joined first is told by their numbers, so the longer half of the file need not be read.
        start = text.index("{", text.index('"vocab"'))
        self._ids: dict[str, int] = json.JSONDecoder().raw_decode(text, start)[0]
        self._of_word = lru_cache(maxsize=50_000)(self._split)

    def ids(self, text: str) -> list[int]:
        """The numbers of all pieces of a text."""
        found: list[int] = []
        for word in text.split(" "):
            for start in range(0, len(word) or 1, _LONGEST):
                part = word[start : start + _LONGEST]
                found += self._of_word(part if start else _BLANK + part)
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        parts, none = list(word), len(self._ids)
        while len(parts) > 1:
            pairs = [self._ids.get(left + right, none) for left, right in pairwise(parts)]
            best = min(pairs)
            if best == none:
                break
            place = pairs.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return tuple(id for part in parts for id in self._numbers(part))

    def _numbers(self, part: str) -> list[int]:
        """The number of a piece; a letter that is none is told by its bytes."""
        if part in self._ids:
            return [self._ids[part]]
        return [self._ids[f"<0x{byte:02X}>"] for byte in part.encode("utf-8", "replace")]
