"""Files that the user names in a command."""

from collections.abc import Iterable
from pathlib import Path

from aish.storage.files import private_opener
from aish.values.errors import BadUsage, NotFound, StoreTrouble


def write_new(name: str, pieces: Iterable[str]) -> str:
    """Write a new file, private to the user, and return a message with its path. Raises `BadUsage`, `StoreTrouble`."""
    path = Path(name)
    try:
        path = path.expanduser()
        with open(path, "x", encoding="utf-8", opener=private_opener) as file:
            file.writelines(pieces)
    except FileExistsError:
        raise BadUsage(f"{path} already exists; choose another name") from None
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: NUL in the name; RuntimeError: unknown ~user
        raise StoreTrouble(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    return f"written to {path}"


def read_whole(name: str) -> bytes:
    """Return the bytes of a file. Raises `NotFound`."""
    path = Path(name)
    try:
        return path.expanduser().read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        raise NotFound(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
