"""Completions from the machine: files and programs."""

import os
from functools import lru_cache
from pathlib import Path

MOST_FILES = 2000  # more than a user would look through


def files(typed: str, directory: str, *, only_directories: bool = False, expand: bool = True) -> list[tuple[str, bool]]:
    """Return the paths that start with the typed text, and whether each is a directory.

    Hidden files are included only after a typed dot.
    """
    head, slash, start = typed.rpartition("/")
    head += slash
    folder = os.path.join(directory, os.path.expanduser(head) if expand else head)  # noqa: PTH111, PTH118  # text stays text
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                    is_directory = _is_directory(entry)
                    if is_directory or not only_directories:
                        found.append((head + entry.name, is_directory))
                        if len(found) == MOST_FILES:
                            break
    except (OSError, ValueError):
        return []  # no such directory, no permission, a NUL in the name: nothing to offer
    return sorted(found)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def programs(path: str) -> list[str]:
    """Return the sorted names of all programs on a PATH. A directory is listed again when it has changed."""
    names: set[str] = set()
    for directory in path.split(os.pathsep):
        try:
            names |= _programs_in(directory, Path(directory).stat().st_mtime_ns) if directory else frozenset()
        except (OSError, ValueError):
            pass  # a PATH often names missing directories
    return sorted(names)


@lru_cache(maxsize=64)
def _programs_in(directory: str, changed: int) -> frozenset[str]:
    with os.scandir(directory) as entries:
        return frozenset(one.name for one in entries if os.access(one.path, os.X_OK) and not _is_directory(one))
