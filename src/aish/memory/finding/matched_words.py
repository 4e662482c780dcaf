"""Marks: which characters of a turn are words that a search asked for.

Pure: text and terms in, places out. Words match as they do in the index: by their stem, without case and accents.
"""

import functools
import re
from collections.abc import Collection, Iterator
from itertools import islice

from aish.memory.finding.terms import NO_BLANKS, terms

_LONGEST = 32_000  # characters that are looked at, as many as are in the index
_MOST = 500  # words in one text that are looked at closely


@functools.cache
def _word() -> re.Pattern[str]:
    """A run of a script that writes no blanks, or a word with its accents and the signs that hold code together."""
    letters = rf"(?:(?![{NO_BLANKS}])[\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff])+"
    return re.compile(rf"(?P<run>[{NO_BLANKS}]+)|{letters}(?:['’./:@\\+#-]+{letters})*")


def find_matched_words(text: str, sought: Collection[str]) -> list[tuple[int, int]]:
    """Where the terms stand, in the order of the text; a part of what stands elsewhere as a whole tells nothing."""
    wanted = frozenset(sought)
    has = functools.cache(lambda word: wanted.intersection(terms(word)))  # most words stand in a text again and again
    words = ((match, has(match[0])) for match in _word().finditer(text, 0, _LONGEST))
    found = list(islice((one for one in words if one[1]), _MOST)) if wanted else []
    whole = {had for _, had in found}
    marks: list[tuple[int, int]] = []
    for match, had in found:
        if not any(had < more for more in whole):  # utf16 for who asked for utf8, where both are
            marks += _inside(match[0], had, match.start()) if match["run"] else [match.span()]
    return marks


def _inside(run: str, had: Collection[str], begin: int) -> Iterator[tuple[int, int]]:
    """Where the terms stand in a run that may be a whole sentence; those that overlap are one."""
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
