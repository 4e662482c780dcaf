"""Redaction before every write: secrets are masked, and purged phrases are known by their fingerprints only."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from aish.memory.salt import load_salt
from aish.memory.secret_hints import SHORTEST, may_hold_secret
from aish.values.errors import StoreTrouble
from aish.values.text import clip, for_keeping


class SecretPatterns(Protocol):
    """The interface of the secret patterns, which are slow to load."""

    def redact(self, text: str, salt: bytes) -> tuple[str, Sequence[tuple[str, int, int, *tuple[object, ...]]]]: ...
    def fingerprint(self, text: str, salt: bytes) -> str: ...


class MaskedPart(NamedTuple):
    """A part of a text that was masked. Only this process knows the original, and only for a while."""

    kind: str
    mask: str
    original: str


class Masked(NamedTuple):
    """A masked text, the kinds of secrets that were in it, and what the masks stand for."""

    text: str
    kinds: tuple[str, ...] = ()
    parts: tuple[MaskedPart, ...] = ()

    @property
    def notice(self) -> str:
        """The message for the user; empty if nothing was masked."""
        return f"masked before saving: {count_kinds(self.kinds)}" if self.kinds else ""


def count_kinds(kinds: Sequence[str]) -> str:
    """Format kinds of secrets, such as `2 × GitHub token, 1 × password`."""
    return ", ".join(f"{kinds.count(kind)} × {kind}" for kind in dict.fromkeys(kinds))


class Redaction:
    """Masks secrets. Loads the patterns and the salt only when a text may contain a secret."""

    def __init__(self, salt: Path, load: Callable[[], SecretPatterns], *, make_salt: bool = True) -> None:
        self._salt_path, self._make_salt = salt, make_salt
        self._load = load
        self._redactor: SecretPatterns | None = None
        self._salt, self._lasting = b"", False

    def reading(self) -> "Redaction":
        """Return a copy for read-only use: a missing salt is generated, but not stored."""
        return Redaction(self._salt_path, self._load, make_salt=False)

    @property
    def salt(self) -> bytes:
        """The stored salt; for read-only use it may be a temporary one. Raises `StoreTrouble`."""
        self._ready()
        if not self._lasting and self._make_salt:
            self._redactor = None  # perhaps it can be kept the next time
            raise StoreTrouble(f"cannot read or write {self._salt_path}; fingerprints of purged phrases need it")
        return self._salt

    def mask(self, text: str) -> Masked:
        """Return the text with its secrets masked."""
        if len(text) < SHORTEST or not may_hold_secret(text):  # a name such as `key` is no reason to load the patterns
            return Masked(text)
        masked, found = self._ready().redact(text, self._salt)
        return Masked(masked, tuple(one[0] for one in found), tuple(_parts(text, masked, found)))

    def text(self, text: str) -> str:
        """Return only the masked text."""
        return self.mask(text).text

    def clipped(self, text: str, most: int) -> str:
        """Return the masked text in about `most` characters, without control bytes.

        It is shortened before, because a search for secrets in megabytes takes long, and after, so that no half of a
        secret is left where it was cut.
        """
        return clip(self.text(for_keeping(clip(text, 4 * most + 4_000))), most)

    def fingerprint(self, text: str) -> str:
        """Return a salted hash that identifies the text without revealing it.

        Raises `StoreTrouble` if the salt cannot be kept: the fingerprint would never match again.
        """
        salt = self.salt
        return self._ready().fingerprint(text, salt)

    def _ready(self) -> SecretPatterns:
        if self._redactor is None:
            salt = load_salt(self._salt_path, make=self._make_salt)
            self._salt, self._lasting = salt or os.urandom(32), salt is not None
            self._redactor = self._load()
        return self._redactor


def _parts(text: str, masked: str, found: Sequence[tuple[str, int, int, *tuple[object, ...]]]) -> Iterator[MaskedPart]:
    """Yield what each mask stands for. All text between the masks is unchanged."""
    pattern, moved = re.compile(r"\[masked .*? #[0-9a-f]{8}\]", re.DOTALL), 0
    for kind, start, end, *_ in found:
        if mask := pattern.match(masked, start + moved):
            moved += len(mask[0]) - (end - start)
            yield MaskedPart(kind, mask[0], text[start:end])
