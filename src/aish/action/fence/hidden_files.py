"""Find the files that a fence hides: credentials in the home directory, in the system and in the project."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from aish.values.named_tuple import NamedTuple

_MOST_FOLDERS = 5000  # of one project; deeper ones are left out
_HOME_DEPTH = 2
# Packages and objects of other people: many files, no secrets of the user.
_SKIPPED = frozenset("node_modules .venv venv site-packages objects target __pycache__ .tox .mypy_cache vendor".split())


class _Folder(NamedTuple):
    """A directory as it was when it was listed."""

    changed: int
    folders: tuple[str, ...]
    secrets: tuple[str, ...]


class SecretFiles:
    """Finds files with the names of secrets below a directory. A directory is listed again only after a change."""

    def __init__(self, is_secret: Callable[[str], bool]) -> None:
        self._is_secret = is_secret
        self._folders: dict[str, _Folder] = {}

    def below(self, top: Path, *, depth: int = 64, most: int = _MOST_FOLDERS) -> list[Path]:
        """Return the secrets below `top`, nearest first, in the first `most` directories."""
        found: list[Path] = []
        level, visited = [str(top)], 0
        for _ in range(depth):
            below: list[str] = []
            for path in level:
                visited += 1
                if visited > most:
                    return found
                folder = self._list(path)
                found += [Path(path, name) for name in folder.secrets]
                below += [f"{path}/{name}" for name in folder.folders]
            level = below
        return found

    def _list(self, path: str) -> _Folder:
        try:
            changed = os.stat(path).st_mtime_ns  # noqa: PTH116  # thousands of folders before each command
            known = self._folders.get(path)
            if known and known.changed == changed:
                return known
            folders, secrets = [], []
            with os.scandir(path) as entries:
                for entry in entries:
                    if self._is_secret(entry.name):
                        secrets.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED:
                        folders.append(entry.name)
        except OSError:  # it has been deleted, or cannot be read
            return _Folder(0, (), ())
        made = self._folders[path] = _Folder(changed, tuple(folders), tuple(secrets))
        return made


class KnownSecrets:
    """Finds which of these paths exist below a directory. The last part of a path may be a pattern.

    A directory is looked at again only after a change: there are hundreds of paths, in a few dozen directories.
    """

    def __init__(self, top: Path, names: Iterable[str]) -> None:
        self._wanted: dict[str, list[str]] = {}
        for name in names:
            for folder, last in _places(str(top).rstrip("/"), name):
                self._wanted.setdefault(folder, []).append(last)
        self._known: dict[str, tuple[int, list[Path]]] = {}

    def existing(self) -> list[Path]:
        return [path for folder, names in self._wanted.items() for path in self._in(folder, names)]

    def _in(self, folder: str, names: list[str]) -> list[Path]:
        try:
            changed = os.stat(folder).st_mtime_ns  # noqa: PTH116  # before each command
        except OSError:
            return []
        known = self._known.get(folder)
        if known is None or known[0] != changed:
            found: list[Path] = []
            for name in names:
                if any(mark in name for mark in "*?["):
                    found += Path(folder).glob(name)
                elif os.path.lexists(f"{folder}/{name}"):
                    found.append(Path(folder, name))
            known = self._known[folder] = (changed, found)
        return known[1]


def _places(top: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the directory and the last part of a path; for a pattern in the middle, of all that match it now."""
    folder, _, last = f"{top}/{name.lstrip('/')}".rpartition("/")
    if any(mark in folder for mark in "*?["):
        start = Path(top or "/")
        for path in start.glob(str(Path(folder).relative_to(start))):
            yield str(path), last
    else:
        yield folder, last


def in_home(home: Path, files: SecretFiles) -> list[Path]:
    """Return the secrets near the top of the home directory, such as those of other projects."""
    return files.below(home, depth=_HOME_DEPTH)
