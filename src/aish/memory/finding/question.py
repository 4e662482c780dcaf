"""What a question asks for, once the index is known: terms, who is named, and between which times.

Pure: the query and what the index knows in, a question out.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from aish.memory.finding.query import Query
from aish.memory.finding.ranking import rarity
from aish.memory.finding.terms import query_terms
from aish.values.hits import Scope

_ROLE_NAMES = frozenset("user assistant tool system human ai bot me you".split())
_NOBODY = "nobody"  # is found by who asks for two roles that exclude each other
_LONG = 4  # letters from which a word may be misspelt
_TYPED = 16  # terms of a question that may be; more of them were pasted
_LETTERS = string.ascii_lowercase


class Asked(NamedTuple):
    """A question in the terms of the index."""

    weights: dict[str, float]  # what each term weighs
    text: str  # without the names of who is asked about, for its meaning
    speakers: frozenset[int]
    spelt: dict[str, str]  # terms that nobody has used, and what was taken instead


def understand(query: Query, frequency: Callable[[str], int], turns: int, speakers: Mapping[int, str]) -> Asked:
    """The terms of a query with their weights; names of speakers count as speakers and not as words."""
    named, text = _named(query.words, speakers)
    weights, spelt = {}, {}
    for number, term in enumerate(query_terms(text)):
        having = frequency(term)
        if not having and number < _TYPED and (instead := _near(term, frequency)):
            spelt[term], term = instead, instead
            having = frequency(term)
        weights[term] = rarity(max(turns, 1), min(having, max(turns, 1)))
    return Asked(weights, text, named, spelt)


def _named(words: str, speakers: Mapping[int, str]) -> tuple[frozenset[int], str]:
    """Who is named in the question, and the question without them, unless nothing is left then."""
    parts: dict[str, set[int]] = {}
    for id, name in speakers.items():
        whole = name.casefold()
        for part in {whole, *whole.split()} - _ROLE_NAMES:
            if len(part) > 1:
                parts.setdefault(part, set()).add(id)
    found: set[int] = set()
    careless = words == words.casefold()  # who writes capitals means a name by one: Will and Mark are words too

    def take(match: re.Match[str]) -> str:
        ids = parts.get(match[1].casefold()) if careless or match[1] != match[1].casefold() else None
        found.update(ids or ())
        return " " if ids else match[0]

    rest = " ".join(re.sub(r"\b([^\W\d_][\w-]*?)(?:['’]s)?\b(?![\w-])", take, words).split()) if parts else words
    return frozenset(found), rest if re.search(r"\w", rest) else words


def _near(term: str, frequency: Callable[[str], int]) -> str:
    """The term that was probably meant: one letter more, less or other, or two of them swapped."""
    if len(term) < _LONG or not term.isalpha():
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


class Bounds(NamedTuple):
    """What may be found, put together from the query and the scope."""

    channel: str
    roles: frozenset[str]
    since: datetime | None
    until: datetime | None


def bounds(query: Query, scope: Scope) -> Bounds:
    """The narrower of both counts."""
    sinces = [time for time in (query.since, scope.since) if time]
    untils = [time for time in (query.until, scope.until) if time]
    roles = query.roles
    if scope.role:
        roles = frozenset({scope.role} if scope.role in roles or not roles else {_NOBODY})
    return Bounds(scope.channel or query.channel, roles, max(sinces, default=None), min(untils, default=None))
