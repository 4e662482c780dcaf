"""The directories of aish: everything below `AISH_HOME`, or the XDG directories."""

import itertools
import os
import stat
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple

PROJECT_FILE = ".aish.toml"  # the settings of a project
AGENT_FOLDERS = (".aish/agents", ".claude/agents")  # definitions of sub-agents in a project
PROJECT_SKILLS = (".aish/skills", ".claude/skills", ".agents/skills")  # the last two are common to several tools


class SkillFolder(NamedTuple):
    """A folder with skills, and whose they are: the user's, for all projects or for a channel, or a project's."""

    place: Literal["workspace", "channel", "project"]
    path: Path


class Places(NamedTuple):
    """The directories of one user. Each is created on first use."""

    config: Path
    data: Path
    cache: Path
    state: Path
    lasting: bool = True  # false: there is no home directory, so nothing is stored permanently

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
        """Return the memory file for the setting `memory.path`. Raises `StoreTrouble`."""
        if "\0" in path:
            raise StoreTrouble("memory.path cannot be used: it contains a NUL character")
        try:
            return self.data / Path(path).expanduser() if path else self.memory
        except RuntimeError:
            raise StoreTrouble(f"memory.path cannot be used: no home directory for {path}") from None

    def memory_index(self, file: Path) -> Path:
        """Return the path of the index of a memory file. Each memory file has its own index."""
        return self.indexes / f"ledger-{zlib.crc32(str(file).encode()):08x}"

    @property
    def workspace(self) -> Path:
        return self.data / "workspace"

    @property
    def agents(self) -> Path:
        """The user's own definitions of sub-agents."""
        return self.workspace / "agents"

    def agent_folders(self, directory: Path) -> list[Path]:
        """Return the folders with definitions of sub-agents that exist: the user's, and those of the project."""
        folders = [self.agents, *_in_project(directory, AGENT_FOLDERS)]
        return [one for one in folders if os.path.isdir(one)]  # noqa: PTH112  # a Path raises if it may not look

    @property
    def channel_links(self) -> Path:
        return self.workspace / "channels.jsonl"

    def channel(self, name: str) -> Path:
        """Return the directory of a channel's notes and logs."""
        return self.workspace / "channels" / name

    def skill_folders(self, channel: str, directory: Path) -> list[SkillFolder]:
        """Return the folders with skills that exist; of two skills with one name, that of the first folder counts."""
        folders = [SkillFolder("workspace", self.workspace / "skills")]
        folders.append(SkillFolder("channel", self.channel(channel) / "skills"))
        folders += (SkillFolder("project", path) for path in _in_project(directory, PROJECT_SKILLS))
        return [one for one in folders if os.path.isdir(one.path)]  # noqa: PTH112  # a Path raises if it may not look

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
    def commands(self) -> Path:
        return self.data / "commands.jsonl"

    @property
    def goals(self) -> Path:
        return self.data / "goals"

    @property
    def policy_file(self) -> Path:
        return self.config / "policy.toml"

    @property
    def allowed(self) -> Path:
        return self.data / "allowed.jsonl"

    @property
    def route_choices(self) -> Path:
        return self.data / "routes.jsonl"

    @property
    def known_tools(self) -> Path:
        return self.data / "mcp_tools.jsonl"

    @property
    def tool_listings(self) -> Path:
        return self.cache / "mcp"

    @property
    def trusted(self) -> Path:
        return self.data / "trusted.jsonl"

    @property
    def token_ratios(self) -> Path:
        return self.cache / "tokens" / "ratios.json"

    @property
    def model_cards(self) -> Path:
        return self.cache / "model_cards.json"

    @property
    def models(self) -> Path:
        return self.cache / "models"

    @property
    def prompt_states(self) -> Path:
        """What an embedded model has read, so that a new process need not read it again."""
        return self.cache / "prompts"

    @property
    def typed_history(self) -> Path:
        return self.state / "typed"

    @property
    def setup_record(self) -> Path:
        """What was offered at the first start, and what the user declined."""
        return self.state / "setup.json"

    @property
    def machine_record(self) -> Path:
        """The model server that was found on this machine."""
        return self.state / "machine.json"

    @property
    def undo(self) -> Path:
        return self.state / "undo"

    @property
    def model_log(self) -> Path:
        return self.state / "embedded.log"


def find_places(env: Mapping[str, str]) -> Places:
    """Return the places for this environment. Ignores relative XDG paths, as the standard requires."""
    if env.get("AISH_HOME"):
        home = Path(os.path.expanduser(env["AISH_HOME"])).absolute()  # noqa: PTH111  # leaves `~nobody` as it is
        return Places(config=home / "config", data=home / "data", cache=home / "cache", state=home / "state")
    try:
        home, lasting = Path.home(), True
    except RuntimeError:  # HOME is not set, and the user is not in the user database
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
    """Create a private directory in a shared place. Refuses a directory of another user."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return path
    except OSError:
        pass
    return Path("/nonexistent/aish")


def exposed_directories(places: Places) -> list[Path]:
    """Return our directories, and those above them up to the home directory, that somebody else can change.

    A sticky directory such as /tmp is fine: others cannot replace what is in it. So is a group with the user alone.
    """
    home, found = home_directory(), dict[Path, None]()
    for place in (places.config, places.data, places.sessions, places.state, places.cache):
        above = [*itertools.takewhile(lambda one: one != home.parent, place.parents)]
        found |= dict.fromkeys(one for one in (place, *above) if _is_exposed(one))
    return list(found)


def _is_exposed(directory: Path) -> bool:
    try:
        status = directory.stat()
    except OSError:
        return False
    if status.st_mode & stat.S_ISVTX:
        return False
    group = bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)
    return group or bool(status.st_mode & stat.S_IWOTH) or status.st_uid not in (0, os.getuid())


def _is_own_group(gid: int) -> bool:
    """Is this the group that many systems make for each user?"""
    import grp  # here, because only `aish doctor` needs it
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def home_directory() -> Path:
    """Return the user's home directory, or `~` if it is unknown."""
    return Path(os.path.expanduser("~"))  # noqa: PTH111  # a Path raises


def model_directories(places: Places, env: Mapping[str, str]) -> list[Path]:
    """Return the directories for weights: the cache below `AISH_HOME`, and the default cache."""
    usual = find_places({name: value for name, value in env.items() if name != "AISH_HOME"})
    return [places.models, usual.models]


def _in_project(directory: Path, names: Iterable[str]) -> list[Path]:
    try:
        project = find_project(directory)
        return [project / name for name in names]
    except (OSError, ValueError):  # for example, the path is too long
        return []


def find_project(directory: Path) -> Path:
    """Return the project of a directory: the nearest parent with `.git` or `.aish.toml`, or itself."""
    for candidate in (directory, *directory.parents):
        try:
            if (candidate / ".git").exists() or (candidate / PROJECT_FILE).exists():
                return candidate
        except PermissionError:  # not readable by the user
            break
    return directory
