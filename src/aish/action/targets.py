"""Count the files that a destructive command would affect, before it runs and without starting a program."""

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from aish.action.expansion import expand
from aish.action.find_matches import is_search, matches
from aish.action.git_index import Index, State, find_index
from aish.values.named_tuple import NamedTuple
from aish.values.verdicts import Verdict


class Survey(NamedTuple):
    """The counted files. `cut` means that counting stopped early; then every number is a lower bound."""

    files: int = 0
    links: int = 0
    directories: int = 0
    bytes: int = 0
    outside_git: int = 0
    changed: int = 0
    repositories: int = 0  # whose history would be affected too
    unreadable: int = 0  # directories that could not be read
    missing: tuple[str, ...] = ()  # operands that name nothing
    unknown: tuple[str, ...] = ()  # operands that only the shell can expand
    cut: bool = False

    def words(self) -> str:
        """Return one line for the user."""
        return "; ".join(part for part in (self._counted(), *self._remarks()) if part)

    def _counted(self) -> str:
        parts = [_count(self.files, "file")] if self.files else []
        parts += [_count(self.links, "symbolic link")] if self.links else []
        whole = " and ".join(parts)
        if self.directories:
            whole += f"{' in ' if whole else ''}{_count(self.directories, 'directory', 'directories')}"
        if self.files:
            whole += f", {_size(self.bytes)}"
        if self.cut:
            return f"more than {whole}" if whole else "too much to count"
        return whole or ("" if self.unknown or self.missing else "nothing")

    def _remarks(self) -> Iterator[str]:
        whole = self.files + self.links
        if self.repositories:
            yield f"{_count(self.repositories, 'git repository', 'git repositories')} with all history"
        elif whole and not self.cut:
            yield _in_git(whole, self.outside_git, self.changed)
        if self.unreadable:
            yield f"{_count(self.unreadable, 'directory', 'directories')} could not be read"
        if self.missing:
            yield f"not found: {_some(self.missing)}"
        if self.unknown:
            yield f"only known at run time: {_some(self.unknown)}"


def survey(words: Sequence[str], directory: Path, *, most: int = 10_000, seconds: float = 0.3) -> Survey:
    """Count the files that these operands, as typed in `directory`, refer to; links are not followed."""
    deadline = time.monotonic() + seconds
    unknown: list[str] = []
    missing: list[str] = []
    paths: list[str] = []
    walk = _Walk(most, deadline)
    for word in words:
        if is_search(word):
            found = matches(word, directory, deadline)
            if found is None:
                unknown.append(word)
            else:
                walk.take_all(_place(directory, name) for name in found)
            continue
        names = expand(word, directory, most, deadline)
        if names is None:
            unknown.append(word)
            continue
        for name in names:
            path = _place(directory, name)
            if os.path.lexists(path):
                paths.append(path)
            else:
                missing.append(name)
    tops = _apart(paths)
    walk.enough()  # expanding the names may have used up the time
    for top in tops:
        walk.take(top)
    outside, changed = walk.in_git(tops)
    counted = (walk.files, walk.links, walk.directories, walk.bytes, outside, changed, walk.repositories)
    return Survey(*counted, walk.unreadable, tuple(missing), tuple(unknown), walk.cut)


def settled(verdict: Verdict, directory: Path) -> Verdict:
    """Return the verdict on a command that would run in `directory`: a file that `>` creates is not destroyed."""
    if verdict.if_new is None:
        return verdict
    deadline = time.monotonic() + 0.1
    for word in verdict.overwritten:
        names = expand(word, directory, 1, deadline)
        if names is None or any(os.path.lexists(_place(directory, name)) for name in names):
            return verdict
    return verdict.if_new


def _place(directory: Path, name: str) -> str:
    """Return the path of an operand; a link with a trailing slash means its target."""
    path = os.path.join(directory, name)  # noqa: PTH118  # a Path forgets the slash
    return os.path.realpath(path) if path.endswith("/") else os.path.normpath(path)


def _apart(paths: Iterable[str]) -> set[Path]:
    """Return the paths without duplicates and without paths below another one."""
    tops: set[Path] = set()
    for path in sorted(map(Path, paths)):
        if tops.isdisjoint((path, *path.parents)):
            tops.add(path)
    return tops


class _Walk:
    """Counts files in trees until a limit or the deadline is reached."""

    def __init__(self, most: int, deadline: float) -> None:
        self.files = self.links = self.directories = self.bytes = self.repositories = self.unreadable = 0
        self.cut = False
        self._most, self._deadline = most, deadline
        self._seen: list[tuple[str, os.stat_result]] = []

    def take_all(self, paths: Iterable[str]) -> None:
        """Count these paths, but nothing below them."""
        for path in paths:
            if self.enough():
                return
            try:
                found = os.lstat(path)
            except OSError:  # deleted in the meantime
                continue
            if stat.S_ISDIR(found.st_mode):
                self.directories += 1
            else:
                self._count(path, found)

    def take(self, top: Path) -> None:
        to_visit = [str(top)]
        while to_visit and not self.enough():
            path = to_visit.pop()
            try:
                found = os.lstat(path)
                if not stat.S_ISDIR(found.st_mode):
                    self._count(path, found)
                    continue
                self.directories += 1
                self.repositories += path.endswith("/.git")
                with os.scandir(path) as entries:
                    to_visit += [entry.path for entry in islice(entries, self._most + 1)]
            except FileNotFoundError:  # deleted in the meantime
                pass
            except OSError:
                self.unreadable += 1

    def _count(self, path: str, found: os.stat_result) -> None:
        self._seen.append((path, found))
        if stat.S_ISLNK(found.st_mode):
            self.links += 1
        else:
            self.files += 1
            self.bytes += found.st_size

    def enough(self) -> bool:
        many = self.files + self.links + self.directories >= self._most
        self.cut = self.cut or many or time.monotonic() > self._deadline
        return self.cut

    def in_git(self, tops: set[Path]) -> tuple[int, int]:
        """Return how many files are not in git, and how many have changes that are not in git."""
        indexes: dict[str, Index | None] = {}
        states: list[State] = []
        for path, found in self._seen:
            if self.cut or time.monotonic() > self._deadline:
                self.cut = True
                break
            folder = os.path.dirname(path)  # noqa: PTH120  # ten thousand Path objects would take most of the time
            if folder not in indexes:
                indexes[folder] = find_index(Path(folder), tops, indexes, self._deadline)
            index = indexes[folder]
            states.append(index.state(path, found) if index else "outside")
        return states.count("outside"), states.count("changed")


def _in_git(whole: int, outside: int, changed: int) -> str:
    if outside == whole:
        return "not in git" if whole == 1 else "none of them are in git"
    if not outside + changed:
        return "in git, unchanged" if whole == 1 else "all of them are in git, unchanged"
    if whole == 1:
        return "its changes are not in git"
    parts = [f"{outside:,} of them {'is' if outside == 1 else 'are'} not in git"] if outside else []
    if changed:
        parts.append(f"{changed:,} {'has' if changed == 1 else 'have'} changes that are not in git")
    return ", ".join(parts)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _some(names: Sequence[str], most: int = 5) -> str:
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _size(number: int) -> str:
    size = float(number)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{number:,} {'byte' if number == 1 else 'bytes'}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
