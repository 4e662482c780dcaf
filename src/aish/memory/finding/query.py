"""Parses a query: words, phrases, excluded words, roles, channel and times.

Pure: text and `now` in, a query out. There is no invalid query: what is not understood is treated as words, and an
operator with an invalid value is reported in `trouble`.
"""

import functools
import re
from datetime import datetime
from itertools import islice

from aish.memory.finding.when import MAX_CHARACTERS, TimeSpan, find_times, read_moment
from aish.values.named_tuple import NamedTuple

_ROLES = (
    dict.fromkeys(("user", "me", "human"), "user")
    | dict.fromkeys(("assistant", "ai", "you", "bot"), "assistant")
    | {"tool": "tool"}
)
# An opening quote may not be repeated inside, so that a run of quotes is scanned in linear time.
_QUOTED = r'"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」|『[^『』]*』'
_OPERATORS = rf"""
    (?<!\S)(?P<name>role|in|since|until|before|after):(?P<value>{_QUOTED}|[^\s"“„«]+)
  | (?<!\S)-(?P<out>{_QUOTED}|[^\W\d_]\w*(?:[.+#-]+\w+)*[+#]*)(?![\w-])(?![/=:@])
  | (?P<phrase>{_QUOTED})
"""
_SIGNS = ':-"“„«「『'  # a text without any of these has no operator
_QUOTES = '"“”„«»「」『』 '
# In a query that begins with one of these programs, short words after a dash are its options, and so are those listed.
_OPTIONS = dict.fromkeys(
    "awk bash cargo cat chmod chown cp curl cut date df diff docker du git go grep gzip head kill kubectl ln make"
    " mkdir mount mv nc npm perl pip pkill ping python python3 rg rm rsync scp sed sh sort ssh sudo tail tee tmux touch"
    " tr uname uniq unzip vim wc wget xargs zip zsh".split(),
    frozenset[str](),
) | {
    "find": frozenset("name iname type exec size mtime path maxdepth print print0 delete regex perm newer".split()),
    "java": frozenset({"jar"}),
    "tar": frozenset("xzf xvf czf cvf tzf zxvf xvzf".split()),
    "ls": frozenset("lah lrt rlt ltr".split()),
    "ps": frozenset({"aux"}),
    "netstat": frozenset("ano tulpn tlnp tunlp".split()),
    "ss": frozenset("tulpn tlnp tunlp".split()),
    "gcc": frozenset({"wall"}),
}
_SHORT = 2  # letters of an option such as -la
_MAX_OPERATORS = 50
_SENTENCE = 5  # words outside quotes that make a query a sentence
_MORE_WORDS = 3  # of a time after the first word, as in since:2 weeks ago


class Query(NamedTuple):
    """A parsed query.

    `words` is the text without operators, phrases and sure times. `since` and `until` come from operators. `times` come
    from plain language; their places refer to the original text.
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
def _unsearchable() -> re.Pattern[str]:
    """Control characters and lone surrogates, which an index cannot store."""
    return re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def read_query(text: str, now: datetime) -> Query:
    """Parse a query. Only the beginning of a long text is parsed; the rest was pasted and counts as words."""
    text = text if text.isprintable() else _unsearchable().sub(" ", text)
    head = text[:MAX_CHARACTERS]
    reader = _Reader(now)
    if any(sign in head for sign in _SIGNS):
        for match in islice(_pattern().finditer(head), _MAX_OPERATORS):
            reader.take(match)
    head = _blanked(head, reader.taken)
    times = tuple(find_times(head, now))
    rest = _blanked(head, [(span.begin, span.end) for span in times if span.sure]) + text[MAX_CHARACTERS:]
    return _quotes_to_words(reader.query(" ".join(rest.split()), times))


def _quotes_to_words(query: Query) -> Query:
    """In a sentence, a quote is a topic and not a required phrase: treat it as words."""
    if len(query.words.split()) < _SENTENCE:
        return query
    return query._replace(words=" ".join([query.words, *query.phrases]), phrases=())


def _blanked(text: str, places: list[tuple[int, int]]) -> str:
    """Replace these places by spaces, so that all other characters keep their places."""
    parts, at = [], 0
    for begin, end in places:
        parts += [text[at:begin], " " * (end - begin)]
        at = end
    return "".join([*parts, text[at:]])


class _Reader:
    """Collects operators, and the characters they occupy."""

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
        """Read one match; if it is not an operator, it stays among the words."""
        end = match.end()
        if match["phrase"]:
            self._phrases.append(_inner(match["phrase"]))
        elif match["out"]:
            word = _inner(match["out"])
            if match["out"] == word and not _excludes(word, match.string):
                return
            self._without.append(word)
        else:
            end = self._operator(match["name"].lower(), _inner(match["value"]), match)
        self.taken.append((match.start(), end))

    def query(self, words: str, times: tuple[TimeSpan, ...]) -> Query:
        """The complete query; of two limits the narrower one applies."""
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
        """Read `name:value` and return its end."""
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
                self._trouble.append(f'unknown role "{word[:40]}"; try role:user, role:assistant or role:tool')

    def _bound(self, name: str, value: str, match: re.Match[str]) -> int:
        """Read the time of `since:` or another limit; it may continue after a space. Returns its end."""
        for words, end in _longer(value, match):
            moment = read_moment(words, self._now, end=name in ("until", "after"))
            if moment is not None:
                (self._since if name in ("since", "after") else self._until).append(moment)
                return end
        examples = f"{name}:2026-05-08, {name}:yesterday or {name}:3d"
        self._trouble.append(f'unknown time "{value[:40]}" after {name}:; try {examples}')
        return match.end()


def _distinct(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


def _longer(value: str, match: re.Match[str]) -> list[tuple[str, int]]:
    """The value with up to three following words, longest first; a quoted value ends with its quote."""
    result = [(value, match.end())]
    if match["value"][0] in _QUOTES:
        return result
    for word in re.finditer(r"[ \t]{1,4}([^\s:\"-][^\s:\"]{0,19})(?!\S)", match.string[match.end() : match.end() + 80]):
        if len(result) > _MORE_WORDS or match.end() + word.start() != result[-1][1]:
            break
        result.append((f"{result[-1][0]} {word[1]}", match.end() + word.end()))
    return result[::-1]


def _inner(text: str) -> str:
    """The text inside quotes, with single spaces."""
    return " ".join(text.strip(_QUOTES).split()) if text[:1] in _QUOTES else text


def _excludes(word: str, text: str) -> bool:
    """Is a word after a dash an excluded word, and not the option of a program that the text begins with?"""
    program = text.split(maxsplit=1)[0].casefold()
    options = _OPTIONS.get(program)
    return options is None or (len(word) > _SHORT and word.lower() not in options)
