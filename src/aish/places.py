"""Where files live: everything under `AISH_HOME`, or the XDG directories."""

import os
import re
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from aish.values.errors import StoreTrouble

PROJECT_FILE = ".aish.toml"  # the settings of a project
_MOST_GIT_BYTES = 4096  # of a small file of git


class Places(NamedTuple):
    """The directories of one user. Nothing here is made before it is needed."""

    config: Path
    data: Path
    cache: Path
    state: Path
    lasting: bool = True  # false: there is no home, so nothing is kept beyond this run

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def sessions(self) -> Path:
        return self.data / "sessions"

    @property
    def memory(self) -> Path:
        return self.data / "memory.jsonl"

    def memory_file(self, path: str) -> Path:
        """The file of curated memory for the setting `memory.path`. Raises `StoreTrouble`."""
        if "\0" in path:
            raise StoreTrouble("memory.path cannot be used: no path can have a NUL in it")
        try:
            return self.data / Path(path).expanduser() if path else self.memory
        except RuntimeError:
            raise StoreTrouble(f"memory.path cannot be used: there is no home for {path}") from None

    def memory_index(self, file: Path) -> Path:
        """The index of a memory file; every file has its own."""
        return self.indexes / f"ledger-{zlib.crc32(str(file).encode()):08x}"

    @property
    def workspace(self) -> Path:
        return self.data / "workspace"

    @property
    def salt(self) -> Path:
        return self.data / "salt"

    @property
    def indexes(self) -> Path:
        return self.cache / "index"

    @property
    def turn_index(self) -> Path:
        return self.indexes / "turns"

    @property
    def costs(self) -> Path:
        return self.data / "costs.jsonl"

    @property
    def policy_file(self) -> Path:
        return self.config / "policy.toml"

    @property
    def allowed(self) -> Path:
        return self.data / "allowed.jsonl"

    @property
    def trusted(self) -> Path:
        return self.data / "trusted.jsonl"

    @property
    def token_ratios(self) -> Path:
        return self.cache / "tokens" / "ratios.json"

    @property
    def models(self) -> Path:
        return self.cache / "models"

    @property
    def typed_history(self) -> Path:
        return self.state / "typed"

    @property
    def model_log(self) -> Path:
        return self.state / "embedded.log"


def find_places(env: Mapping[str, str]) -> Places:
    """The places for this environment. Relative XDG paths are ignored, as the standard says."""
    if env.get("AISH_HOME"):
        home = Path(os.path.expanduser(env["AISH_HOME"])).absolute()  # noqa: PTH111  # leaves `~nobody` as it is
        return Places(config=home / "config", data=home / "data", cache=home / "cache", state=home / "state")
    try:
        home, lasting = Path.home(), True
    except RuntimeError:  # no HOME, and the user database does not know us
        home, lasting = _own(Path(env.get("TMPDIR", "/tmp")) / f"aish-{os.getuid()}"), False

    def xdg(name: str, default: str) -> Path:
        path = Path(env.get(name, ""))
        return (path if path.is_absolute() else home / default) / "aish"

    return Places(
        config=xdg("XDG_CONFIG_HOME", ".config"),
        data=xdg("XDG_DATA_HOME", ".local/share"),
        cache=xdg("XDG_CACHE_HOME", ".cache"),
        state=xdg("XDG_STATE_HOME", ".local/state"),
        lasting=lasting,
    )


def _own(path: Path) -> Path:
    """A directory in a place that everybody can write to; one that somebody else made is left alone."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return path
    except OSError:
        pass
    return Path("/nonexistent/aish")


def home_directory() -> Path:
    """The user's home; `~` where nobody knows one."""
    return Path(os.path.expanduser("~"))  # noqa: PTH111  # a Path raises


def model_directories(places: Places, env: Mapping[str, str]) -> list[Path]:
    """Where weights may be: below `AISH_HOME`, and in the cache that the user has without it."""
    usual = find_places({name: value for name, value in env.items() if name != "AISH_HOME"})
    return [places.models, usual.models]


def find_project(directory: Path) -> Path:
    """The project a directory belongs to: the nearest parent with `.git` or `.aish.toml`, else itself."""
    for candidate in (directory, *directory.parents):
        try:
            if (candidate / ".git").exists() or (candidate / PROJECT_FILE).exists():
                return candidate
        except PermissionError:  # not ours to look into
            break
    return directory


def git_directory(root: Path) -> Path | None:
    """Where the repository of a checkout is: `.git`, or what that file names in a worktree or a submodule.

    Git itself is not run: the settings of a repository can make it run programs.
    """
    git = root / ".git"
    mode = mode_of(git)
    if stat.S_ISDIR(mode):
        return git
    named = re.fullmatch(r"gitdir: ?([^\0\n]+)", read_small(git)) if stat.S_ISREG(mode) else None
    return root / named[1] if named else None


def read_small(path: Path) -> str:
    """The text of one of git's small files; nothing if there is none."""
    return (read_bounded(path, _MOST_GIT_BYTES) or b"").decode("utf-8", "replace").strip()


def mode_of(path: Path, *, follow: bool = True) -> int:
    """What a path is, as `stat` tells it; 0 if that cannot be found out."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):  # not there, not permitted, links in a circle, a NUL in its name
        return 0


def read_bounded(path: Path, most: int) -> bytes | None:
    """The bytes of a file; None if it cannot be read, is longer, or is no plain file: a pipe would never end."""
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
