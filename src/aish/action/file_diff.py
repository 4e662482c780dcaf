"""Differences between two texts, for people: unified, bounded, with invisible characters named.

Pure: takes strings, returns strings.
"""

import re
from collections.abc import Sequence
from difflib import unified_diff
from itertools import islice

from aish.action.file_text import FileText, decode, lines_of
from aish.values.text import counted

MOST_LINES = 400
_MOST_COMPARED = 2_000  # differing lines on either side; the time of a comparison grows with their square
_LONGEST = 400  # characters of a line
_CONTEXT = 3
_RARE = re.compile("[^ -~\\t]")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0⟨⟩")  # letters without ink, and our own brackets
_VARIANTS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def file_diff(name: str, before: bytes | None, after: bytes | None, most: int = MOST_LINES) -> str:
    """Return the difference between two contents of a file; None stands for a missing file."""
    old, new = decode(before or b""), decode(after or b"")
    header = [f"--- {name if before is not None else '(no file)'}", f"+++ {name if after is not None else '(deleted)'}"]
    if old is None or new is None:
        sizes = f"{len(before or b''):,} bytes before, {len(after or b''):,} bytes after"
        return "\n".join([*header, f"(binary: {sizes})"])
    notes = [] if before is None or after is None else [f"({note})" for note in _form(old, new)]
    return "\n".join([*header, *notes, *_bounded(text_diff(old.text, new.text), most)])


def _form(old: FileText, new: FileText) -> Sequence[str]:
    """Say which parts of the form differ."""
    found = ["line ends change from " + ("CRLF to LF" if old.crlf else "LF to CRLF")] if old.crlf != new.crlf else []
    return [*found, f"byte order mark {'added' if new.mark else 'removed'}"] if old.mark != new.mark else found


def text_diff(before: str, after: str) -> list[str]:
    """Return the lines of a unified difference, without the names of the files."""
    old, new = lines_of(before), lines_of(after)
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start == len(old) == len(new):
        return []
    first, last_old, last_new = max(start - _CONTEXT, 0), len(old) - end, len(new) - end
    if max(last_old, last_new) - start > _MOST_COMPARED:  # no comparison: what was there, and what comes
        middle = [f"-{line}" for line in old[start:last_old]] + [f"+{line}" for line in new[start:last_new]]
        return [f"@@ line {start + 1} @@", *map(_clean, middle)]
    some_old, some_new = old[first : last_old + _CONTEXT], new[first : last_new + _CONTEXT]
    found = islice(unified_diff(some_old, some_new, n=_CONTEXT, lineterm="\n"), 2, None)
    return [_moved(line, first) if line.startswith("@@") else _clean(line) for line in found]


def _moved(header: str, by: int) -> str:
    """Count the lines of a header from the start of the file."""
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", header).rstrip("\n")


def _clean(line: str) -> str:
    """Return one line of a difference: names what cannot be seen, and a missing newline at the end of the file."""
    text = line.removesuffix("\n")
    ending = "" if line.endswith("\n") else "⟨no newline at the end⟩"
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}⟨{counted(len(text) - _LONGEST, 'more character')}⟩"
    return _RARE.sub(_named, text) + ending


def _named(found: re.Match[str]) -> str:
    letter = found[0]
    if letter == "\r":
        return "⟨return⟩"
    seen = letter.isprintable() and letter not in _BLANK and not _VARIANTS.match(letter)
    return letter if seen else f"⟨U+{ord(letter):04X}⟩"


def _bounded(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    added = sum(line.startswith("+") for line in lines[most:])
    removed = sum(line.startswith("-") for line in lines[most:])
    return [*lines[:most], f"[… {len(lines) - most:,} more lines: {added:,} added, {removed:,} removed …]"]
