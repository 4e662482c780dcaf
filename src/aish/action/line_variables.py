"""The variables of one command line: what it sets them to, and what a use of them may become.

Pure: words in, words out.
"""

import re

from aish.action.command_words import NUMBER, OPEN, CommandWord, from_values, is_number, variable
from aish.values.patterns import pattern

# Variables that every shell has, and what they stand for as a path.
_GIVEN = {
    "HOME": "~",
    "PWD": ".",
    "OLDPWD": ".",
    "USER": "user",
    "LOGNAME": "user",
    "HOSTNAME": "host",
    "TMPDIR": "/tmp",
}
# Variables that hold numbers, unless the line itself sets them.
NUMBERS = frozenset("RANDOM SECONDS LINENO COLUMNS LINES UID EUID PPID EPOCHSECONDS BASHPID SHLVL".split())

_NUMBER_PRINTED = pattern(
    r'"?\$\( ?(?:date \+%[sYmdHMSj]|nproc|(?>(?:[\w ./,:=+*-]++\|)*) ?wc -[lwcm](?: ?< ?[\w./-]+)?) ?\)"?', re.ASCII
)


class LineVariables:
    """The words assigned to each variable anywhere in a line.

    A loop may use variables that it sets later. So a line is read again, after `again`, until no new values appear.
    `bound` are the variables that are set by other means than an assignment, `mentioned` all values.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[CommandWord]] = {}
        self.again()

    def again(self) -> None:
        self._used: set[str] = set()
        self.late = False
        self.bound: list[tuple[str, CommandWord]] = []
        self.mentioned: list[CommandWord] = []

    def assign(self, name: str, values: list[CommandWord]) -> None:
        known = self._values.setdefault(name, [])
        new = [value for value in values if value not in known]
        self.late |= bool(new) and name in self._used
        known += new
        self.mentioned += values

    def bind(self, name: str, values: list[CommandWord]) -> None:
        """Set a variable by a loop, `read` or arithmetic, which is judged like an assignment."""
        self.assign(name, values)
        self.bound += [(name, value) for value in values or [OPEN]]

    def bind_reader(self, words: list[CommandWord]) -> None:
        """Mark variables set by `read x` as unknown. Other commands that set variables are not in the table."""
        if words and words[0].plain in ("read", "mapfile", "readarray"):
            for text in (text for word in words[1:] for text in word.texts if text.isidentifier()):
                self.bind(text, [OPEN])

    def holds_number(self, raw: str) -> bool:
        """Does this name, or this expansion of one, always give a number? Raises `UnreadableCommand`."""
        name, whole = (raw, True) if raw.isidentifier() else variable(raw)
        self._used.add(name)
        if is_number(raw):
            return True
        values = self._values.get(name)
        if values is None:
            return whole and name in NUMBERS
        return whole and all(_gives_number(value) for value in values)

    def expand(self, raw: str, *, quoted: bool) -> CommandWord:
        """Return the word for `$x` or `${x…}`. Raises `UnreadableCommand`."""
        name, whole = variable(raw)
        self._used.add(name)
        if is_number(raw) or (whole and name in NUMBERS and name not in self._values):
            return NUMBER._replace(raw=raw)
        if name in self._values:
            word = from_values(raw, self._values[name], quoted=quoted)
            if whole:
                return word
            unknown = word.unknown_file or bool(word.texts)
            return OPEN._replace(raw=raw, unknown_file=unknown, origins=word.origins)
        if whole and name in _GIVEN:
            return CommandWord(raw, (_GIVEN[name],))
        return OPEN._replace(raw=raw)


def prints_number(raw: str) -> bool:
    """Is this a substitution of a command that prints nothing but a number?"""
    return _NUMBER_PRINTED.fullmatch(raw) is not None


def _gives_number(value: CommandWord) -> bool:
    return prints_number(value.raw) or all(text.lstrip("-").isdigit() for text in value.texts)
