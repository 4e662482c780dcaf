"""Redaction before every write: secrets are masked, and purged phrases are known by their fingerprints only."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from aish.memory.salt import load_salt
from aish.memory.secret_hints import may_hold_secret
from aish.values.errors import StoreTrouble


class SecretPatterns(Protocol):
    """The patterns, which take longer to load than most texts are worth."""

    def redact(self, text: str, salt: bytes) -> tuple[str, list[tuple[str, int, int]]]: ...
    def fingerprint(self, text: str, salt: bytes) -> str: ...


class Masked(NamedTuple):
    """A text as it may be kept, and the kinds of secrets that were in it."""

    text: str
    kinds: tuple[str, ...] = ()

    @property
    def notice(self) -> str:
        """What the user is told."""
        return f"masked in what is kept: {count_kinds(self.kinds)}" if self.kinds else ""


def count_kinds(kinds: Sequence[str]) -> str:
    """Kinds of secrets in words, such as `2 × github-token, 1 × login`."""
    return ", ".join(f"{kinds.count(kind)} × {kind}" for kind in dict.fromkeys(kinds))


class Redaction:
    """Masks secrets. The patterns and the salt are loaded when a text first looks as if it could hold one."""

    def __init__(self, salt: Path, load: Callable[[], SecretPatterns], *, make_salt: bool = True) -> None:
        self._salt_path, self._make_salt = salt, make_salt
        self._load = load
        self._redactor: SecretPatterns | None = None
        self._salt, self._lasting = b"", False

    def reading(self) -> "Redaction":
        """The same for one who writes nothing: a salt that is not there yet is made up, and not kept."""
        return Redaction(self._salt_path, self._load, make_salt=False)

    @property
    def salt(self) -> bytes:
        """The salt, which stays the same; for one who writes nothing it may be made up. Raises `StoreTrouble`."""
        self._ready()
        if not self._lasting and self._make_salt:
            self._redactor = None  # perhaps it can be kept the next time
            raise StoreTrouble(f"cannot read or write {self._salt_path}; fingerprints of purged phrases need it")
        return self._salt

    def mask(self, text: str) -> Masked:
        """The text with its secrets masked."""
        if not may_hold_secret(text):
            return Masked(text)
        masked, found = self._ready().redact(text, self._salt)
        return Masked(masked, tuple(kind for kind, *_ in found))

    def text(self, text: str) -> str:
        """The masked text alone."""
        return self.mask(text).text

    def fingerprint(self, text: str) -> str:
        """A salted hash: the same text has the same one, and nothing leads back from it.

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
