"""The text of a file as the model sees it, and exact replacement in it. Every byte that is not replaced stays.

Pure: takes bytes and strings, returns them.
"""

import re
from difflib import SequenceMatcher
from itertools import islice

from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted, one_line

_MARK = "\ufeff"
_MOST_COMPARED = 5_000  # lines that are compared with a text that was not found
_ALIKE = 0.6
_SHOWN = 3  # places that a message names


class FileText(NamedTuple):
    """The text of a file: without a byte order mark, and with plain newlines if all of its lines end in CRLF.

    Bytes that are not UTF-8 are kept as surrogates.
    """

    text: str
    mark: bool = False
    crlf: bool = False

    def encode(self) -> bytes:
        text = self.text.replace("\n", "\r\n") if self.crlf else self.text
        return (_MARK * self.mark + text).encode("utf-8", "surrogateescape")

    def with_text(self, text: str) -> "FileText":
        """Return the file with another text, in the same form."""
        return self._replace(text=text.replace("\r\n", "\n") if self.crlf else text)


def decode(data: bytes) -> FileText | None:
    """Return the text of a file; None if it is binary."""
    if b"\0" in data:
        return None
    text = data.decode("utf-8", "surrogateescape")
    mark = text.startswith(_MARK)
    text = text[len(_MARK) :] if mark else text
    crlf = "\r\n" in text and re.search(r"\r(?!\n)|(?<!\r)\n", text) is None
    return FileText(text.replace("\r\n", "\n") if crlf else text, mark, crlf)


def shown(text: str) -> str:
    """Return a text with a replacement character for each byte that is not UTF-8."""
    return text.encode("utf-8", "replace").decode() if re.search("[\ud800-\udfff]", text) else text


def lines_of(text: str) -> list[str]:
    """Split a text at its newlines, which stay. Other characters that Python takes for line ends do not count."""
    return (
        text.splitlines(keepends=True) if text.isascii() and not re.search("[\r\v\f\x1c-\x1e]", text) else _lines(text)
    )


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def replace_exactly(text: str, old: str, new: str, *, every: bool = False) -> str:
    """Return the text with `old` replaced by `new`. It must occur exactly once, unless `every` occurrence is meant.

    Raises:
        BadUsage: it occurs not at all, or several times.
    """
    if not old:
        raise BadUsage("old is empty; give the text to replace, or use write_file for a whole file")
    if old == new:
        raise BadUsage("old and new are the same; nothing would change")
    count = text.count(old)
    if count == 0:
        raise BadUsage(f"old was not found in the file; {_nearest(text, old)}")
    if count > 1 and not every:
        first = islice(re.finditer(re.escape(old), text), _SHOWN)
        places = [text.count("\n", 0, found.start()) + 1 for found in first]
        named = ", ".join(map(str, places)) + (" and others" if count > _SHOWN else "")
        raise BadUsage(
            f"old was found {count:,} times, at lines {named}; give more of the lines around it, or all = true"
        )
    return text.replace(old, new)


def _nearest(text: str, old: str) -> str:
    """Say where a similar text is, or that there is none."""
    lines = text.split("\n")
    loose = [one.split() for one in old.strip("\n").split("\n")]
    for at in range(len(lines) - len(loose) + 1):
        if lines[at].split() == loose[0] and [one.split() for one in lines[at : at + len(loose)]] == loose:
            there = "\n".join(lines[at : at + len(loose)])
            return f"at line {at + 1} it has other blanks: {_quoted(there)}"
    wanted = max((one.strip() for one in old.split("\n")), key=len)[:400]
    matcher, best, place = SequenceMatcher(autojunk=False, b=wanted), _ALIKE, -1
    for at, line in enumerate(lines[:_MOST_COMPARED]):
        matcher.set_seq1(line.strip()[:400])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (found := matcher.ratio()) > best:
            best, place = found, at
    if place < 0:
        return f"no line is like {_quoted(one_line(wanted, 80))}; read the file again"
    near = "\n".join(lines[max(place - 1, 0) : place + 2])
    return f"the nearest lines are at {max(place, 1)}: {_quoted(near)}; read them and copy the text exactly"


def _quoted(text: str) -> str:
    return f"“{shown(text[:600])}”"


def line_changes(before: str, after: str) -> str:
    """Say how many lines differ: `3 lines added, 1 line removed`."""
    old, new = lines_of(before), lines_of(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    return f"{counted(len(new) - start - end, 'line')} added, {counted(len(old) - start - end, 'line')} removed"


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
