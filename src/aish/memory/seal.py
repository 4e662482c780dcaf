"""A seal: what stays of words that must not be kept. A module of its own, because hashing takes time to load."""

import hashlib


def seal(text: str, salt: bytes) -> str:
    """A salted hash: the same text has the same one, and nothing leads back from it."""
    return hashlib.blake2s(text.encode("utf-8", "replace"), key=salt[:32], digest_size=12).hexdigest()
