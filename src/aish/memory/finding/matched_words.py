"""Finds the words of a text that match a search, for highlighting.

Pure: text and terms in, places out. Words match as in the index: by their stem, ignoring case and accents.
"""

import functools
import re
from collections.abc import Collection, Iterator
from itertools import islice

from aish.memory.finding.terms import UNSPACED, terms

_MAX_CHARACTERS = 32_000  # of a text; the index has no more either
_MAX_WORDS = 500  # matching words of one text


@functools.cache
def _word() -> re.Pattern[str]:
    """A run of a script without spaces, or a word with its accents and the punctuation inside identifiers."""
    letters = rf"(?:(?![{UNSPACED}])[\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff])+"
    return re.compile(rf"(?P<run>[{UNSPACED}]+)|{letters}(?:['’./:@\\+#-]+{letters})*")


def find_matched_words(text: str, sought: Collection[str]) -> list[tuple[int, int]]:
    """The places of matching words in text order; a partial match is left out if a full match exists elsewhere."""
    wanted = frozenset(sought)
    has = functools.cache(lambda word: wanted.intersection(terms(word)))  # most words are repeated in a text
    words = ((match, has(match[0])) for match in _word().finditer(text, 0, _MAX_CHARACTERS))
    found = list(islice((one for one in words if one[1]), _MAX_WORDS)) if wanted else []
    whole = {had for _, had in found}
    marks: list[tuple[int, int]] = []
    for match, had in found:
        if not any(had < more for more in whole):  # for utf8, do not mark utf16 if both are there
            marks += _inside(match[0], had, match.start()) if match["run"] else [match.span()]
    return marks


def _inside(run: str, had: Collection[str], begin: int) -> Iterator[tuple[int, int]]:
    """The places of terms in a run without spaces, which may be a whole sentence; overlapping ones are joined."""
    first = last = -1
    for place in range(len(run)):
        size = max((len(term) for term in had if run.startswith(term, place)), default=0)
        if size and place > last:
            if last > first:
                yield begin + first, begin + last
            first = place
        last = max(last, place + size) if size else last
    if last > first:
        yield begin + first, begin + last
