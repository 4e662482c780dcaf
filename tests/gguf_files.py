"""Files that look like models: a GGUF head without weights."""

import struct
from collections.abc import Mapping
from pathlib import Path

CHAT: Mapping[str, object] = {"general.architecture": "llama", "tokenizer.chat_template": "{{ messages }}"}


def gguf(values: Mapping[str, object], *, version: int = 3) -> bytes:
    """Return the head of a file with these keys. An int is an unsigned 32-bit number."""
    parts = [b"GGUF", struct.pack("<IQQ", version, 0, len(values))]
    for key, value in values.items():
        parts += [_text(key), _value(value)]
    return b"".join(parts)


def write_gguf(path: Path, values: Mapping[str, object], *, size: int = 0) -> Path:
    """Write such a file; it has this size, most of which is a hole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf(values))
    if size:
        with path.open("r+b") as file:
            file.truncate(size)
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_text(str(one)) for one in value)
        case list():
            return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
        case _:
            return struct.pack("<I", 8) + _text(str(value))
