"""The user's rules for history: which lines leave no trace. They are those of bash and zsh.

Pure: takes lines, returns whether they are hidden.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_ESCAPED_COLON = r"(?<!\\):"
_DELETES = re.compile(r"!?aish\s+history\s+delete\b")  # it has the text that is to be gone
_LONGEST = 1_000  # characters; patterns are not matched against pasted data


class HistoryRules(NamedTuple):
    """HISTCONTROL and HISTIGNORE of bash, HISTORY_IGNORE of zsh, and the file that the shell writes.

    `ignoredups` and `erasedups` need no rule: the list has each command once, at its newest place.
    """

    control: str = ""
    ignore: str = ""
    zsh_ignore: str = ""
    file: str = ""

    def hides(self, line: str) -> bool:
        """Does a line leave no trace? A leading space always hides it, as with `HISTCONTROL=ignorespace`."""
        if line[:1] in (" ", "\t") or _DELETES.match(line):
            return True
        if not (self.ignore or self.zsh_ignore) or len(line) > _LONGEST:
            return False
        command = line.removeprefix("!").strip()
        return any(pattern.fullmatch(command) for pattern in _patterns(self.ignore, self.zsh_ignore))


@lru_cache(maxsize=8)
def _patterns(bash: str, zsh: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns. `&`, the previous line, is left out: it concerns repetitions only."""
    texts = [one.replace(r"\:", ":") for one in re.split(_ESCAPED_COLON, bash)] + [zsh]
    found = (_compiled(text) for text in texts if text and text != "&")
    return tuple(pattern for pattern in found if pattern)


def _compiled(glob: str) -> re.Pattern[str] | None:
    try:
        return re.compile(_expression(glob), re.DOTALL)
    except (re.error, RecursionError, OverflowError):
        return None  # no pattern: hide nothing rather than everything


def _expression(glob: str) -> str:
    """Translate a pattern of bash or zsh: * ? [a-z] (a|b) @(a|b) ?(a) *(a) +(a), and a backslash before a character."""
    out: list[str] = []
    closing: list[str] = []  # what ends each open group
    place = 0
    while place < len(glob):
        sign, following = glob[place], glob[place + 1 : place + 2]
        place += 1
        if sign == "\\" and following:
            out.append(re.escape(following))
            place += 1
        elif sign in "@?*+" and following == "(":
            out.append("(?:")
            closing.append(")" + ("" if sign == "@" else sign))
            place += 1
        elif sign == "(":
            out.append("(?:")
            closing.append(")")
        elif sign == ")" and closing:
            out.append(closing.pop())
        elif sign == "|" and closing:
            out.append("|")
        elif sign == "*":
            out.append(".*")
        elif sign == "?":
            out.append(".")
        elif sign == "[" and (end := _end_of_class(glob, place)):
            out.append(_class(glob[place:end]))
            place = end + 1
        else:
            out.append(re.escape(sign))
    return "".join(out)


def _end_of_class(glob: str, start: int) -> int:
    """Return the place of the `]` that ends a class; 0 if it is only a bracket."""
    first = start + 1 if glob[start : start + 1] in ("!", "^") else start
    return max(glob.find("]", first + 1), 0)


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    members = re.sub(r"([\\\[\]&~|])", r"\\\1", inside[1:] if negated else inside)
    return f"[{'^' * negated}{members}]"
