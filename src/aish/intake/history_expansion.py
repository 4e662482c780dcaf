"""History expansion as in bash and zsh: `!!`, `!-2`, `!42`, `!git`, `!$`, `!!:1`, `^old^new`.

Pure: takes a line and the earlier commands, returns the line that will run. What names no earlier command stays as it
is: an exclamation mark in a message should not stop a command. `!42` is the number that `history` shows in the user's
shell, which is asked for it.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from aish.intake.simple_commands import words_of
from aish.values.patterns import pattern

Numbered = Callable[[int], str | None]

# An event, then the words of it, then changes to them: !git:2-3:s/a/b/
_NAMED = (
    r"(?P<last>!)|-(?P<back>\d{1,4})|(?P<number>[1-9]\d{0,6})(?!\w)"
    r"|\?(?P<within>[^?\n]+)\??|(?P<start>[A-Za-z_./~][\w./~-]*)"
)
_EVENT = rf"!(?:{_NAMED}|(?=:?[$^*]|:[\dghtreps]))"
_WORDS = r"(?P<words>:?[$^*]|:\d{1,3}(?:-\d{1,3}|-|\*)?)?"
_CHANGES = r"(?P<changes>(?::(?:[htrep]|g?s/(?:[^/\n])*/(?:[^/\n])*/?))*)"
_ONE = pattern(_EVENT + _WORDS + _CHANGES)
_SKIPPED = pattern(r"\\.|'[^']*'?|\$\{?!|!(?=[\s=(\"]|$)|\[!", re.DOTALL)  # in these, `!` is an ordinary character
_PLAIN = pattern(r"[^!\\'$\[]+")
_DOCUMENT = pattern(r"(?<!<)<<(?!<)[^\n]*\n")  # the lines after it are the content of a file
_QUICK = pattern(r"\^(?P<old>[^^\n]+)\^(?P<new>[^^\n]*)(?:\^(?P<rest>[^\n]*))?$")


def is_expansion(word: str) -> bool:
    """Does this first word of a line stand for an earlier command? `!name` does not: it may also force a command."""
    found = _ONE.match(word)
    return bool(_QUICK.match(word)) or bool(found and not found["start"])


def names_earlier(line: str, earlier: Iterable[str]) -> bool:
    """Is this line `!name` and no more, not even a space, and was there a command that starts with the name?"""
    found = _ONE.fullmatch(line.lstrip())
    return bool(found and found["start"] and _find(found, earlier) is not None)


def expand(line: str, earlier: Callable[[], Iterable[str]], numbered: Numbered = lambda number: None) -> str:
    """Return the line with what it repeats filled in.

    `earlier` returns earlier commands, the newest first; `numbered` the one with a number, if there is one.
    """
    if quick := _QUICK.match(line):
        last = next(iter(earlier()), "")
        return last.replace(quick["old"], quick["new"], 1) + (quick["rest"] or "") if quick["old"] in last else line
    if "!" not in line:
        return line
    document = _DOCUMENT.search(line)
    end = document.end() if document else len(line)
    return "".join(_pieces(line[:end], _read_once(earlier), numbered)) + line[end:]


def _read_once(earlier: Callable[[], Iterable[str]]) -> Callable[[], Iterable[str]]:
    """Keep what was read for the next name: a long history is slow to read."""
    seen, rest = list[str](), iter(earlier())

    def again() -> Iterator[str]:
        yield from seen
        for one in rest:
            seen.append(one)
            yield one

    return again


def _pieces(line: str, earlier: Callable[[], Iterable[str]], numbered: Numbered) -> Iterator[str]:
    place = 0
    while place < len(line):
        if skipped := _SKIPPED.match(line, place):
            yield skipped[0]
            place = skipped.end()
        elif (
            line[place] == "!"
            and (one := _ONE.match(line, place))
            and (text := _text(one, _find(one, earlier(), numbered))) is not None
        ):
            yield text
            place = one.end()
        else:
            plain = _PLAIN.match(line, place)
            yield plain[0] if plain else line[place]
            place = plain.end() if plain else place + 1


def _text(found: re.Match[str], command: str | None) -> str | None:
    """Return what an event stands for; None if there is no such command or no such word in it."""
    if command is None:
        return None
    text = _chosen(words_of(command), found["words"]) if found["words"] else command
    return text if text is None else _changed(text, found["changes"])


def _find(found: re.Match[str], earlier: Iterable[str], numbered: Numbered = lambda number: None) -> str | None:
    if found["number"]:
        return numbered(int(found["number"])) or None
    if found["start"]:
        return next((one for one in earlier if one.startswith(found["start"])), None)
    if found["within"]:
        return next((one for one in earlier if found["within"] in one), None)
    back = int(found["back"] or 1)
    return next(itertools.islice(earlier, back - 1, None), None) if back else None


def _chosen(words: Sequence[str], which: str) -> str | None:
    """Return the words that a designator such as `:2-3`, `^` or `*` names, joined by spaces."""
    which = which.removeprefix(":")
    last = len(words) - 1
    if which == "*":
        return " ".join(words[1:])
    if which in ("$", "^"):
        which = str(last if which == "$" else 1)
    first, dash, end = which.replace("*", f"-{last}").partition("-")
    until = int(end or (last - 1 if dash else first))
    return " ".join(words[int(first) : until + 1]) if int(first) <= until <= last else None


def _changed(text: str, changes: str) -> str:
    for change in re.findall(r":(g?s/[^/\n]*/[^/\n]*|[htrep])/?", changes):
        if "/" in change:
            how, old, new = change.split("/", 2)
            text = text.replace(old, new, -1 if how == "gs" else 1) if old else text
            continue
        folder, slash, name = text.rpartition("/")
        stem, dot, ending = name.rpartition(".")
        text = {
            "h": folder or text,
            "t": name,
            "r": f"{folder}{slash}{stem}" if dot and stem else text,
            "e": f".{ending}" if dot else "",
            "p": text,
        }[change]
    return text
