"""Finds where the rules of secrets match a text, in little time also if the text has the needles of many rules.

Pure functions. To search a text with each pattern is slow. But nearly all rules say with which texts a match begins,
and a pattern that is tried at one place takes less than a microsecond. Words are looked up by their first two letters,
and the beginnings of tokens by one pattern, each in one go for all rules; other beginnings are found one by one.
"""

import re
from collections.abc import Iterable

from aish.memory.secret_hints import has_long_run
from aish.memory.secret_rules import RULES, Rule
from aish.values.patterns import pattern

_FAR, _ROOM = 300, 500  # characters from a program to its option, and for the value of that
_COMMAND_REST = pattern(r"(?:[^|;&\n\\]|\\\n|\\)*")
_ALONE, _NOT_INSIDE = r"(?<![A-Za-z0-9_])", r"(?<![\w-]{24})"  # before a token

_Matches = list[tuple[Rule, re.Match[str]]]


class _Search:
    """A rule, with what is needed to find its matches. Patterns are compiled on first use."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.folded, self.hyphen = rule, rule.folded, rule.hyphen
        self.needles, self.starts = rule.needles.split(), rule.starts.split()
        if rule.token and not rule.sign:
            self.starts = self.needles
        self.at_words = not rule.token and bool(self.starts) and all(map(_is_word, self.starts))
        self.argument = pattern(rule.argument) if rule.option else None
        self.sign = pattern(rule.sign) if rule.sign else None
        text = rule.program if rule.option else rule.pattern
        self.pattern = pattern(f"(?a){_ALONE}{_NOT_INSIDE}(?:{text})" if rule.token else text)

    def may_match(self, text: str) -> bool:
        """Is there a needle in the text?"""
        for needle in self.needles:
            if needle in text:
                return not self.hyphen or "-" in text
        return False

    def matches(self, text: str, places: list[int] | None = None) -> list[re.Match[str]]:
        """Find what `finditer` finds. If it is known where matches may begin, look only there."""
        if places is None:
            if self.sign and not self.sign.search(text):
                return []
            if not self.starts:
                return list(self.pattern.finditer(text))
            places = positions(self.starts, text)
        found, done, match_at = list[re.Match[str]](), 0, self.pattern.match
        for place in places:
            if place >= done and (match := match_at(text, place)):
                found.append(match)
                done = match.end()
        return _options(self.argument, text, found) if self.argument and found else found


def _is_word(start: str) -> bool:
    """Does a pattern match this at the beginning of a word only? Chinese and Japanese have no blanks between words."""
    return len(start) > 1 and start[0].isalnum() and start[0] < "\u0e00" and start != "auth"


def _by_first(words: Iterable[str]) -> str:
    """Return a pattern that matches one of these words, the longest first. It tests each first letter only once."""
    rests = dict[str, list[str]]()
    for word in sorted(words, key=len, reverse=True):
        rests.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(those)})" for first, those in rests.items())


_SEARCHES = [_Search(rule) for rule in RULES]
_FOREIGN = [search for search in _SEARCHES if search.rule.foreign and search.starts and not search.at_words]
_OTHERS = [search for search in _SEARCHES if not (search.at_words or search.rule.token or search in _FOREIGN)]
_BY_PAIR = dict[str, list[tuple[str, _Search]]]()
for _search in _SEARCHES:
    for _start in _search.starts if _search.at_words else ():
        _BY_PAIR.setdefault(_start[:2], []).append((_start, _search))
_FIRST, _SECOND = ("".join({re.escape(pair[place]) for pair in _BY_PAIR}) for place in (0, 1))
_PAIR = pattern(rf"\b(?=[{_FIRST}][{_SECOND}])(?:{_by_first(_BY_PAIR)})")  # most words fail at the first test

_TOKENS = [search for search in _SEARCHES if search.rule.token and search.starts]
_INSIDE_TOKENS = [search for search in _SEARCHES if search.rule.token and search.sign]  # begin with anything
_BY_START = {
    start: [search for search in _TOKENS if start.startswith(tuple(search.starts))]
    for search in _TOKENS
    for start in search.starts
}
_START = pattern(rf"{_ALONE}(?=({_by_first(_BY_START)}))")
_BY_FOREIGN = {
    start: [search for search in _FOREIGN if start.startswith(tuple(search.starts))]
    for search in _FOREIGN
    for start in search.starts
}
_FOREIGN_START = pattern(f"(?=({_by_first(_BY_FOREIGN)}))")


def rule_matches(block: str, low: str) -> _Matches:
    """Find the matches of all rules, each rule by itself, tokens first. `low` is the block in lower case."""
    found = _Matches()
    if has_long_run(block):
        found += _tokens(block)
        for search in _INSIDE_TOKENS:
            if search.may_match(block):
                found += [(search.rule, match) for match in search.matches(block)]
    for search, places in _at_words(block, low).items():
        text = low if search.folded else block
        if search.may_match(text):
            found += [(search.rule, match) for match in search.matches(text, places)]
    for search in _OTHERS:
        text = low if search.folded else block
        if search.may_match(text):
            found += [(search.rule, match) for match in search.matches(text)]
    return found


def _at_words(block: str, low: str) -> dict[_Search, list[int]]:
    """Return the rules that begin with words of the block, and where these are."""
    found = dict[_Search, list[int]]()
    for match in _PAIR.finditer(low):
        place = match.start()
        for word, search in _BY_PAIR[match[0]]:
            if (low if search.folded else block).startswith(word, place):
                found.setdefault(search, []).append(place)
    for match in () if block.isascii() else _FOREIGN_START.finditer(block):
        for search in _BY_FOREIGN[match[1]]:
            found.setdefault(search, []).append(match.start())
    return found


def _tokens(block: str) -> _Matches:
    """Find the tokens whose beginnings are known."""
    found, done = _Matches(), dict[_Search, int]()
    for start in _START.finditer(block):
        place = start.start()
        for search in _BY_START[start[1]]:
            if (match := search.pattern.match(block, place)) and place >= done.get(search, 0):
                found.append((search.rule, match))
                done[search] = match.end()
    return found


def positions(words: list[str] | tuple[str, ...], text: str) -> list[int]:
    """Return where one of these words is in the text, in order."""
    found = list[int]()
    for word in words:
        if word in text:  # much faster than `find`, and most often false
            place = text.find(word)
            while place >= 0:
                found.append(place)
                place = text.find(word, place + 1)
    found.sort()
    return found


def _options(argument: re.Pattern[str], text: str, programs: list[re.Match[str]]) -> list[re.Match[str]]:
    """Find the options in each command that has their program.

    A part of a command is searched once, however often the program is named.
    """
    found, done, end = list[re.Match[str]](), 0, 0
    for program in programs:
        start = program.end()
        if program.start() < done:
            continue
        if start > end:
            end = _COMMAND_REST.match(text, start).end()  # type: ignore[union-attr]  # matches nothing, too
        while (option := argument.search(text, start, min(end, start + _FAR) + _ROOM)) and option.start("value") <= end:
            found.append(option)
            start = option.end()
        done = min(end, start + _FAR)
    return found
