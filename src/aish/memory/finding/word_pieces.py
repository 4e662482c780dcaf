"""Splits words into the subword pieces of the embedder: byte-pair encoding with a vocabulary from a file.

A tokenizer library has a dozen dependencies and takes longer to load than the rest of a search.
"""

import json
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_BLANK = "▁"  # marks the start of a word in the vocabulary
_MAX_LETTERS = 40  # of a word; longer ones are split, because the time grows with the square of the length


class WordPieces:
    """Splits text into pieces. Raises `OSError`, `ValueError` or `KeyError` if the file is not a vocabulary."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes().decode()  # ten times faster than reading as text
        # The ids give the order of merges, so the list of merges, the larger half of the file, is not needed.
        start = text.index("{", text.index('"vocab"'))
        self._ids: dict[str, int] = json.JSONDecoder().raw_decode(text, start)[0]
        self._of_word = lru_cache(maxsize=50_000)(self._split)

    def ids(self, text: str) -> list[int]:
        """The ids of all pieces of a text."""
        found: list[int] = []
        for word in text.split(" "):
            for start in range(0, len(word) or 1, _MAX_LETTERS):
                part = word[start : start + _MAX_LETTERS]
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
        """The id of a piece; a character that has none is encoded by its bytes."""
        if part in self._ids:
            return [self._ids[part]]
        return [self._ids[f"<0x{byte:02X}>"] for byte in part.encode("utf-8", "replace")]
