"""`aish import` without arguments: find what other programs have on this machine, show it, and ask."""

import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from aish.memory.command_history.shell_files import history_files
from aish.memory.importers import sniff, sort_files
from aish.memory.importers.known_places import known_places
from aish.values.errors import StoreTrouble
from aish.values.imported import Skipped
from aish.values.named_tuple import NamedTuple
from aish.values.replies import Reply, Table
from aish.values.text import counted, for_terminal
from aish.views.screen import Screen

_UNITS = ("bytes", "KB", "MB", "GB")


class ImportOffer(NamedTuple):
    """Files of one program that can be imported, by format."""

    program: str
    path: Path
    formats: Mapping[str, tuple[Path, ...]]

    @property
    def files(self) -> list[Path]:
        return [file for files in self.formats.values() for file in files]

    @property
    def size(self) -> int:
        return sum(map(_size, self.files))


def find_offers(
    env: Mapping[str, str], home: Path, cwd: Path, tell: Callable[[str], object] = lambda message: None
) -> list[ImportOffer]:
    """Return what is on this machine, and tell about each place that is there and cannot be read."""
    offers = []
    for program, path, formats in known_places(env, home, cwd, Path(tempfile.gettempdir())):
        there, unreadable = _formats(path)
        if unreadable:
            where, why, _ = unreadable[0]
            more = f" and {len(unreadable) - 1:,} more" if len(unreadable) > 1 else ""
            remedy = "; check who may read it" if why == os.strerror(errno.EACCES) else ""
            tell(f"{program}: cannot read {where}{more}: {why}{remedy}")
        found = {format: files for format, files in there.items() if format in formats}
        if found:
            offers.append(ImportOffer(program, path, found))
    for kind, path in history_files(env, home):
        format = "atuin" if kind == "atuin" else "shell-history"
        if _size(path):
            offers.append(ImportOffer(kind, path, {format: (path,)}))
    return offers


def _formats(path: Path) -> tuple[dict[str, tuple[Path, ...]], list[Skipped]]:
    """Return the files of a place by format, and what is there and cannot be read."""
    try:
        if path.is_dir():
            found = sort_files(path)
            return {format: tuple(files) for format, files in found.formats.items()}, found.unreadable
        return {sniff(path): (path,)} if path.is_file() else {}, []
    except StoreTrouble as error:
        return {}, [Skipped(str(path), str(error).removeprefix(f"cannot read {path}: "))]
    except OSError as error:
        return {}, [Skipped(str(path), error.strerror or str(error))]


def choose_offers(offers: list[ImportOffer], screen: Screen, *, yes: bool) -> list[ImportOffer]:
    """Show the offers, and return those that the user wants; all with `yes`, none without a user to ask."""
    if not offers:
        screen.note("found no conversations of other programs; name a file or directory: aish import PATH")
        return []
    home = os.path.expanduser("~")  # noqa: PTH111  # a Path raises
    rows = tuple(_row(number, offer, home) for number, offer in enumerate(offers, start=1))
    screen.say(Reply(table=Table(("", "program", "files", "size", "where"), rows, [""] * len(rows), wide=4)))
    if yes:
        return offers
    if not sys.stdin.isatty():
        screen.note("nothing was imported; use aish import --yes for all, or aish import PATH for one")
        return []
    sys.stderr.write(for_terminal(f"import {counted(len(offers), 'source')}? [y: all, numbers, Enter: none] "))
    sys.stderr.flush()
    wanted = chosen(sys.stdin.readline(), len(offers))
    if not wanted:
        screen.note("nothing was imported")
    return [offers[number - 1] for number in wanted]


def chosen(answer: str, most: int) -> list[int]:
    """Return the numbers that an answer names: all for a yes, none for anything that is neither a yes nor numbers."""
    words = answer.replace(",", " ").lower().split()
    if words in (["y"], ["yes"], ["a"], ["all"]):
        return list(range(1, most + 1))
    numbers = list(_numbers(words, most))
    return sorted(set(numbers)) if len(numbers) == len(words) else []


def _numbers(words: Iterable[str], most: int) -> Iterator[int]:
    for word in words:
        if word.isascii() and word.isdigit() and 1 <= int(word[:6]) <= most:
            yield int(word[:6])


def _row(number: int, offer: ImportOffer, home: str) -> tuple[str, ...]:
    where = str(offer.path)
    short = f"~{where.removeprefix(home)}" if home != "/" and where.startswith(f"{home}/") else where
    return str(number), offer.program, f"{len(offer.files):,}", sized(offer.size), for_terminal(short)


def sized(size: float) -> str:
    """Return a size in the unit that people read."""
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
