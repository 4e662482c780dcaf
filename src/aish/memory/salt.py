"""The salt of the user's masks. It is stored, so that the same secret always gets the same mask."""

import os
from pathlib import Path

from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble

_SIZE = 32


def load_salt(path: Path, *, make: bool = True) -> bytes | None:
    """Return the stored salt, and create it if it is missing. None if that fails, or if `make` is false."""
    try:
        salt = path.read_bytes()
        if len(salt) == _SIZE:
            return salt
    except FileNotFoundError:
        pass
    except OSError:  # it may exist: a new salt would match no earlier mask or purge
        return None
    if not make:
        return None
    salt = os.urandom(_SIZE)
    try:
        replace_file(path, salt)
    except StoreTrouble:
        return None
    return salt
