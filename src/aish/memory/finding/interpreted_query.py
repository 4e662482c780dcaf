"""Interprets a query with the help of the index: weighted terms, corrected spelling, and speakers that it names.

Pure: a query, term frequencies and names in, an interpreted query out.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping

from aish.memory.finding.query import Query
from aish.memory.finding.ranking import rarity
from aish.memory.finding.terms import query_terms
from aish.values.named_tuple import NamedTuple

_ROLE_NAMES = frozenset("user assistant tool system human ai bot me you".split())
_MIN_LETTERS = 4  # of a word whose spelling is corrected
_MAX_CORRECTED = 16  # terms; a longer query was pasted, not typed
_LETTERS = string.ascii_lowercase


class InterpretedQuery(NamedTuple):
    """A query in the terms of the index."""

    weights: dict[str, float]  # the weight of each term
    text: str  # without the names of speakers; its embedding is compared
    speakers: frozenset[int]
    corrections: dict[str, str]  # terms that no turn has, and what they were replaced by


def interpret_query(
    query: Query, frequency: Callable[[str], int], turns: int, speakers: Mapping[int, str]
) -> InterpretedQuery:
    """Weigh the terms of a query. The name of a speaker selects the speaker and is not a term."""
    named, text = _split_speakers(query.words, speakers)
    weights, corrections = {}, {}
    for number, term in enumerate(query_terms(text)):
        having = frequency(term)
        if not having and number < _MAX_CORRECTED and (instead := _correct(term, frequency)):
            corrections[term], term = instead, instead
            having = frequency(term)
        weights[term] = rarity(max(turns, 1), min(having, max(turns, 1)))
    return InterpretedQuery(weights, text, named, corrections)


def _split_speakers(words: str, speakers: Mapping[int, str]) -> tuple[frozenset[int], str]:
    """The speakers that are named in the words, and the words without them, unless nothing is left."""
    parts: dict[str, set[int]] = {}
    for id, name in speakers.items():
        whole = name.casefold()
        for part in {whole, *whole.split()} - _ROLE_NAMES:
            if len(part) > 1:
                parts.setdefault(part, set()).add(id)
    found: set[int] = set()
    no_capitals = words == words.casefold()  # if there are capitals, only they mark names: Will and Mark are words too

    def take(match: re.Match[str]) -> str:
        ids = parts.get(match[1].casefold()) if no_capitals or match[1] != match[1].casefold() else None
        found.update(ids or ())
        return " " if ids else match[0]

    rest = " ".join(re.sub(r"\b([^\W\d_][\w-]*?)(?:['’]s)?\b(?![\w-])", take, words).split()) if parts else words
    return frozenset(found), rest if re.search(r"\w", rest) else words


def _correct(term: str, frequency: Callable[[str], int]) -> str:
    """The most frequent term within one edit: a letter added, removed or replaced, or two swapped; empty if none."""
    if len(term) < _MIN_LETTERS or not term.isalpha():
        return ""
    best = max(_edits(term), key=frequency)
    return best if frequency(best) else ""


def _edits(term: str) -> Iterator[str]:
    for place in range(len(term) + 1):
        head, tail = term[:place], term[place:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]
