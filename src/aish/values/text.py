"""Clean text for display and storage, and shorten it.

Pure: takes strings, returns strings.
"""

import json
import re
import unicodedata

# The signs at the start of our own lines on a terminal: one for messages and questions, one for commands. In text of
# models and in output of their commands these characters, and similar ones, are replaced, so that none can be forged.
GUTTER, COMMAND_SIGN = "▐", "▸"
OWN_SIGNS = dict.fromkeys("▐▌▋▍", "|") | dict.fromkeys("▸▶►▹▷▻‣⏵⯈🞂🢒➤", "›")
_VISIBLE = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_VISIBLE[0x7F] = 0x2421
_VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_VISIBLE |= dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_SHOWN = _VISIBLE | _BIDI
_FOREIGN = _SHOWN | str.maketrans(OWN_SIGNS)
_NAMES = {"\t": "tab", "\n": "newline", "\r": "return", "\x1b": "escape"}
_LATIN = "ßæøœłđþðÆØŒŁĐÞÐẞ"  # unambiguous letters; accented ones are recognized by decomposition


def for_terminal(text: str) -> str:
    """Make the control bytes of untrusted text visible, so that it cannot control the terminal."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_SHOWN)


def foreign(text: str) -> str:
    """Make text of a model or a file safe for the terminal, also so that it cannot look like one of our own lines."""
    if text.isascii():
        return for_terminal(text)
    return text.replace("\r\n", "\n").translate(_FOREIGN)


def for_keeping(text: str) -> str:
    """Replace control bytes and half-decoded characters; right-to-left marks are part of the text and stay."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_VISIBLE)


def json_text(value: object) -> str:
    """Return JSON, escaped if a terminal or an encoding would change it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if for_terminal(text) == text else json.dumps(value)


def clip(text: str, limit: int) -> str:
    """Return the head and tail of `text` in about `limit` characters, with a truncation marker."""
    if len(text) <= limit:
        return text
    tail = (limit + 1) // 3
    head = limit - tail
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[len(text) - tail :]}"


def room_for(text: str, tokens: int) -> int:
    """Return how many characters of a text have about so many tokens.

    Digits, signs and letters of other scripts have one each, words about one for four letters.
    """
    words = sum(letter.isascii() and letter.isalpha() for letter in text)
    dense = sum(not letter.isspace() for letter in text) - words
    return max(len(text) * tokens * 4 // max(words + 4 * dense, 1), 1)


def one_line(text: str, width: int = 72) -> str:
    """Return the text in one line of at most `width` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: max(width - 1, 0)] + "…"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 item, 2 items, 3 entries."""
    several = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def byte_size(number: int) -> str:
    """Return a number of bytes as people read it: 98 MB, 1.1 GB."""
    if number >= 1e9:
        return f"{number / 1e9:.1f} GB"
    return f"{number / 1e6:.0f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"


def exactly(text: str) -> str:
    """Return a command with invisible and misleading characters named in ⟨brackets⟩.

    The brackets themselves are named too, so that two different commands never look the same.
    """
    words = re.split(r"([ \t]+)", text)
    name = next((place for place, word in enumerate(words) if word.strip(" \t")), 0)
    return "".join(_named(word, first=place == name) for place, word in enumerate(words))


def _named(word: str, *, first: bool) -> str:
    """Name the odd characters of a word; non-Latin letters are odd next to ASCII letters and in a command name."""
    if word.isascii() and word.isprintable():
        return word
    mixed = first or re.search(r"[A-Za-z]", word) is not None
    return "".join(f"⟨{_name(letter)}⟩" if _odd(letter, mixed) else letter for letter in word)


def _name(letter: str) -> str:
    return _NAMES.get(letter) or f"U+{ord(letter):04X}"


def _odd(letter: str, mixed: bool) -> bool:
    if letter.isascii():
        return not letter.isprintable()
    if letter in OWN_SIGNS:
        return True  # a long command could wrap so that it starts a row
    if unicodedata.category(letter) not in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "So"):
        return True  # accents, blanks, and symbols that look like shell operators
    parts = unicodedata.normalize("NFD", letter)
    if unicodedata.normalize("NFC", letter) != letter or re.search(r"FILLER|BLANK", unicodedata.name(letter, "")):
        return True
    return mixed and letter not in _LATIN and not (len(parts) > 1 and parts[0].isascii())
