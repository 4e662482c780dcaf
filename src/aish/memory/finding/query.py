"""What a search asks for: words, phrases, what must not be there, who spoke, where and when.

Pure: text and `now` in, a query out. There is no wrong query: what is not understood is a word like any other, or is
told in `trouble` where it was clearly meant as more.
"""

import functools
import re
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from aish.memory.finding.when import LONGEST, TimeSpan, find_times, read_moment

_ROLES = (
    dict.fromkeys(("user", "me", "human"), "user")
    | dict.fromkeys(("assistant", "ai", "you", "bot"), "assistant")
    | {"tool": "tool"}
)
# Each opening quote may not be repeated inside, so that a row of them is read once and not once from each.
_QUOTED = r'"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」|『[^『』]*』'
_OPERATORS = rf"""
    (?<!\S)(?P<name>role|in|since|until|before|after):(?P<value>{_QUOTED}|[^\s"“„«]+)
  | (?<!\S)-(?P<out>{_QUOTED}|[^\W\d_][\w]*)(?![\w-])(?!\.\w|[/=:@])
  | (?P<phrase>{_QUOTED})
"""
_SIGNS = ':-"“„«「『'  # without one of these there is no operator
_QUOTES = '"“”„«»「」『』 '
# With one dash these are options of programs that people ask about.
_OPTIONS = frozenset(
    "name iname type exec size mtime path maxdepth print print0 delete regex perm newer jar xzf xvf czf cvf tzf zxvf "
    "xvzf lah lrt rlt ltr aux ano tulpn tlnp tunlp wall".split()
)
_MOST = 50  # who writes more operators is not asking
_SENTENCE = 5  # words besides what is quoted
_MORE_WORDS = 3  # since:2 weeks ago, without quotes


class Query(NamedTuple):
    """A question to the memory, taken apart.

    `words` is what is left when operators, phrases and sure times are out. `since` and `until` come from operators, and
    `times` from plain language; their places are in the text as it was given.
    """

    words: str = ""
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()
    channel: str = ""
    since: datetime | None = None
    until: datetime | None = None
    times: tuple[TimeSpan, ...] = ()
    trouble: tuple[str, ...] = ()


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_OPERATORS, re.VERBOSE | re.IGNORECASE)


@functools.cache
def _unfit() -> re.Pattern[str]:
    """Control characters and halves of characters, which no index takes."""
    return re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def read_query(text: str, now: datetime) -> Query:
    """Take a question apart. Only the beginning of a long text is a question; the rest was pasted, and is words."""
    text = text if text.isprintable() else _unfit().sub(" ", text)
    head = text[:LONGEST]
    reader = _Reader(now)
    if any(sign in head for sign in _SIGNS):
        for match in islice(_pattern().finditer(head), _MOST):
            reader.take(match)
    head = _blanked(head, reader.taken)
    times = tuple(find_times(head, now))
    rest = _blanked(head, [(span.begin, span.end) for span in times if span.sure]) + text[LONGEST:]
    return _meant(reader.query(" ".join(rest.split()), times))


def _meant(query: Query) -> Query:
    """In a whole sentence a quote tells what it is about; only among a few words is it what must be there."""
    if len(query.words.split()) < _SENTENCE:
        return query
    return query._replace(words=" ".join([query.words, *query.phrases]), phrases=())


def _blanked(text: str, places: list[tuple[int, int]]) -> str:
    """The text with blanks at these places, so that all others stay where they were."""
    parts, at = [], 0
    for begin, end in places:
        parts += [text[at:begin], " " * (end - begin)]
        at = end
    return "".join([*parts, text[at:]])


class _Reader:
    """Gathers a query from one operator after the other, and which characters they took."""

    def __init__(self, now: datetime) -> None:
        self.taken: list[tuple[int, int]] = []
        self._now = now
        self._phrases: list[str] = []
        self._without: list[str] = []
        self._roles: set[str] = set()
        self._channel = ""
        self._since: list[datetime] = []
        self._until: list[datetime] = []
        self._trouble: list[str] = []

    def take(self, match: re.Match[str]) -> None:
        """Read one operator; what is none stays a part of the words."""
        end = match.end()
        if match["phrase"]:
            self._phrases.append(_inner(match["phrase"]))
        elif match["out"]:
            word = _inner(match["out"])
            if match["out"] == word and not _excludes(word):
                return
            self._without.append(word)
        else:
            end = self._operator(match["name"].lower(), _inner(match["value"]), match)
        self.taken.append((match.start(), end))

    def query(self, words: str, times: tuple[TimeSpan, ...]) -> Query:
        """All that was gathered; of two bounds the narrower one counts."""
        return Query(
            words=words,
            phrases=_distinct(self._phrases),
            without=_distinct(self._without),
            roles=frozenset(self._roles),
            channel=self._channel,
            since=max(self._since, default=None),
            until=min(self._until, default=None),
            times=times,
            trouble=_distinct(self._trouble),
        )

    def _operator(self, name: str, value: str, match: re.Match[str]) -> int:
        """Read `name:value`, and say where it ends."""
        if name == "in":
            self._channel = value.lstrip("#")
        elif name == "role":
            self._role(value)
        else:
            return self._bound(name, value, match)
        return match.end()

    def _role(self, value: str) -> None:
        for word in value.lower().split(","):
            if role := _ROLES.get(word.strip()):
                self._roles.add(role)
            elif word:
                self._trouble.append(f"role:{word[:40]} is nobody here; try role:user, role:assistant or role:tool")

    def _bound(self, name: str, value: str, match: re.Match[str]) -> int:
        """Read the time of `since:` and its like, which may go on after a blank."""
        for words, end in _longer(value, match):
            moment = read_moment(words, self._now, end=name in ("until", "after"))
            if moment is not None:
                (self._since if name in ("since", "after") else self._until).append(moment)
                return end
        examples = f"{name}:2026-05-08, {name}:yesterday or {name}:3d"
        self._trouble.append(f"{name}:{value[:40]} is no time that I know; try {examples}")
        return match.end()


def _distinct(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


def _longer(value: str, match: re.Match[str]) -> list[tuple[str, int]]:
    """The value with up to three of the words after it, the longest first; quotes say where it ends."""
    result = [(value, match.end())]
    if match["value"][0] in _QUOTES:
        return result
    for word in re.finditer(r"[ \t]{1,4}([^\s:\"-][^\s:\"]{0,19})(?!\S)", match.string[match.end() : match.end() + 80]):
        if len(result) > _MORE_WORDS or match.end() + word.start() != result[-1][1]:
            break
        result.append((f"{result[-1][0]} {word[1]}", match.end() + word.end()))
    return result[::-1]


def _inner(text: str) -> str:
    """What stands inside quotes, with single blanks."""
    return " ".join(text.strip(_QUOTES).split()) if text[:1] in _QUOTES else text


def _excludes(word: str) -> bool:
    """Is a word after a dash to be left out, or the option of a program?"""
    if not word.isascii():
        return len(word) >= 2 or ord(word[0]) >= 0x2E80  # one sign can be a whole word in Chinese
    return len(word) >= 3 and word.lower() not in _OPTIONS
