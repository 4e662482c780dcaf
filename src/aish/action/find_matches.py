"""What `find … -delete` would delete: the matches of its simplest tests, without starting a program."""

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from fnmatch import translate
from pathlib import Path

from aish.action.expansion import expand, plain_text
from aish.values.named_tuple import NamedTuple

_ALWAYS = frozenset(("-depth", "-a", "-and", "-print", "-xdev", "-mount"))
_MOST_DEPTH = 1_000


class _Found(NamedTuple):
    """A file as find shows it; `kind` is what its test -type calls it."""

    path: str
    kind: str

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2] or "/"


class _Search(NamedTuple):
    tops: tuple[str, ...]
    tests: tuple[Callable[[_Found], bool], ...]
    least: int = 0
    most: int = _MOST_DEPTH


def is_search(target: str) -> bool:
    """Is this target a `find` command, and not the name of a file?"""
    return target == "find" or target.startswith("find ")


def matches(target: str, directory: Path, deadline: float) -> Iterator[str] | None:
    """Yield the paths that a `find` command matches; None if it has tests that only find itself knows."""
    search = _parse(target, directory, deadline)
    return None if search is None else _walk(search, directory, deadline)


def _parse(target: str, directory: Path, deadline: float) -> _Search | None:
    try:
        words = shlex.split(target, posix=False)[1:]
    except ValueError:
        return None
    tops: list[str] = []
    while words and words[0][0] not in "-(!\\":
        names = expand(words.pop(0), directory, 100, deadline)
        if names is None:
            return None
        tops += names
    search = _Search(tuple(tops) or (".",), ())
    while words:
        flag = words.pop(0)
        if flag in _ALWAYS:
            continue
        value = plain_text(words.pop(0)) if words else None
        found = None if value is None else _with_test(search, flag, value)
        if found is None:
            return None
        search = found
    return search


def _with_test(search: _Search, flag: str, value: str) -> _Search | None:
    pattern = re.compile(translate(value.replace("[^", "[!")), re.IGNORECASE if flag[1:2] == "i" else 0)
    test: Callable[[_Found], bool]
    match flag:
        case "-maxdepth" | "-mindepth" if value.isdigit():
            depth = min(int(value), _MOST_DEPTH)
            return search._replace(most=depth) if flag == "-maxdepth" else search._replace(least=depth)
        case "-type" if value in ("f", "d", "l"):
            test = lambda found: found.kind == value  # noqa: E731  # three tests in one line each
        case "-name" | "-iname":
            test = lambda found: bool(pattern.match(found.name))  # noqa: E731
        case "-path" | "-ipath" | "-wholename" | "-iwholename":
            test = lambda found: bool(pattern.match(found.path))  # noqa: E731
        case _:
            return None
    return search._replace(tests=(*search.tests, test))


def _walk(search: _Search, directory: Path, deadline: float) -> Iterator[str]:
    """Yield the matches; links are not followed, and the current directory itself is never deleted."""
    to_visit = [(_Found(top, _kind(directory / top)), 0) for top in search.tops]
    while to_visit and time.monotonic() < deadline:
        found, depth = to_visit.pop()
        if depth >= search.least and found.path != "." and all(test(found) for test in search.tests):
            yield found.path
        if found.kind != "d" or depth >= search.most:
            continue
        try:
            with os.scandir(directory / found.path) as entries:
                for entry in entries:
                    kind = "l" if entry.is_symlink() else "d" if entry.is_dir() else "f" if entry.is_file() else "?"
                    to_visit.append((_Found(f"{found.path.rstrip('/')}/{entry.name}", kind), depth + 1))
        except OSError:  # deleted in the meantime, or not readable
            continue


def _kind(path: Path) -> str:
    return "l" if path.is_symlink() else "d" if path.is_dir() else "f" if path.is_file() else "?"
