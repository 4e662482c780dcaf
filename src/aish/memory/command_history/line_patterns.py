"""Patterns of bash and zsh for whole lines: * ? [a-z] (a|b) @(a|b) ?(a) *(a) +(a), and a backslash before a character.

Pure. A pattern is matched by following all its ways at once, so that the time grows with its length times that of the
line. A regular expression of the same pattern could take years.
"""

import re
from collections.abc import Callable, Iterable

from aish.values.named_tuple import NamedTuple

_DEEPEST = 20  # groups inside each other
_MOST_VISITS = 300_000  # about 0.1 s

Test = Callable[[str], bool]


class Group(NamedTuple):
    """Alternatives, each a sequence; `repeat` is one of @ ? * + as in bash."""

    repeat: str
    alternatives: list[list["Test | Group"]]


class BadPattern(Exception):
    """The text is no pattern, such as one with an open bracket."""


class LinePattern:
    """A compiled pattern. Raises `BadPattern`."""

    def __init__(self, text: str) -> None:
        self._tests: list[Test | None] = [None]  # of each state; None: it needs no character. State 0 is the end
        self._next: list[list[int]] = [[]]
        alternatives, rest = _alternatives(text, 0, depth=0)
        if rest < len(text):
            raise BadPattern(text)
        self._start = self._group(Group("@", alternatives), 0)

    def matches(self, line: str) -> bool:
        """Does it match the whole line? One that takes too long counts as a match: a hidden line does no harm."""
        visits, states = 0, self._reached([self._start])
        for sign in line:
            visits += len(states)
            if not states or visits > _MOST_VISITS:
                return bool(states)
            states = self._reached(
                following
                for state in states
                if (test := self._tests[state]) and test(sign)
                for following in self._next[state]
            )
        return 0 in states

    def _reached(self, states: Iterable[int]) -> set[int]:
        """Return these states, and all that follow them without a character."""
        waiting, found = list(states), set[int]()
        while waiting:
            if (state := waiting.pop()) not in found:
                found.add(state)
                if self._tests[state] is None:
                    waiting += self._next[state]
        return found

    def _state(self, test: Test | None, following: list[int]) -> int:
        self._tests.append(test)
        self._next.append(following)
        return len(self._tests) - 1

    def _sequence(self, parts: list["Test | Group"], then: int) -> int:
        """Add the states of a sequence, and return the first one."""
        for part in reversed(parts):
            then = self._group(part, then) if isinstance(part, Group) else self._state(part, [then])
        return then

    def _group(self, group: Group, then: int) -> int:
        loop = self._state(None, []) if group.repeat in ("*", "+") else then  # where an alternative leads to
        starts = [self._sequence(one, loop) for one in group.alternatives]
        if loop != then:
            self._next[loop] += [*starts, then]
        return self._state(None, [*starts, then] if group.repeat in ("?", "*") else starts)


def _alternatives(text: str, place: int, depth: int) -> tuple[list[list["Test | Group"]], int]:
    """Read up to the bracket that closes a group, or to the end. Return the alternatives and the place behind them."""
    if depth > _DEEPEST:
        raise BadPattern(text)
    found: list[list[Test | Group]] = [[]]
    while place < len(text):
        sign, following = text[place], text[place + 1 : place + 2]
        place += 1
        if sign == "\\" and following:
            found[-1].append(following.__eq__)
            place += 1
        elif sign == "(" or (sign in "@?*+" and following == "("):
            inside, place = _alternatives(text, place + (sign != "("), depth + 1)
            if text[place - 1 : place] != ")":
                raise BadPattern(text)
            found[-1].append(Group("@" if sign == "(" else sign, inside))
        elif sign == ")" and depth:
            return found, place
        elif sign == "|" and depth:
            found.append([])
        elif sign == "*":
            found[-1].append(Group("*", [[_any]]))
        elif sign == "[" and (end := _end_of_class(text, place)):
            found[-1].append(_class(text[place:end]))
            place = end + 1
        else:
            found[-1].append(_any if sign == "?" else sign.__eq__)
    if depth:
        raise BadPattern(text)
    return found, place


def _any(sign: str) -> bool:
    return True


def _end_of_class(text: str, start: int) -> int:
    """Return the place of the `]` that ends a class; 0 if it is only a bracket."""
    first = start + 1 if text[start : start + 1] in ("!", "^") else start
    return max(text.find("]", first + 1), 0)


def _class(inside: str) -> Test:
    negated = inside[:1] in ("!", "^")
    members = re.sub(r"([\\\[\]&~|])", r"\\\1", inside[1:] if negated else inside)
    try:
        pattern = re.compile(f"[{'^' * negated}{members}]", re.DOTALL)
    except re.error:
        raise BadPattern(inside) from None
    return lambda sign: pattern.match(sign) is not None
