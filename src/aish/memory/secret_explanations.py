"""Says why a text was masked: the rule, what stands before the value, and what the value is made of.

Pure functions. No explanation contains a secret: the text before a value is masked as well.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aish.memory.secret_patterns import FoundSecret, mask
from aish.memory.secret_values import shape
from aish.values.text import one_line

_CONTEXT = 60  # characters


class MaskExplanation(NamedTuple):
    """Why a part of a text was masked. `start` and `end` are its position in the text."""

    line: int
    kind: str
    mask: str
    rule: str
    context: str
    value: str
    start: int
    end: int


def explain(text: str, found: Sequence[FoundSecret], salt: bytes) -> Iterator[MaskExplanation]:
    """Explain each mask of a text; `found` is what the search found in it."""
    line, counted = 1, 0
    for number, one in enumerate(found):
        line += text.count("\n", counted, one.start)
        counted = one.start
        begin = max(one.context, one.start - _CONTEXT)
        earlier = [other for other in found[max(0, number - _CONTEXT) : number] if other.end > begin]
        context = _masked(text, begin, one.start, earlier, salt)
        value = text[one.start : one.end]
        yield MaskExplanation(
            *(line, one.kind, mask(one.kind, value, salt), one.rule, one_line(context, 3 * _CONTEXT), describe(value)),
            *(one.start, one.end),
        )


def describe(value: str) -> str:
    """Say what a value is made of, without showing any of it."""
    made = shape(value)
    signs = made.signs
    parts = [f"{signs.length} characters"]
    parts += ["upper and lower case"] if signs.mixed else ["letters"] if signs.letters else []
    parts += [f"{signs.digits} {'digit' if signs.digits == 1 else 'digits'}"] if signs.digits else []
    parts += ["other signs"] if signs.odd else []
    if made.is_random:
        parts.append("mostly random")
    elif made.words:
        parts.append(f"{made.words} {'word' if made.words == 1 else 'words'}")
    return ", ".join(parts)


def _masked(text: str, start: int, end: int, found: Sequence[FoundSecret], salt: bytes) -> str:
    """Return a part of the text, with masks for the secrets in it."""
    parts, done = [], start
    for one in found:
        parts += [text[done : max(done, one.start)], mask(one.kind, text[one.start : one.end], salt)]
        done = max(done, one.end)
    return "".join([*parts, text[done:end]])
