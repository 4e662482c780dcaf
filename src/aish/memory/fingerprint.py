"""Fingerprints: all that is kept of purged words. In its own module, because `hashlib` takes time to load."""

import hashlib
from collections.abc import Collection


def digest(text: str, salt: bytes) -> str:
    """Return a salted hash that identifies the text without revealing it."""
    return hashlib.blake2s(text.encode("utf-8", "replace"), key=salt[:32], digest_size=12).hexdigest()


def fingerprint(text: str, salt: bytes) -> str:
    """The salted hash of a text after its length, which tells how long the parts are that may match it."""
    return f"{len(text)}-{digest(text, salt)}"


def fingerprinted_parts(text: str, size: int, digests: Collection[str], salt: bytes) -> list[int]:
    """Return the start of each part of this size whose hash is one of these."""
    wanted, found = {bytes.fromhex(one) for one in digests}, []
    fresh = hashlib.blake2s(key=salt[:32], digest_size=12)
    data = text.encode() if text.isascii() else None  # slicing bytes is faster than slicing and encoding text
    for start in range(len(text) - size + 1):
        part = data[start : start + size] if data else text[start : start + size].encode("utf-8", "replace")
        hashed = fresh.copy()
        hashed.update(part)
        if hashed.digest() in wanted:
            found.append(start)
    return found
