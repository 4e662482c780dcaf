"""The desktop trash (freedesktop.org specification, version 1.0), from which deleted files can be restored.

Files are only renamed, never copied: a copy would be slow, could fail half-way and would lose metadata. If there is no
trash on the same file system, the file stays where it is and the user gets an error.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from aish.storage.files import make_directory
from aish.values.errors import AishError, BadUsage, Declined, NotFound, StoreTrouble
from aish.values.named_tuple import NamedTuple

# A word of a plain command, without variables and substitutions. The shell expands patterns later.
_WORD = r"""(?:[^\s'"\\$`;&|<>()#!\x00-\x1f\x7f]|'[^'\x00-\x1f]*'|"[^"\\$`!\x00-\x1f]*"|\\[^\x00-\x1f])+"""


class Trashed(NamedTuple):
    """A file in the trash: its original path, its current path, its info file and the time of deletion."""

    path: Path
    kept: Path
    info: Path
    time: datetime


class Bin(NamedTuple):
    """A trash directory; original paths in it are relative to `top`, the root of its file system, or absolute."""

    directory: Path
    top: Path | None = None


def move_to_trash(
    paths: Sequence[Path], *, env: Mapping[str, str] = os.environ, now: datetime | None = None
) -> list[Trashed]:
    """Move all paths to the trash, or none of them. Links are moved themselves, not their targets.

    Raises:
        NotFound, Declined, StoreTrouble: nothing was moved.
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
    """Move a file from the trash back to its original path.

    Raises:
        NotFound: it is no longer in the trash.
        Declined: the original path exists again.
        StoreTrouble: the file system reported an error.
    """
    if not os.path.lexists(trashed.kept):
        raise NotFound(f"{trashed.path} is no longer in the trash")
    if os.path.lexists(trashed.path):
        raise Declined(f"{trashed.path} exists again; move it away first")
    try:
        trashed.path.parent.mkdir(parents=True, exist_ok=True)
        trashed.kept.rename(trashed.path)
        trashed.info.unlink(missing_ok=True)
    except OSError as error:
        raise StoreTrouble(f"cannot restore {trashed.path}: {error.strerror or error}") from error
    return trashed.path


def in_trash(places: Sequence[Path] = (), *, env: Mapping[str, str] = os.environ) -> list[Trashed]:
    """Return everything in the home trash and in the trashes of the file systems of `places`, newest first."""
    bins = {_home_bin(env), *(trash for place in places for trash in _bins_of(_mount(place)))}
    found = [item for trash in bins for item in _items(trash)]
    return sorted(found, key=lambda item: (item.time, item.kept.name), reverse=True)


def as_trash(command: str) -> str | None:
    """Return a plain `rm` command as a move to the trash; None for any other command."""
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
        else:  # the trash does not support the other options
            return None
    if not operands or any(re.match(r"""['"\\]+-""", word) for word in operands):
        return None
    options = f" -{''.join(sorted(flags, reverse=True))}" if flags else ""
    ends = " --" if any(word.startswith(("-", "*", "?", "[", "{")) for word in operands) else ""
    return f"aish trash{options}{ends} {' '.join(operands)}"


def _operand(path: Path) -> Path:
    """Return the real path, without following a link in its last part."""
    if path.name in ("", ".."):
        raise BadUsage(f"{path} cannot be moved to the trash; name the file or directory itself")
    real = Path(os.path.realpath(path.parent)) / path.name
    if not os.path.lexists(real):
        raise NotFound(f"{path} does not exist")
    if real.is_mount() and not real.is_symlink():
        raise Declined(f"{path} is a mount point and cannot be moved")
    return real


def _bin_for(path: Path, env: Mapping[str, str]) -> Bin:
    """Return the trash on the file system of `path`."""
    home = _home_bin(env)
    if home.directory.is_relative_to(path):
        raise Declined(f"{path} contains the trash")
    if path.is_relative_to(home.directory):
        raise Declined(f"{path} is already in the trash")
    device = path.lstat().st_dev
    if _nearest(home.directory).stat().st_dev == device:
        return home
    for trash in _bins_of(_mount(path.parent)):
        if path.is_relative_to(trash.directory):
            raise Declined(f"{path} is already in the trash")
        try:
            trash.directory.mkdir(mode=0o700, exist_ok=True)
            found = trash.directory.lstat()
        except OSError:  # try the next one
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and found.st_dev == device:
            return trash
    raise Declined(f"there is no trash on the file system of {path}; use rm to delete it")


def _home_bin(env: Mapping[str, str]) -> Bin:
    data = Path(env.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():
        home = env.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  # Path.home() raises without one
        data = Path(home) / ".local/share"
    return Bin(Path(os.path.realpath(data / "Trash")))


def _bins_of(top: Path) -> Iterator[Bin]:
    """Yield the two places that the standard names: the shared one of the administrator, and the user's own."""
    common = top / ".Trash"
    if common.is_dir() and not common.is_symlink() and common.stat().st_mode & stat.S_ISVTX:
        yield Bin(common / str(os.getuid()), top)
    yield Bin(top / f".Trash-{os.getuid()}", top)


def _mount(path: Path) -> Path:
    """Return the mount point of the file system of `path`."""
    path = Path(os.path.realpath(path))
    return next(parent for parent in (path, *path.parents) if parent.is_mount())


def _nearest(path: Path) -> Path:
    """Return the nearest existing directory at or above `path`."""
    return next(parent for parent in (path, *path.parents) if parent.is_dir())


def _move(path: Path, trash: Bin, time: datetime) -> Trashed:
    """Write the info file, then rename: a crash may leave an info file without a file, never the reverse."""
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
    except BaseException:  # on any error, remove the info file
        info.unlink(missing_ok=True)
        raise
    return Trashed(path, kept, info, time)


def _claim(files: Path, notes: Path, name: str) -> Path:
    """Reserve a free name by creating its info file, which only one process can do."""
    for number in count(1):
        ending = f".{number}" if number > 1 else ""
        stem = os.fsdecode(os.fsencode(name)[: 240 - len(ending)])  # at most 255 bytes, with .trashinfo
        if os.path.lexists(files / f"{stem}{ending}"):
            continue
        info = notes / f"{stem}{ending}.trashinfo"
        try:
            os.close(os.open(info, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            continue
        return info
    raise AssertionError  # unreachable: `count` never ends


def _items(trash: Bin) -> Iterator[Trashed]:
    """Yield the contents of this trash; skip info files that are invalid or have no file."""
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
