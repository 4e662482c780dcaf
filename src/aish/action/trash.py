"""The trash of the desktop (freedesktop.org, version 1.0): what was deleted by mistake can come back.

Things are only ever renamed. Where there is no trash on the same file system they stay where they are, and that is
said: a copy would be slow, could fail half-way, and would lose what a copy loses.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from aish.storage.files import make_directory
from aish.values.errors import AishError, BadUsage, Declined, NotFound, StoreTrouble

# A word of a plain command: nothing in it is looked up or run. Patterns are left for the shell to expand.
_WORD = r"""(?:[^\s'"\\$`;&|<>()#!\x00-\x1f\x7f]|'[^'\x00-\x1f]*'|"[^"\\$`!\x00-\x1f]*"|\\[^\x00-\x1f])+"""


class Trashed(NamedTuple):
    """Something in the trash: where it was, where it is now, the file that tells so, and since when."""

    path: Path
    kept: Path
    info: Path
    time: datetime


class Bin(NamedTuple):
    """A trash directory; paths in it are relative to `top`, the root of its file system, or absolute."""

    directory: Path
    top: Path | None = None


def move_to_trash(
    paths: Sequence[Path], *, env: Mapping[str, str] = os.environ, now: datetime | None = None
) -> list[Trashed]:
    """Move all of these to the trash, links themselves and not what they point to; or none of them.

    Raises:
        NotFound, Declined, StoreTrouble: why; everything is where it was.
    """
    places = [(path, _bin_for(path, env)) for path in dict.fromkeys(map(_operand, paths))]
    time = (now or datetime.now()).replace(microsecond=0, tzinfo=None)
    moved: list[Trashed] = []
    try:
        for path, trash in places:
            moved.append(_move(path, trash, time))
    except (OSError, AishError) as error:
        for done in reversed(moved):
            restore(done)
        if isinstance(error, AishError):
            raise
        raise StoreTrouble(f"cannot move {path} to the trash: {error.strerror or error}") from error
    return moved


def restore(trashed: Trashed) -> Path:
    """Put it back where it was.

    Raises:
        NotFound: it is not in the trash any more.
        Declined: something else is there by now.
        StoreTrouble: the disk said no.
    """
    if not os.path.lexists(trashed.kept):
        raise NotFound(f"{trashed.path} is not in the trash any more")
    if os.path.lexists(trashed.path):
        raise Declined(f"there is a {trashed.path} again; move it away first")
    try:
        trashed.path.parent.mkdir(parents=True, exist_ok=True)
        trashed.kept.rename(trashed.path)
        trashed.info.unlink(missing_ok=True)
    except OSError as error:
        raise StoreTrouble(f"cannot put {trashed.path} back: {error.strerror or error}") from error
    return trashed.path


def in_trash(places: Sequence[Path] = (), *, env: Mapping[str, str] = os.environ) -> list[Trashed]:
    """All that is in the trash at home and in those of the file systems of `places`, newest first."""
    bins = {_home_bin(env), *(trash for place in places for trash in _bins_of(_mount(place)))}
    found = [item for trash in bins for item in _items(trash)]
    return sorted(found, key=lambda item: (item.time, item.kept.name), reverse=True)


def as_trash(command: str) -> str | None:
    """The same deletion as a move to the trash, for a plain `rm` on its own; nothing for any other command."""
    if not re.fullmatch(rf"[ \t]*{_WORD}(?:[ \t]+{_WORD})*[ \t]*", command):
        return None
    name, *words = re.findall(_WORD, command)
    if name not in ("rm", "/bin/rm", "/usr/bin/rm"):
        return None
    flags, operands = set(), []
    while words:
        word = words.pop(0)
        if word == "--":
            operands += words
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif word in ("--recursive", "--force"):
            flags.add(word[2])
        elif re.fullmatch(r"-[rRf]+", word):
            flags |= set(word[1:].lower())
        else:  # the other options ask, tell or spare something that the trash would not
            return None
    if not operands or any(re.match(r"""['"\\]+-""", word) for word in operands):
        return None
    options = f" -{''.join(sorted(flags, reverse=True))}" if flags else ""
    ends = " --" if any(word.startswith(("-", "*", "?", "[", "{")) for word in operands) else ""
    return f"aish trash{options}{ends} {' '.join(operands)}"


def _operand(path: Path) -> Path:
    """The path itself, with the links on the way to it followed but not the last one."""
    if path.name in ("", ".."):
        raise BadUsage(f"{path} is a place and not a thing in one; it is not moved to the trash")
    real = Path(os.path.realpath(path.parent)) / path.name
    if not os.path.lexists(real):
        raise NotFound(f"there is no {path}")
    if real.is_mount() and not real.is_symlink():
        raise Declined(f"{path} is a file system of its own and cannot be moved")
    return real


def _bin_for(path: Path, env: Mapping[str, str]) -> Bin:
    """The trash on the file system of `path`."""
    home = _home_bin(env)
    if home.directory.is_relative_to(path):
        raise Declined(f"the trash itself is in {path}")
    if path.is_relative_to(home.directory):
        raise Declined(f"{path} is in the trash already")
    device = path.lstat().st_dev
    if _nearest(home.directory).stat().st_dev == device:
        return home
    for trash in _bins_of(_mount(path.parent)):
        if path.is_relative_to(trash.directory):
            raise Declined(f"{path} is in the trash already")
        try:
            trash.directory.mkdir(mode=0o700, exist_ok=True)
            found = trash.directory.lstat()
        except OSError:  # the next one, then
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and found.st_dev == device:
            return trash
    raise Declined(f"there is no trash on the file system of {path}, and it is not copied to another; use rm")


def _home_bin(env: Mapping[str, str]) -> Bin:
    data = Path(env.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():
        home = env.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  # Path.home() raises without one
        data = Path(home) / ".local/share"
    return Bin(Path(os.path.realpath(data / "Trash")))


def _bins_of(top: Path) -> Iterator[Bin]:
    """The two places the standard names: one that the administrator made for all, and one's own."""
    common = top / ".Trash"
    if common.is_dir() and not common.is_symlink() and common.stat().st_mode & stat.S_ISVTX:
        yield Bin(common / str(os.getuid()), top)
    yield Bin(top / f".Trash-{os.getuid()}", top)


def _mount(path: Path) -> Path:
    """The root of the file system that `path` is on."""
    path = Path(os.path.realpath(path))
    return next(parent for parent in (path, *path.parents) if parent.is_mount())


def _nearest(path: Path) -> Path:
    """The closest directory on the way to `path` that exists."""
    return next(parent for parent in (path, *path.parents) if parent.is_dir())


def _move(path: Path, trash: Bin, time: datetime) -> Trashed:
    """Note first, then rename: a crash in between leaves a note without a thing, never a thing without a note."""
    files, notes = trash.directory / "files", trash.directory / "info"
    for directory in (files, notes):
        make_directory(directory)
    told = path.relative_to(trash.top) if trash.top else path
    text = f"[Trash Info]\nPath={quote_from_bytes(os.fsencode(told))}\nDeletionDate={time.isoformat()}\n"
    info = _claim(files, notes, path.name)
    kept = files / info.name.removesuffix(".trashinfo")
    try:
        info.write_text(text, encoding="ascii")
        path.rename(kept)
    except BaseException:  # whatever it was, a note about nothing must go
        info.unlink(missing_ok=True)
        raise
    return Trashed(path, kept, info, time)


def _claim(files: Path, notes: Path, name: str) -> Path:
    """A name that is free, taken by making its note: whoever makes a file first has it."""
    for number in count(1):
        ending = f".{number}" if number > 1 else ""
        stem = os.fsdecode(os.fsencode(name)[: 240 - len(ending)])  # names end at 255 bytes, with .trashinfo
        if os.path.lexists(files / f"{stem}{ending}"):
            continue
        info = notes / f"{stem}{ending}.trashinfo"
        try:
            os.close(os.open(info, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            continue
        return info
    raise AssertionError  # numbers do not end


def _items(trash: Bin) -> Iterator[Trashed]:
    """What this trash holds; notes that make no sense or are about nothing are passed over."""
    for info in (trash.directory / "info").glob("*.trashinfo"):
        try:
            text = info.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        told = re.search(r"^Path=(.+)$", text, re.MULTILINE)
        date = re.search(r"^DeletionDate=(\S+)$", text, re.MULTILINE)
        kept = trash.directory / "files" / info.name.removesuffix(".trashinfo")
        if not told or not os.path.lexists(kept):
            continue
        path = Path(os.fsdecode(unquote_to_bytes(told[1])))
        if trash.top is None and not path.is_absolute():
            continue
        yield Trashed((trash.top or Path("/")) / path, kept, info, _time(date[1] if date else ""))


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return datetime.min
