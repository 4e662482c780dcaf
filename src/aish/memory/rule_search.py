"""Finds where the rules of secrets match a text, in little time also if the text has the needles of many rules.

Pure functions. To search a text with each pattern is slow. But nearly all rules say with which texts a match begins,
and a pattern that is tried at one place takes less than a microsecond. Words are looked up by their first two letters,
in one go for all rules; other beginnings are found one by one.
"""

import re
from collections.abc import Iterator

from aish.memory.secret_hints import SHORTEST_TOKEN, has_long_run
from aish.memory.secret_rules import RULES, Rule
from aish.values.patterns import compiled

_FAR, _ROOM = 300, 500  # characters from a program to its option, and for the value of that
_PAIR = r"\b\w\w"
_COMMAND_REST = r"(?:[^|;&\n\\]|\\\n|\\)*"
_INSIDE_TOKENS = (".", ":", "-", "8Q", "hooks", "/")  # needles with which the token does not begin

_Places = list[int] | None  # where a match may begin; None: anywhere


class _Search:
    """A rule, with what is needed to find its matches. Patterns are compiled on first use."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.folded = rule, rule.folded
        self.needles, self.starts = rule.needles.split(), rule.starts.split()
        if rule.token and not rule.needles.startswith(_INSIDE_TOKENS):
            self.starts = self.needles
        self.at_words = not rule.token and bool(self.starts) and all(map(_is_word, self.starts))
        self.hyphen = rule.hyphen

    def may_match(self, text: str) -> bool:
        """Is there a needle in the text?"""
        for needle in self.needles:  # noqa: SIM110  # much faster than `any`
            if needle in text:
                return True
        return False

    def matches(self, text: str, places: _Places) -> Iterator[re.Match[str]]:
        rule = self.rule
        if rule.option:
            return _options(rule, text, places)
        if rule.token:
            return _matches_at(rf"(?a)(?<![A-Za-z0-9_])(?<![\w-]{{24}})(?:{rule.pattern})", text, places)
        return _matches_at(rule.pattern, text, places)


def _is_word(start: str) -> bool:
    """Does a pattern match this at the beginning of a word only? Chinese and Japanese have no blanks between words."""
    return len(start) > 1 and start[0].isalnum() and start[0] < "\u0e00" and start != "auth"


_SEARCHES = [_Search(rule) for rule in RULES]
_TOKENS = [search for search in _SEARCHES if search.rule.token]
_OTHERS = [search for search in _SEARCHES if not (search.at_words or search.rule.token or search.rule.foreign)]
_FOREIGN = [search for search in _SEARCHES if search.rule.foreign and not search.at_words]
_BY_PAIR = dict[str, list[tuple[str, _Search]]]()
for _search in _SEARCHES:
    for _start in _search.starts if _search.at_words else ():
        _BY_PAIR.setdefault(_start[:2], []).append((_start, _search))


def rule_matches(block: str, low: str) -> Iterator[tuple[Rule, re.Match[str]]]:
    """Find the matches of all rules, each rule by itself. `low` is the block in lower case."""
    for search, places in _at_words(block, low):
        for match in search.matches(low if search.folded else block, places):
            yield search.rule, match
    for search in _OTHERS if block.isascii() else [*_OTHERS, *_FOREIGN]:
        text = low if search.folded else block
        if search.may_match(text) and (not search.hyphen or "-" in block):
            for match in search.matches(text, positions(search.starts, text) if search.starts else None):
                yield search.rule, match
    if has_long_run(block):
        words = "\n".join(word for word in block.split() if len(word) >= SHORTEST_TOKEN)
        for search in _TOKENS:
            if search.may_match(words):
                for match in search.matches(block, positions(search.starts, block) if search.starts else None):
                    yield search.rule, match


def _at_words(block: str, low: str) -> list[tuple[_Search, list[int]]]:
    """Return the rules that begin with words of the block, and where these are."""
    found = dict[_Search, list[int]]()
    for match in compiled(_PAIR).finditer(low):
        if entries := _BY_PAIR.get(match[0]):
            place = match.start()
            for word, search in entries:
                if (low if search.folded else block).startswith(word, place):
                    found.setdefault(search, []).append(place)
    return [
        (search, places)
        for search, places in found.items()
        if search.may_match(low if search.folded else block) and (not search.hyphen or "-" in block)
    ]


def positions(words: list[str] | tuple[str, ...], text: str) -> list[int]:
    """Return where one of these words is in the text, in order."""
    found = list[int]()
    for word in words:
        place = text.find(word)
        while place >= 0:
            found.append(place)
            place = text.find(word, place + 1)
    found.sort()
    return found


def _matches_at(pattern: str, text: str, places: _Places) -> Iterator[re.Match[str]]:
    """Find what `finditer` finds, but only at these places."""
    if places is None:
        yield from compiled(pattern).finditer(text)
        return
    matcher, done = compiled(pattern).match, 0
    for place in places:
        if place >= done and (match := matcher(text, place)):
            yield match
            done = match.end()


def _options(rule: Rule, text: str, places: _Places) -> Iterator[re.Match[str]]:
    """Find the option of a rule in each command that has its program; once, however often the program is named."""
    done = 0
    for program in _matches_at(rule.program, text, places):
        if program.start() < done:
            continue
        done = end = compiled(_COMMAND_REST).match(text, program.end()).end()  # type: ignore[union-attr]  # matches nothing, too
        option = compiled(rule.argument).search(text, program.end(), min(end, program.end() + _FAR) + _ROOM)
        if option and option.start("value") <= end:
            yield option
