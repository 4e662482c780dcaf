"""Text as it may be shown, kept and cut.

Pure: strings in, strings out.
"""

import json
import re
import unicodedata

_VISIBLE = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_VISIBLE[0x7F] = 0x2421
_VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_VISIBLE |= dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_SHOWN = _VISIBLE | _BIDI


def for_terminal(text: str) -> str:
    """Text of a model, tool or file with every control byte made visible, so that it cannot steer the terminal."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_SHOWN)


def for_keeping(text: str) -> str:
    """Text without stray control bytes and half-decoded characters; right-to-left marks are part of a text and stay."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_VISIBLE)


def json_text(value: object) -> str:
    """JSON that comes out whole everywhere: escaped where a terminal or an encoding would change it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if for_terminal(text) == text else json.dumps(value)


def clip(text: str, limit: int) -> str:
    """The head and the tail of `text` in at most about `limit` characters, saying what was left out."""
    if len(text) <= limit:
        return text
    tail = (limit + 1) // 3
    head = limit - tail
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[len(text) - tail :]}"


def one_line(text: str, width: int = 72) -> str:
    """The text in one line of at most `width` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: max(width - 1, 0)] + "…"


def exactly(text: str) -> str:
    """A command as it is, byte for byte: what cannot be seen, or looks like something else, is written as an escape."""
    words = re.split(r"([ \t]+)", text)
    return "".join(_escaped(word, first=place == 0) for place, word in enumerate(words))


def _escaped(word: str, *, first: bool) -> str:
    """A word with odd characters as escapes; letters of other alphabets are odd among ASCII ones and in a name."""
    if word.isascii() and word.isprintable():
        return word
    mixed = first or re.search(r"[A-Za-z]", word) is not None
    return "".join(_escape(letter) if _odd(letter, mixed) else letter for letter in word)


def _odd(letter: str, mixed: bool) -> bool:
    if letter.isascii():
        return not letter.isprintable()
    kind = unicodedata.category(letter)
    return kind[0] in "CZM" or (mixed and not unicodedata.name(letter, "").startswith("LATIN"))


def _escape(letter: str) -> str:
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(letter) or (
        f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{{{ord(letter):x}}}"
    )
