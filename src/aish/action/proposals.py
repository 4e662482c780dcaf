"""Find the commands that an answer proposes: its lines that start with `CMD: `.

Lines in code fences, quotes or indented code do not count. Callers pass only the answer of the current turn.
Pure: text in, commands out.
"""

import re
from collections.abc import Iterator

MARK = "CMD: "
_FENCE = r"((?:[ \t]|[-*+>]|\d{1,9}[.)])*)(`{3,}|~{3,})(.*)"  # also in lists and quotes, at any depth


def proposed(answer: str) -> list[str]:
    """Return the commands in order, without duplicates and otherwise unchanged."""
    return list(dict.fromkeys(line[len(MARK) :] for line in _own_lines(answer) if _proposes(line)))


def _proposes(line: str) -> bool:
    return line.startswith(MARK) and bool(line[len(MARK) :].strip())


def _own_lines(answer: str) -> Iterator[str]:
    """Yield the lines outside code fences. Quoted and indented lines never start with `CMD: `."""
    fence, depth = "", 0
    for line in re.split(r"\r\n|[\n\r]", answer):
        match = re.fullmatch(_FENCE, line)
        if fence:
            closes = match and match[2].startswith(fence) and not match[3].strip() and _depth(match[1]) <= depth + 3
            fence = "" if closes else fence
        elif match and not (match[2][0] == "`" and "`" in match[3]):
            fence, depth = match[2], _depth(match[1])
            depth = depth if depth > 3 or match[1].strip() else 0  # up to three leading spaces do not count
        else:
            yield line


def _depth(before: str) -> int:
    """Return the indentation of a code fence inside lists and quotes."""
    return len(before.expandtabs(4))
