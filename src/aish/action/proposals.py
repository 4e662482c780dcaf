"""The commands that an answer proposes: its lines that start with `CMD: `.

Only an answer of this turn is ever looked at, and only its own words: nothing in code fences, quotes or indented code.
Pure: text in, commands out.
"""

import re
from collections.abc import Iterator

MARK = "CMD: "
_FENCE = r" {0,3}(`{3,}|~{3,})(.*)"


def proposed(answer: str) -> list[str]:
    """The commands in their order, each once, byte for byte as they stand."""
    return list(dict.fromkeys(line[len(MARK) :] for line in _own_lines(answer) if _proposes(line)))


def _proposes(line: str) -> bool:
    return line.startswith(MARK) and bool(line[len(MARK) :].strip())


def _own_lines(answer: str) -> Iterator[str]:
    """The lines outside code fences. Quotes and indented code do not begin with `CMD: `, so they need no rule."""
    fence = ""
    for line in re.split(r"\r\n|[\n\r]", answer):
        match = re.fullmatch(_FENCE, line)
        if fence:
            closes = match and match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip()
            fence = "" if closes else fence
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            yield line
