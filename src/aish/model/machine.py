"""What this machine has room for, and which weights that makes the default.

Facts and rules are apart: `look` reads the system, everything else decides with numbers.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aish.model.weights import Weights, chat_weights, find_here
from aish.values.named_tuple import NamedTuple

_NOT_CI = ("", "0", "false")
_RESERVE = 500_000_000  # bytes for the window and everything else besides the weights
_LONGEST = 1 << 16  # bytes of a file of the kernel
_MOST_LEVELS = 32  # of control groups


class Machine(NamedTuple):
    """What there is room for, in bytes."""

    memory: int  # available now, for this process
    disk: int  # free in the directory for weights
    is_ci: bool = False  # it runs in CI: use the smallest weights


def look(directory: Path, env: Mapping[str, str]) -> Machine:
    """Look at this machine; `directory` is that for weights, which need not exist."""
    return Machine(available_memory(), _free_disk(directory), env.get("CI", "").strip().lower() not in _NOT_CI)


def default_weights(machine: Machine) -> Weights:
    """Return the weights to fetch when nobody has chosen: the largest that fit, in CI the smallest."""
    chats = chat_weights()
    fitting = (one for one in chats if machine.memory >= one.memory and machine.disk >= one.disk)
    return chats[-1] if machine.is_ci else next(fitting, chats[-1])


def best_present(machine: Machine, present: Sequence[Weights]) -> Weights | None:
    """Return the largest of the `installed` weights that memory has room for; the smallest if it has room for none.

    In CI it is always the smallest.
    """
    if not present:
        return None
    fitting = (one for one in present if machine.memory >= one.memory)
    return present[-1] if machine.is_ci else next(fitting, present[-1])


def installed(directories: Sequence[Path]) -> list[Weights]:
    """Return the weights that can answer and are in these directories or with the installation, the largest first."""
    return [one for one in chat_weights() if find_here(one, directories)]


def weights_file(chosen: str, name: str, directories: Sequence[Path], env: Mapping[str, str]) -> Path:
    """Return the file of an embedded model: one of the user's own, weights by name, or the usual ones.

    The usual ones are the best that are installed and fit; without any, where the right ones for this machine would be.
    A name that nobody knows is that of a file which is not there, so that it is reported when it is opened.
    """
    if chosen:
        return Path(chosen).expanduser()
    if name:
        weights = next((one for one in chat_weights() if one.name == name), None)
    else:
        machine = look(directories[0], env)
        weights = best_present(machine, installed(directories)) or default_weights(machine)
    if weights is None:
        return directories[0] / name
    return find_here(weights, directories) or directories[0] / weights.file


def fits(size: int, memory: int) -> bool:
    """Return whether a model with weights of this size can run in so much memory."""
    return size * 6 // 5 + _RESERVE <= memory


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that this process could still use: what the system has, or less if its control group has less.

    `root` is where the file system begins.
    """
    numbers = _numbers(_read(root / "proc/meminfo"))
    free = numbers.get("MemAvailable", numbers.get("MemTotal", 0)) * 1024 or _total()
    return max(min([free, *_left_in_groups(root)]), 0)


def _left_in_groups(root: Path) -> Iterator[int]:
    """Yield what each control group above this process leaves. The first one that is full stops it."""
    mounts = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if not controllers:
            for group in _groups(mounts, name):
                cache = ("inactive_file", "active_file")
                yield from _left(group, "memory.max", "memory.current", cache)
        elif "memory" in controllers.split(","):
            for group in _groups(mounts / "memory", name):
                cache = ("total_inactive_file", "total_active_file")
                yield from _left(group, "memory.limit_in_bytes", "memory.usage_in_bytes", cache)


def _groups(mount: Path, name: str) -> Iterator[Path]:
    """Yield the directories of a group and of those above it. In a container, the name may be one from outside."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")][:_MOST_LEVELS]
    for count in range(len(parts), -1, -1):
        yield mount.joinpath(*parts[:count])


def _left(group: Path, limit: str, used: str, cache: tuple[str, ...]) -> Iterator[int]:
    """Yield what a group leaves, if it has a limit. The cache of files is given back when memory is needed."""
    most, now = _read(group / limit).strip(), _read(group / used).strip()
    if most.isdecimal() and now.isdecimal():
        numbers = _numbers(_read(group / "memory.stat"))
        yield int(most) - max(int(now) - sum(numbers.get(name, 0) for name in cache), 0)


def _numbers(text: str) -> dict[str, int]:
    """Return the numbers of a file whose lines are a name and a number."""
    pairs = (line.replace(":", " ").split()[:2] for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _read(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _total() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _free_disk(directory: Path) -> int:
    """Return the free bytes where the directory is, or where it would be."""
    for place in (directory, *directory.parents):
        try:
            found = os.statvfs(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError):
            return 0
        return found.f_bavail * found.f_frsize
    return 0
