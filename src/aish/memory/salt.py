"""The salt of this user's masks: made once, so that the same secret has the same mask tomorrow."""

import os
from pathlib import Path

from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble

_SIZE = 32


def load_salt(path: Path, *, make: bool = True) -> bytes | None:
    """The salt on file, made if there is none; None where it can be neither read nor made, or is not to be."""
    try:
        salt = path.read_bytes()
        if len(salt) == _SIZE:
            return salt
    except FileNotFoundError:
        pass
    except OSError:  # it may be there: with another one, all that was masked and purged would be strange to us
        return None
    if not make:
        return None
    salt = os.urandom(_SIZE)
    try:
        replace_file(path, salt)
    except StoreTrouble:
        return None
    return salt
