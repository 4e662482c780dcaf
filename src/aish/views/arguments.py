"""The arguments of verbs: plain ones are read here, all others by argparse.

Loading argparse and making a parser takes 4 ms, a tenth of a small verb. So it is loaded for help, for mistakes and for
what is rare (abbreviations, `--`, negative numbers, options between words). What is read here, argparse would read in
the same way; a test compares them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse

Options = SimpleNamespace  # the value of each argument, by its name
REST = "..."  # `nargs` of a place that takes all further words, also those that look like options
HIDDEN = "hidden"  # `help` of an option that is not listed
_NEAR = 0.7  # how alike a word and what was meant must be, from 0 to 1
_SWITCHES = {"store_true": True, "append_const": None}  # actions of options without a value


class VerbArguments:
    """What a verb can be given. Arguments are added as in argparse."""

    def __init__(
        self, prog: str, description: str, *, epilog: str = "", keep_lines: bool = False, allow_abbrev: bool = True
    ) -> None:
        """`keep_lines` keeps the line breaks of description and epilog."""
        self._prog, self._description, self._epilog = prog, description, epilog
        self._keep_lines, self._allow_abbrev = keep_lines, allow_abbrev
        self._options: dict[str, tuple[str, dict[str, Any]]] = {}  # each name of an option → its field, and how it is
        self._places: list[tuple[str, dict[str, Any]]] = []
        self._added: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def add_argument(self, *names: str, **how: Any) -> None:
        """Add an option, or a place for words. Takes what `argparse.ArgumentParser.add_argument` takes."""
        if how.get("nargs") == REST and self._allow_abbrev:
            raise ValueError(f"{names[0]}: argparse would look for abbreviations in the rest of a line")
        self._added.append((names, how))
        if names[0].startswith("-"):
            field = how.get("dest") or max(names, key=len).lstrip("-").replace("-", "_")
            self._options |= dict.fromkeys(names, (field, how))
        else:
            self._places.append((names[0], how))

    def parse_args(self, words: Sequence[str]) -> Options:
        """Return the values. Ends the program after help was shown or a mistake was explained."""
        return self.read(words) or self.parser().parse_args(words, Options())

    def parse_intermixed_args(self, words: Sequence[str]) -> Options:
        """The same; there may be options between the words of a place."""
        return self.read(words, intermixed=True) or self.parser().parse_intermixed_args(words, Options())

    def read(self, words: Sequence[str], *, intermixed: bool = False) -> Options | None:
        """Return the values of plain words: options with their whole names, and other words side by side. Else None."""
        values = {field: how.get("default", _default(how)) for field, how in self._options.values()}
        given: list[str] = []
        closed = False  # has an option followed the words?
        left = iter(words)
        for word in left:
            if not word.startswith("-"):
                if closed and not intermixed:
                    return None
                given.append(word)
                if self._places and self._places[0][1].get("nargs") == REST:
                    given += left
                continue
            closed = bool(given)
            if not self._take_option(word, left, values):
                return None
        return Options(**values) if self._fill_places(given, values) else None

    def _take_option(self, word: str, left: Iterator[str], values: dict[str, Any]) -> bool:
        name, sign, written = word.partition("=")
        if name not in self._options:
            return False
        field, how = self._options[name]
        action = how.get("action", "store")
        if action in _SWITCHES:
            if sign:
                return False
            value = how.get("const", _SWITCHES[action])
        else:
            value = written if sign else next(left, "")
            if not value or value.startswith("-") or "type" in how or "choices" in how:
                return False
        values[field] = [*(values[field] or ()), value] if action.startswith("append") else value
        return True

    def _fill_places(self, given: list[str], values: dict[str, Any]) -> bool:
        """Give the words to the places, from left to right. False if they do not fit."""
        for field, how in self._places:
            nargs = how.get("nargs")
            taken = given[:1] if nargs in (None, "?") else given
            given = given[len(taken) :]
            if not taken and nargs in (None, "+"):
                return False
            if taken and ("type" in how or any(word not in how.get("choices", taken) for word in taken)):
                return False
            if nargs in (None, "?"):
                values[field] = taken[0] if taken else how.get("default")
            else:
                values[field] = taken or how.get("default", [])
        return not given

    def parser(self) -> argparse.ArgumentParser:
        """The same for argparse."""
        from argparse import SUPPRESS  # here, because most verbs read their arguments without it

        parser = make_parser(
            self._prog,
            self._description,
            epilog=self._epilog,
            keep_lines=self._keep_lines,
            allow_abbrev=self._allow_abbrev,
        )
        for names, how in self._added:
            hidden = {"help": SUPPRESS} if how.get("help") == HIDDEN else {}
            parser.add_argument(*names, **how | hidden)
        return parser


def _default(how: dict[str, Any]) -> bool | None:
    return False if how.get("action") == "store_true" else None


def make_parser(
    prog: str, description: str, *, epilog: str = "", keep_lines: bool = False, allow_abbrev: bool = True
) -> argparse.ArgumentParser:
    """Return a parser of argparse. `keep_lines` keeps the line breaks of description and epilog."""
    import argparse  # here, for the same reason

    class Formatter(argparse.HelpFormatter):
        """Wraps each line by itself, between words, or leaves it as it is."""

        def _fill_text(self, text: str, width: int, indent: str) -> str:
            if keep_lines:
                return "".join(indent + line for line in text.splitlines(keepends=True))
            fill = super()._fill_text
            return "\n".join(fill(line, width, indent) for line in text.splitlines())

    class Parser(argparse.ArgumentParser):
        """Says what a mistyped option or choice was meant to be."""

        def error(self, message: str) -> NoReturn:
            super().error(message + _meant(message, list(self._option_string_actions)))

    return Parser(
        prog=prog,
        description=description,
        epilog=epilog,
        allow_abbrev=allow_abbrev,
        formatter_class=lambda prog: Formatter(prog, width=columns() - 2),
    )


def _meant(mistake: str, options: Sequence[str]) -> str:
    """Return what was meant by what argparse refused, if something is near to it."""
    import re  # only after a mistake, as the next one
    from difflib import get_close_matches

    known = options
    if refused := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", mistake):
        wrong, known = [refused[1]], re.findall(r"[\w.-]+", refused[2])
    else:
        wrong = re.findall(r"(?<=\s)--[\w-]+", mistake) if mistake.startswith("unrecognized arguments:") else []
    near = [meant for word in wrong for meant in get_close_matches(word, known, 1, _NEAR)]
    return f"; did you mean {' '.join(near)}?" if near else ""


def columns() -> int:
    """Return the width of the terminal.

    By default argparse imports `shutil` for this, which takes longer than most verbs need to run.
    """
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):
        return 80
