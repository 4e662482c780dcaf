"""Read files of a project that nobody has checked: their size is limited, and git itself is never run.

The settings of a repository can make git run programs.
"""

import os
import re
import stat
from pathlib import Path

from aish.values.named_tuple import NamedTuple

_BRANCHES = "refs/heads/"
_MOST_GIT_BYTES = 4096  # limit for small files of git


class GitHead(NamedTuple):
    """What is checked out: a ref, or a commit."""

    ref: str = ""
    commit: str = ""

    @property
    def branch(self) -> str:
        return self.ref.removeprefix(_BRANCHES) if self.ref.startswith(_BRANCHES) else ""


def git_directory(root: Path) -> Path | None:
    """Return the repository of a checkout: `.git`, or the path in that file for a worktree or submodule."""
    git = root / ".git"
    mode = mode_of(git)
    if stat.S_ISDIR(mode):
        return git
    named = re.fullmatch(r"gitdir: ?([^\0\n]+)", read_small(git)) if stat.S_ISREG(mode) else None
    return root / named[1] if named else None


def read_head(directory: Path) -> GitHead | None:
    """Return the HEAD of a repository; None if it has none, or one that git did not write."""
    head = read_small(directory / "HEAD")
    if ref := re.fullmatch(r"ref: (refs/\S+)", head):
        return GitHead(ref=ref[1])
    return GitHead(commit=head) if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", head) else None


def read_small(path: Path) -> str:
    """Return the text of a small file of git; empty if it does not exist."""
    return (read_bounded(path, _MOST_GIT_BYTES) or b"").decode("utf-8", "replace").strip()


def mode_of(path: Path, *, follow: bool = True) -> int:
    """Return the mode of a path from `stat`; 0 on an error."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):  # missing, not permitted, circular links, a NUL in the name
        return 0


def read_bounded(path: Path, most: int) -> bytes | None:
    """Return the bytes of a file. None if it is unreadable, too long, or not regular, because a pipe never ends."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(most + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= most else None
