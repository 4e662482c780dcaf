"""Read the index of a git repository, to tell which files could be recovered from git.

git itself is never called, because the configuration of a repository can make git run programs.
"""

import hashlib
import os
import re
import stat
import struct
import time
from pathlib import Path
from typing import Literal

from aish.storage.git_files import git_directory, mode_of
from aish.values.named_tuple import NamedTuple

_SMALL = 1 << 20  # files up to this size are compared by content when their times differ
_LONGEST_INDEX = 64 << 20
State = Literal["outside", "changed", "safe"]


class GitIndexEntry(NamedTuple):
    """What the index holds about a file: modification time, size and content hash."""

    seconds: int
    nanoseconds: int
    size: int
    hash: bytes


class Index(NamedTuple):
    """The index entries of the files below `top`; `time` is when the index was written."""

    top: Path
    time: int
    entries: dict[bytes, GitIndexEntry]

    def state(self, path: str, found: os.stat_result) -> State:
        """Return whether git could restore the file as it is now."""
        entry = self.entries.get(os.fsencode(path)[len(os.fsencode(self.top)) + 1 :])
        if entry is None:
            return "outside"
        now = (found.st_mtime_ns // 10**9, found.st_mtime_ns % 10**9, found.st_size & 0xFFFFFFFF)
        # The times do not show a change made at the same moment as the index was written.
        if now == entry[:3] and found.st_mtime_ns < self.time:
            return "safe"
        return "safe" if found.st_size <= _SMALL and _hash(path, found, len(entry.hash)) == entry.hash else "changed"


def _hash(path: str, found: os.stat_result, length: int) -> bytes:
    """Return the hash that git would give to this content; empty for file types that git does not store."""
    try:
        if stat.S_ISLNK(found.st_mode):
            content = os.fsencode(os.readlink(path))  # noqa: PTH115  # as bytes
        elif stat.S_ISREG(found.st_mode):
            content = Path(path).read_bytes()
        else:
            return b""
    except OSError:
        return b""
    algorithm = "sha256" if length == 32 else "sha1"
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


def find_index(folder: Path, tops: set[Path], known: dict[str, Index | None], deadline: float) -> Index | None:
    """Return the index of the nearest repository around `folder`, unless the repository itself is a target."""
    for top in (folder, *folder.parents):
        if str(top) in known:
            return known[str(top)]
        try:
            home = git_directory(top)
            if home is None:
                if mode_of(top / ".git", follow=False):  # damaged: git would not look further, either
                    return None
                continue
            if home != top / ".git":  # the repository of a worktree or submodule
                home = Path(os.path.realpath(home))
            if not tops.isdisjoint((home, *home.parents)):
                return None
            return _read_index(top, home, deadline)
        except (OSError, ValueError, struct.error):  # an unknown format: claim nothing
            return None
    return None


def _read_index(top: Path, home: Path, deadline: float) -> Index | None:
    """Read index versions 2 to 4, see gitformat-index(5); skip unmerged and intent-to-add entries."""
    path = home / "index"
    found = path.stat()
    if found.st_size > _LONGEST_INDEX:
        return None
    data, entries, name = path.read_bytes(), {}, b""
    config = home / "config"
    length = 32 if config.is_file() and re.search(rb"(?i)objectformat\s*=\s*sha256", config.read_bytes()) else 20
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        return None
    fixed, at = struct.Struct(f">8xII20xI{length}sH"), 12
    for number in range(count):
        if number % 1000 == 0 and time.monotonic() > deadline:
            return None
        *noted, flags = fixed.unpack_from(data, at)
        start, at = at, at + fixed.size
        more = 0
        if flags & 0x4000:
            (more,) = struct.unpack_from(">H", data, at)
            at += 2
        kept = b""
        if version == 4:  # names are prefix-compressed: this many bytes of the previous name are dropped
            drop, at = _number(data, at)
            kept = name[: len(name) - drop]
        end = data.index(b"\0", at)
        name = kept + data[at:end]
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        if not flags & 0x3000 and not more & 0x2000:
            entries[name] = GitIndexEntry(*noted)
    return Index(top, found.st_mtime_ns, entries)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Decode a variable-length number of git; return it and the position after it."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = (value + 1 << 7) | (data[at] & 127)
    return value, at + 1
