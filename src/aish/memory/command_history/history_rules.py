"""The user's rules for history: which lines leave no trace. They are those of bash and zsh.

Pure: takes lines, returns whether they are hidden.
"""

import re
from functools import lru_cache

from aish.memory.command_history.line_patterns import BadPattern, LinePattern
from aish.values.named_tuple import NamedTuple

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
        return any(pattern.matches(command) for pattern in _patterns(self.ignore, self.zsh_ignore))


@lru_cache(maxsize=8)
def _patterns(bash: str, zsh: str) -> tuple[LinePattern, ...]:
    """Return the patterns. `&`, the previous line, is left out: it concerns repetitions only."""
    texts = [one.replace(r"\:", ":") for one in re.split(_ESCAPED_COLON, bash)] + [zsh]
    found = (_compiled(text) for text in texts if text and text != "&")
    return tuple(pattern for pattern in found if pattern)


def _compiled(text: str) -> LinePattern | None:
    try:
        return LinePattern(text)
    except BadPattern:
        return None  # hide nothing rather than everything
