"""What a fenced command wanted to do and could not.

Pure: plain values.
"""

import posixpath
import re
from collections.abc import Iterable
from typing import Literal

from aish.values.named_tuple import NamedTuple
from aish.values.text import exactly, one_line

Kind = Literal["write", "reach", "listen", "socket", "signal", "limit", "read"]
MOST = 40  # wants that are kept of one command
_DENIED = re.compile(r"permission denied|operation not permitted|cannot open|EACCES", re.IGNORECASE)
_MOST_LINES = 200
_PATH = re.compile(r"[^\s'\"`‘’“”:;,()<>|]+")
VERBS = (
    "read",
    "write",
    "make the directory",
    "delete",
    "rename",
    "make the link",
    "make",
    "change the mode of",
    "change the owner of",
    "change the times of",
)

# Programs write to such places only to be faster the next time, and go on without.
_CACHES = re.compile(
    r"/([\w.-]*cache[\w.-]*|_logs|\.npm|\.local/state)(/|$)|/\.lesshst|\.pyc\b|_update-notifier", re.IGNORECASE
)
# `git diff` refreshes the times in the index. What must write it, such as `git add`, fails instead.
_GIT_INDEX = re.compile(r"/\.git/(worktrees/[^/]+/|modules/.+/)?index\.lock$")
_OF_SETTINGS = re.compile(r"/\.(config|local|local/share)(/[^/]+)?$")


class Want(NamedTuple):
    """One thing that the fence stopped. A `minor` one is usually not missed by the program."""

    kind: Kind
    what: str
    minor: bool = False

    @property
    def path(self) -> str:
        """The path that it wanted to write or read; empty for other kinds."""
        if self.kind not in ("write", "read"):
            return ""
        verb = next((verb for verb in VERBS if self.what.startswith(f"{verb} ")), "write")
        return self.what[len(verb) + 1 :]

    @property
    def text(self) -> str:
        return f"wanted to {one_line(exactly(self.what), 200)}"


def wants_to_write(path: str, verb: str = "write", *, minor: bool = False) -> Want:
    in_passing = (
        _CACHES.search(path) or _GIT_INDEX.search(path) or (verb == "make the directory" and _OF_SETTINGS.search(path))
    )
    return Want("write", f"{verb} {path}", minor or bool(in_passing))


def stopped(wants: Iterable[Want], status: int) -> bool:
    """Did the fence stop the command, so that what it printed may be incomplete?"""
    wants = tuple(wants)
    return bool(wants) and (status != 0 or not all(want.minor for want in wants))


def shown_from(wants: Iterable[Want], directory: str, home: str = "") -> tuple[Want, ...]:
    """Return the wants with paths as a person in this directory would write them."""
    return tuple(want._replace(what=_shortened(want.what, directory, home)) for want in wants)


def _shortened(what: str, directory: str, home: str) -> str:
    verb, space, path = what.partition(" /")
    path = f"/{path}"
    if not space or verb not in VERBS:
        return what
    if directory != "/" and path.startswith(f"{directory}/"):
        return f"{verb} {path[len(directory) + 1 :]}"
    if len(home) > 1 and path.startswith(f"{home}/"):
        return f"{verb} ~{path[len(home) :]}"
    return f"{verb} {path}"


def denied_reads(output: str, hidden: Iterable[str], directory: str) -> tuple[Want, ...]:
    """Return the hidden files that a command could not read, by what it printed about them.

    Reading is not watched, because that would make every program slow. So this finds only what is complained about.
    """
    lines = [line for line in output.splitlines()[-_MOST_LINES:] if _DENIED.search(line)]
    if not lines:
        return ()
    paths = {posixpath.normpath(posixpath.join(directory, piece)) for line in lines for piece in _PATH.findall(line)}
    above = paths | {path[: mark.start()] for path in paths for mark in re.finditer("/", path)}
    return tuple(Want("read", f"read {path}", minor=True) for path in hidden if path in above)[:MOST]
