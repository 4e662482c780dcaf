"""The bounds of the two fences: what a command can read and write.

*Looking* is for commands that nobody was asked about: nothing is writable but a private temporary directory, there is
no network, and secrets cannot be read. *Changing* is for commands that the user allowed: the project is writable,
except for files that run later outside the fence.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from aish.action.fence.keeper import ResourceLimits
from aish.storage.git_files import git_directory, read_bounded, read_small
from aish.values.named_tuple import NamedTuple

FenceName = Literal["looking", "changing"]

# Files of a project that run code later, when the person uses the project outside the fence.
_RUN_LATER = """
    .envrc .aish.toml .vscode .idea .zed .nvim.lua .exrc .vimrc .nvimrc .dir-locals.el .devcontainer .github/workflows
    .github/actions .gitlab-ci.yml .circleci .travis.yml .drone.yml .woodpecker azure-pipelines.yml Jenkinsfile
    bitbucket-pipelines.yml .buildkite .husky .pre-commit-config.yaml lefthook.yml .lefthook.yml .mise.toml mise.toml
    .tool-versions .bashrc .bash_profile .profile .zshrc .zshenv .zprofile .claude .cursor .gemini .codex .mcp.json
""".split()
# The same inside the directory of git, also of submodules and worktrees.
_OF_GIT = "config config.worktree commondir hooks info/attributes".split()
_NAMES_FILES = re.compile(r'^[ \t]*(hooksPath|path)[ \t]*=[ \t]*"?([^"\0\n]+?)"?[ \t]*$', re.IGNORECASE | re.MULTILINE)
_MOST_SETTINGS = 1 << 16  # bytes that are read of them
_LOOKING = ResourceLimits(
    seconds=300,
    processor_seconds=300,
    memory=4 << 30,
    file_size=256 << 20,
    open_files=4096,
    private_size=512 << 20,
)
_CHANGING = ResourceLimits(private_size=4 << 30)


class FenceBounds(NamedTuple):
    """What a command can do. A hidden path can be neither read nor written, also below a writable one.

    `protected` paths stay as they are below a writable one, except below `may_change`. `sockets` are those of this
    machine that it can connect to.
    """

    name: FenceName
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    may_change: tuple[Path, ...] = ()
    network: bool = False
    limits: ResourceLimits = ResourceLimits()
    processes: int = 512
    sockets: tuple[Path, ...] = ()


def looking(hidden: Sequence[Path], *, seconds: float = _LOOKING.seconds, network: bool = False) -> FenceBounds:
    """Return the bounds for what runs unasked; with `network`, for what the user allowed to use the network."""
    return FenceBounds("looking", hidden=tuple(hidden), network=network, limits=_LOOKING._replace(seconds=seconds))


def is_project(directory: Path, home: Path | None) -> bool:
    """Can a directory be a project? The home directory never is one, nor is one above it."""
    real = Path(os.path.realpath(directory))
    homes = [Path(os.path.realpath(home))] if home else []
    return real != Path("/") and not any(real == one or real in one.parents for one in homes)


def changing(
    project: Path,
    hidden: Sequence[Path],
    *,
    home: Path | None,
    network: bool = False,
    may_change: Sequence[Path] = (),
    only: Sequence[Path] | None = None,
    seconds: float = 0,
) -> FenceBounds:
    """Return the bounds for what the user allowed. Without a project nothing is writable.

    `may_change` are protected paths that the user allowed by name. `only` are the directories of the project that are
    writable; None: all of it. What leads out of the project is never writable.
    """
    real = Path(os.path.realpath(project))
    there = is_project(project, home)
    wanted = (real,) if only is None else tuple(Path(os.path.realpath(path)) for path in only)
    writable = tuple(path for path in wanted if there and path.is_relative_to(real) and path.is_dir())
    kept = (path for path in protected(real) if not any(one == path or one in path.parents for one in may_change))
    return FenceBounds(
        "changing",
        writable,
        tuple(hidden),
        tuple(kept) if there else (),
        tuple(may_change),
        network,
        _CHANGING._replace(seconds=seconds),
        processes=4096,
    )


def protected(project: Path) -> list[Path]:
    """Return the paths of a project that run later, whether they exist or not."""
    found = [project / name for name in _RUN_LATER]
    git = project / ".git"
    if git.is_file():
        found.append(git)
    own = git_directory(project) or git
    shared = own / (read_small(own / "commondir") or ".")  # a worktree has its own directory and a shared one
    real = [Path(os.path.realpath(path)) for path in (own, shared)]
    found += [path / name for path in dict.fromkeys((own, *real)) for name in _OF_GIT]
    return found + _named_by_git(Path(os.path.realpath(project)), real[-1])


def _named_by_git(project: Path, git: Path) -> list[Path]:
    """Return what the settings of a repository take hooks or more settings from, below the project."""
    settings = (read_bounded(git / "config", _MOST_SETTINGS) or b"").decode("utf-8", "replace")
    named = [(git if key.lower() == "path" else project) / name for key, name in _NAMES_FILES.findall(settings)]
    real = (Path(os.path.realpath(path)) for path in named)
    return [path for path in real if project in path.parents]


def trees_without(top: Path, hidden: frozenset[Path]) -> Iterator[str]:
    """Yield the largest trees below `top` that contain no hidden path: Landlock can only allow, never exclude.

    Files that are later created directly in a parent directory of a hidden path are not covered.
    """
    if not hidden.isdisjoint((top, *top.parents)):
        return
    above = {str(parent) for path in hidden for parent in path.parents}
    closed = set(map(str, hidden))
    to_visit = [str(top)]
    while to_visit:
        path = to_visit.pop()
        if path not in above:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                found = [entry.path for entry in entries]
        except OSError:  # it cannot be listed: continue only with the known parents of hidden paths
            found = [parent for parent in above if os.path.dirname(parent) == path]  # noqa: PTH120  # as text
        to_visit += [child for child in found if child not in closed]
