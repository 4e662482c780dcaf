"""Text as it may be shown, kept and cut.

Pure: strings in, strings out.
"""

import json

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
