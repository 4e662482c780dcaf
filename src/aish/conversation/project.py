"""Read facts about the project in a directory. Sizes are limited, and nothing from the project is executed.

In an untrusted folder only the names of well-known files and git's HEAD are read, not the text of other files.
"""

import os
import re
import signal
import stat
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from aish.context.blocks import Block
from aish.context.project import KINDS, GitState, ProjectFacts, ProjectText, branch_name, name_in_quotes, project_block
from aish.places import PROJECT_FILE, find_project
from aish.settings.options import ProjectSettings as Options
from aish.storage.git_files import git_directory, mode_of, read_bounded, read_head, read_small
from aish.values.named_tuple import NamedTuple

Role = Literal["settings", "instructions", "readme"]
Holds = Callable[[Path], bool]
READMES = ("README.md", "README", "README.rst", "README.txt", "readme.md", "Readme.md")
MOST_BYTES = 1 << 20  # larger files are not read: they are not written for a model
_MOST_MASKED = 4  # how many times `max_chars` is searched for secrets
_GIT_SECONDS = 0.5
_UNFINISHED = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
# Settings of a repository that can make `git status` run a program or read settings from elsewhere.
_PROGRAMS = r"(?i)filter|fsmonitor|include|hook|command|attributesfile|worktree\s*="
_STATUS = (
    "--no-optional-locks --no-pager -c core.fsmonitor=false -c core.hooksPath=/dev/null "
    "status --porcelain --no-renames --ignore-submodules=all --untracked-files=normal"
)
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}


class Source(NamedTuple):
    """A file of the project with settings or text for the model, and whether it is trusted."""

    name: str
    role: Role
    path: Path
    trusted: bool = False  # with its current content
    trouble: str = ""  # why it cannot be trusted
    text: str = ""  # with secrets masked; only of a trusted file
    beyond: int = 0  # lines of the file that are not in `text`
    digest: str = ""  # SHA-256 of its bytes, if it was read


class Project(NamedTuple):
    """A directory that contains a project."""

    root: Path
    facts: ProjectFacts
    sources: tuple[Source, ...]
    block: Block
    limit: int
    uncounted: bool = False  # git status has not run yet

    def awaiting_trust(self, *roles: Role) -> list[Source]:
        """Return the files that the user could trust but has not trusted."""
        return [
            one for one in self.sources if not one.trusted and not one.trouble and one.role in (roles or (one.role,))
        ]


def look(directory: Path, options: Options, holds: Holds, mask: Callable[[str], str]) -> Project | None:
    """Return the project that a directory belongs to, or None. `holds` says which files are trusted."""
    root = root_of(directory)
    if root is None:
        return None
    kinds = tuple(name for name in KINDS if stat.S_ISREG(mode_of(root / name)))
    git = read_git(root)
    room = _MOST_MASKED * options.max_chars
    sources = tuple(_judge(root, name, role, holds, mask, room) for role, name in _present(root, options))
    if not (kinds or git or sources):
        return None
    documents = (ProjectText(one.name, one.role, one.text, one.beyond) for one in sources if one.role != "settings")
    facts = ProjectFacts(root.name or str(root), kinds, git, tuple(documents))
    ask_git = bool(options.git and git and not git.bare and any(one.trusted for one in sources))
    return Project(root, facts, sources, project_block(facts, options.max_chars), options.max_chars, ask_git)


def root_of(directory: Path) -> Path | None:
    """Return the root of the project that a directory belongs to, or None."""
    try:
        return find_project(directory)
    except (OSError, ValueError):  # for example, the path is too long
        return None


def entered(project: Project) -> str:
    """Return one line for the user about the project that was entered."""
    facts, untrusted = project.facts, [one.name for one in project.awaiting_trust()]
    kinds = ", ".join(dict.fromkeys(KINDS[name] for name in facts.kinds))
    branch = f"branch {facts.git.branch}" if facts.git and facts.git.branch else ""
    about = ", ".join(part for part in (kinds, branch) if part)
    trust = f"; not trusted yet: {' and '.join(untrusted)} (:project trust)" if untrusted else ""
    return f"project {name_in_quotes(facts.folder)}{': ' if about else ''}{about}{trust}"


def _present(root: Path, options: Options) -> Iterable[tuple[Role, str]]:
    """Yield one existing file for each role: the first regular file, else the first of another kind."""
    wanted: tuple[tuple[Role, Iterable[str]], ...] = (
        ("settings", (PROJECT_FILE,)),
        ("instructions", options.instructions),
        ("readme", READMES if options.readme else ()),
    )
    for role, names in wanted:
        there = [name for name in names if mode_of(root / name, follow=False)]
        if there:
            yield role, next((name for name in there if stat.S_ISREG(mode_of(root / name))), there[0])


def _judge(root: Path, name: str, role: Role, holds: Holds, mask: Callable[[str], str], room: int) -> Source:
    """Check a file, and read it if it is trusted."""
    path = root / name
    trouble = _obstacle(root, path)
    if trouble or not holds(path):
        return Source(name, role, path, trouble=trouble)
    data = read_bounded(path, MOST_BYTES)
    if data is None or b"\0" in data:
        return Source(name, role, path, trouble="cannot be read" if data is None else "is not a text")
    text, beyond = _head(data.decode("utf-8-sig", "replace"), room)
    masked = mask(text) if role != "settings" else ""
    import hashlib  # imported late: it loads OpenSSL, which most runs do not need

    digest = hashlib.sha256(data).hexdigest()
    return Source(name, role, path, trusted=True, text=masked, beyond=beyond, digest=digest)


def _head(text: str, room: int) -> tuple[str, int]:
    """Return the first lines that may fit, and how many follow. Cut at a line end, so that no secret is split."""
    if len(text) <= room:
        return text, 0
    end = max(text.rfind("\n", 0, room), 0) or room
    return text[:end], text.rstrip().count("\n", end) or 1


def _obstacle(root: Path, path: Path) -> str:
    """Return why a file cannot be used, without reading it, or "" if it can."""
    try:
        found = path.stat()
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # RuntimeError: symlink loop
        return "cannot be read"
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if not inside:
        return "points outside the project"
    if found.st_size > MOST_BYTES:
        return f"is longer than {MOST_BYTES >> 20} MB"
    return "" if os.access(path, os.R_OK) else "cannot be read"


def read_git(root: Path) -> GitState | None:
    """Read the state of the repository from its files. Git is not run, because its settings may start programs."""
    directory, bare = git_directory(root), False
    if directory is None:
        bare = all(stat.S_ISDIR(mode_of(root / name)) for name in ("objects", "refs"))
        directory = root
    head = read_head(directory)
    if head is None or (directory == root and not bare):
        return None
    unfinished = next((name for name in _UNFINISHED if mode_of(directory / name)), "")
    branch = branch_name(head.ref or (read_small(directory / unfinished / "head-name") if unfinished else ""))
    return GitState(branch, head.commit, _UNFINISHED.get(unfinished, ""), bare)


def counted(project: Project) -> Project:
    """Return the project with its number of changed files. Runs git, so only if the user trusts the folder."""
    git = project.facts.git
    if not project.uncounted or not git:
        return project
    facts = project.facts._replace(git=git._replace(changed=count_changes(project.root)))
    return project._replace(facts=facts, block=project_block(facts, project.limit), uncounted=False)


def count_changes(root: Path) -> int | None:
    """Count the files that `git status` lists; None if running it is not safe or takes too long."""
    program, directory = _git_program(root), git_directory(root)
    if program is None or directory is None:
        return None
    shared = read_small(directory / "commondir")
    for file in (directory / shared / "config", directory / "config.worktree"):
        told = read_bounded(file, MOST_BYTES)
        if told is None and mode_of(file, follow=False):
            return None
        if told and re.search(_PROGRAMS, told.decode("utf-8", "replace")):
            return None
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**clean, **_QUIET, "GIT_CEILING_DIRECTORIES": str(root.parent)}  # ignore a repository in a parent folder
    output = _run([program, *_STATUS.split()], root, env)
    return None if output is None else output.count(b"\n")


def _git_program(root: Path) -> str | None:
    """Find git in PATH, but not inside the project or in a relative folder: the project could have put it there."""
    for folder in map(Path, os.get_exec_path()):
        if folder.is_absolute() and not folder.is_relative_to(root) and os.access(folder / "git", os.X_OK):
            return str(folder / "git")
    return None


def _run(command: list[str], root: Path, env: dict[str, str]) -> bytes | None:
    """Return the output of a program if it succeeds in time; otherwise kill it and its children."""
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command, cwd=root, env=env, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, start_new_session=True
        )
    except (OSError, ValueError):
        return None
    with process:
        try:
            output, _ = process.communicate(timeout=_GIT_SECONDS)
            return output if process.returncode == 0 else None
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
