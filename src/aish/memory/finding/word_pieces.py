"""Splits words into the subword pieces of the embedder: byte-pair encoding with a vocabulary from a file.

A tokenizer library has a dozen dependencies and takes longer to load than the rest of a search.
"""

import json
from itertools import chain, pairwise
from pathlib import Path

_BLANK = "▁"  # marks the start of a word in the vocabulary
_NEXT = f" {_BLANK}"
_MAX_LETTERS = 40  # of a word; longer ones are split, because the time grows with the square of the length
_CACHED_WORDS = 50_000  # words whose pieces are cached, 12 MB


class WordPieces:
    """Splits text into pieces. Raises `OSError`, `ValueError` or `KeyError` if the file is not a vocabulary."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes().decode()  # ten times faster than reading as text
        # The ids give the order of merges, so the list of merges, the larger half of the file, is not needed.
        start = text.index("{", text.index('"vocab"'))
        self._ids: dict[str, int] = json.JSONDecoder().raw_decode(text, start)[0]
        self._pieces = _PiecesOfWords(self)

    def ids(self, text: str) -> list[int]:
        """The ids of all pieces of a text."""
        return list(
            chain.from_iterable(map(self._pieces.__getitem__, f"{_BLANK}{text}".replace(" ", _NEXT).split(" ")))
        )

    def ids_of_word(self, word: str) -> tuple[int, ...]:
        """The ids of the pieces of a word with its mark, or of a part of one."""
        if len(word) > _MAX_LETTERS + 1:
            starts = [0, *range(_MAX_LETTERS + 1, len(word), _MAX_LETTERS), len(word)]
            return tuple(id for start, end in pairwise(starts) for id in self._pieces[word[start:end]])
        if "\n" not in word:
            return self._split(word)
        # No piece has a line end, so the lines are looked up one by one; most pairs of words around one are unique.
        first, *others = word.split("\n")
        end = self._numbers("\n")
        return tuple(chain(self._pieces[first], *((*end, *self._pieces[line]) for line in others)))

    def _split(self, word: str) -> tuple[int, ...]:
        get, none, parts = self._ids.get, len(self._ids), list(word)
        pairs = [get(left + right, none) for left, right in pairwise(parts)]
        while pairs and (best := min(pairs)) != none:
            place = pairs.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
            del pairs[place]  # only the pairs beside it change
            if place:
                pairs[place - 1] = get(parts[place - 1] + parts[place], none)
            if place < len(pairs):
                pairs[place] = get(parts[place] + parts[place + 1], none)
        return tuple(id for part in parts for id in self._numbers(part))

    def _numbers(self, part: str) -> list[int]:
        """The id of a piece; a character that has none is encoded by its bytes."""
        if part in self._ids:
            return [self._ids[part]]
        return [self._ids[f"<0x{byte:02X}>"] for byte in part.encode("utf-8", "replace")]


class _PiecesOfWords(dict[str, tuple[int, ...]]):
    """The pieces of words that occurred; a dict, because a call per word takes longer than the rest."""

    def __init__(self, pieces: WordPieces) -> None:
        self._of = pieces

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = self._of.ids_of_word(word)
        if len(word) <= _MAX_LETTERS and "\n" not in word:
            if len(self) >= _CACHED_WORDS:
                self.clear()  # the frequent words are soon back
            self[word] = ids
        return ids
