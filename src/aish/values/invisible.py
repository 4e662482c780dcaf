"""Characters that cannot be seen: which they are, and a text that shows them.

Pure: takes strings, returns strings. What a person reads before a yes must be what the model gets, so text that is kept
or recalled has its invisible characters written out, as in `⟨U+200B⟩`.
"""

import re
import unicodedata

from aish.values.named_tuple import NamedTuple
from aish.values.text import for_keeping

_MOST_MARKS = 4  # accents on one letter; more of them are a flood
_MOST_NAMED = 3  # characters of a run that are named one by one
_ZWNJ, _ZWJ, _KEYCAP, _BLACK_FLAG = "\u200c", "\u200d", "\u20e3", "\U0001f3f4"
# Letters and marks without a glyph, which count as printable: fillers, blank Braille, joiners, variation selectors.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U0001d159"
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_DOUBTFUL = rf"[{_BLANK}{_SELECTORS}]|[^\w\s\x00-\x7f]{{{_MOST_MARKS + 1}}}"
_SELECTOR = f"[{_SELECTORS}]"
# The only sequences of tag characters with a meaning: the flags of England, Scotland and Wales.
_FLAGS = tuple(
    "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f" for name in ("gbeng", "gbsct", "gbwls")
)
_SEEN_FORMATS = "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]"  # signs around a number
_EMOJI = "[\U0001f000-\U0001fbff\u2190-\u2bff‼⁉〰〽㊗㊙©®™ℹ]"
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_MONGOLIAN = "[\u1820-\u18aa]"
# Scripts that join letters: Arabic, Syriac, those of India, Sri Lanka, Myanmar and Cambodia, Tibetan, Mongolian.
_JOINED = "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefe]"
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")
_BLANKS = {"Zs": " ", "Zl": "\n", "Zp": "\n"}


class Revealed(NamedTuple):
    """A text that shows all of its characters, and how many of them could not be seen."""

    text: str
    hidden: int = 0

    @property
    def notice(self) -> str:
        """The message for the user; empty if everything could be seen."""
        if not self.hidden:
            return ""
        one = self.hidden == 1
        return f"{self.hidden} character{' that cannot be seen is' if one else 's that cannot be seen are'} written out"


def visible(text: str) -> str:
    """Return the text with every invisible character named. A text that went through this stays as it is."""
    return text if text.isascii() and text.isprintable() else reveal(text).text


def is_visible(text: str) -> bool:
    """Can all characters of the text be seen?"""
    return reveal(text).hidden == 0


def reveal(text: str) -> Revealed:
    """Name invisible characters, and replace control bytes and unusual blanks.

    Kept are: joiners between emoji and between letters of scripts that need them, one variation selector after an emoji
    or an ideograph, a few accents on a letter, and right-to-left letters. Direction marks are named.
    """
    text = for_keeping(text)
    flat = text.replace("\n", "").replace("\t", "")
    if flat.isprintable() and (flat.isascii() or not re.search(_DOUBTFUL, text)):
        return Revealed(text)
    parts, run, place, hidden, marks = list[str](), list[str](), 0, 0, 0
    while place < len(text):
        letter = text[place]
        flag = next((one for one in _FLAGS if letter == _BLACK_FLAG and text.startswith(one, place + 1)), "")
        kind = unicodedata.category(letter)
        marks = marks + 1 if kind in ("Mn", "Me") and not re.match(_SELECTOR, letter) else 0
        if flag or not _is_hidden(text, place, kind, marks, alone=bool(run)):
            parts += [*_named(run), _BLANKS.get(kind, letter + flag)]
            run = []
        else:
            run.append(letter)
            hidden += 1
        place += 1 + len(flag)
    return Revealed("".join([*parts, *_named(run)]), hidden)


def _named(run: list[str]) -> list[str]:
    """Name a run of invisible characters. A long run is a payload, of which only the start is of interest."""
    if len(run) <= _MOST_NAMED:
        return [f"⟨U+{ord(letter):04X}⟩" for letter in run]
    return [f"⟨U+{ord(run[0]):04X} and {len(run) - 1} more⟩"]


def _is_hidden(text: str, place: int, kind: str, marks: int, *, alone: bool) -> bool:
    """Is this character hidden? `alone`: the one before it is, and so does not count as its base."""
    letter = text[place]
    if letter in "\t\n":
        return False
    if marks > _MOST_MARKS or letter in _BLANK:
        return True
    before, after = "" if alone else text[max(place - 3, 0) : place], text[place + 1 : place + 2]
    if re.match(_SELECTOR, letter):
        return not _selects(letter, before[-1:], after)
    if letter in (_ZWJ, _ZWNJ):
        return not _joins(letter, before, after)
    if kind == "Cn":
        return not re.match(_EMOJI, letter)  # emoji that are newer than this Python
    return kind in _HIDDEN and not re.match(_SEEN_FORMATS, letter)


def _selects(selector: str, before: str, after: str) -> bool:
    """Does a variation selector stand after a character that has variants?"""
    if selector in "\ufe0e\ufe0f":
        return bool(re.match(_EMOJI, before)) or (before in (*"#*0123456789",) and after == _KEYCAP)
    if "\u180b" <= selector <= "\u180f":
        return bool(re.match(_MONGOLIAN, before))
    return bool(re.match(_IDEOGRAPH, before)) or (selector == "\ufe00" and unicodedata.category(before or " ") == "Sm")


def _joins(joiner: str, before: str, after: str) -> bool:
    """Does a joiner stand between two emoji, or between letters that it joins or separates?"""
    if after in _BLANK:
        return False
    if re.match(_JOINED, before[-1:]) and re.match(_JOINED, after) and unicodedata.category(after)[0] in "LM":
        return not re.match(_SELECTOR, after)
    base = before.rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:] or before[-1:]
    return joiner == _ZWJ and bool(re.match(_EMOJI, base)) and bool(re.match(_EMOJI, after))
