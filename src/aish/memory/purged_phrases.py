"""Finds purged phrases in a text by their fingerprints, and removes them without knowing the words.

Pure: texts and fingerprints in, texts out.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from aish.memory.fingerprint import fingerprinted_parts
from aish.memory.purge import GONE, LETTER, SHORT
from aish.values.named_tuple import NamedTuple

_DIGEST = r"(\d{1,6})-([0-9a-f]{24})"
# JSON escapes of letters, blanks, quotes and backslashes, and the same for JSON nested in JSON at any depth.
_ESCAPE = (
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\([nrt])|\\([\"/])|(\\)\\"
)
_ESCAPES = "", _ESCAPE, _ESCAPE.replace(r"\\u", r"\\+u").replace(r"|\\(", r"|\\+(") + "+"


class _Letter(NamedTuple):
    """A normalised letter, and its position in the original text."""

    value: str
    start: int
    end: int


class Purged:
    """Removes purged phrases from a text, with the same result as a purge."""

    def __init__(self, fingerprints: Iterable[str], salt: bytes) -> None:
        self._salt = salt
        self._digests: dict[int, set[str]] = {}  # by the length of the phrase
        for fingerprint in fingerprints:
            if known := re.fullmatch(_DIGEST, fingerprint):
                self._digests.setdefault(int(known[1]), set()).add(known[2])

    def clean(self, text: str) -> str:
        """Return the text with all purged phrases replaced by a marker."""
        if not self._digests or not text:
            return text
        spans = [span for escape in _ESCAPES[: 3 if "\\" in text else 1] for span in self._spans(text, escape)]
        clean, done = [], 0
        for start, end in sorted(spans):
            if start >= done:
                clean += [text[done:start], GONE]
            done = max(done, end)
        return "".join([*clean, text[done:]])

    def _spans(self, text: str, escape: str) -> Iterator[tuple[int, int]]:
        """Yield the positions of purged phrases. Of several with the same start, the longest wins, as in a purge."""
        flat = _flat(re.sub(escape, _unescaped, text) if escape else text)
        sizes: dict[int, int] = {}
        for size in sorted(self._digests):
            for start in fingerprinted_parts(flat, size, self._digests[size], self._salt):
                if _is_whole_phrase(flat, start, start + size):
                    sizes[start] = size
        if not sizes:
            return
        letters = _letters(_read(text, escape))
        done = 0
        for start, size in sorted(sizes.items()):
            if start >= done:
                done = start + size
                yield letters[start].start, letters[done - 1].end


def _is_whole_phrase(text: str, start: int, end: int) -> bool:
    """Is this not just a part of a longer word? Only short phrases without a blank are checked."""
    part = text[start:end]
    if len(part) >= SHORT or " " in part:
        return True
    before = start and re.match(LETTER, part[0]) and re.match(LETTER, text[start - 1])
    return not before and not (re.match(LETTER, part[-1]) and re.match(LETTER, text[end : end + 1]))


def _flat(text: str) -> str:
    """The text as it is fingerprinted, but with its last full stop."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold().split())


def _read(text: str, escape: str) -> Iterator[_Letter]:
    """Yield the letters of the text, with escapes decoded."""
    done = 0
    for found in re.finditer(escape, text) if escape else ():
        yield from (_Letter(text[place], place, place + 1) for place in range(done, found.start()))
        yield _Letter(_unescaped(found), found.start(), found.end())
        done = found.end()
    yield from (_Letter(text[place], place, place + 1) for place in range(done, len(text)))


def _unescaped(escape: re.Match[str]) -> str:
    high, low, code, blank, quote, backslash = escape.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    return chr(int(code, 16)) if code else " " if blank else quote or backslash


def _letters(letters: Iterable[_Letter]) -> list[_Letter]:
    """Return the letters of the normalised text."""
    found: list[_Letter] = []
    for word in _words(letters):
        parts = _clusters(word)
        whole = _flat("".join(letter.value for letter in word))
        if "".join(map(_value, parts)) != whole:  # a script whose letters combine in other ways
            parts = [_Letter(whole, word[0].start, word[-1].end)]
        if found and whole:
            found.append(_Letter(" ", word[0].start, word[0].start))
        found += [_Letter(value, part.start, part.end) for part in parts for value in part.value]
    return found


def _words(letters: Iterable[_Letter]) -> Iterator[list[_Letter]]:
    word: list[_Letter] = []
    for letter in letters:
        if not letter.value.isspace():
            word.append(letter)
        elif word:
            yield word
            word = []
    if word:
        yield word


def _clusters(word: list[_Letter]) -> list[_Letter]:
    """Combine each letter with the accents after it, and normalise it."""
    groups: list[list[_Letter]] = []
    for letter in word:
        if groups and unicodedata.combining(letter.value):
            groups[-1].append(letter)
        else:
            groups.append([letter])
    return [_Letter(_flat("".join(map(_value, group))), group[0].start, group[-1].end) for group in groups]


def _value(letter: _Letter) -> str:
    return letter.value
