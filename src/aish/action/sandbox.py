"""The sandbox for commands of the model: they can read almost everything and write almost nothing.

It uses Landlock, which costs a few milliseconds, or bubblewrap, which uses namespaces. Neither replaces asking the
user: Landlock does not protect file modes, owners and times, Unix sockets, UDP and the user's other terminals.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from aish.action.landlock import EVERY_RIGHT, READ, Right, Rules, absence, version

Wanted = Literal["auto", "landlock", "bubblewrap", "off"]
Kind = Literal["landlock", "bubblewrap", "none"]

NOT_SANDBOXED = 126  # the exit status of shells for a command that cannot be run

# Harmless devices that most programs need.
_DEVICES = "null zero full tty ptmx pts shm".split()
_SOURCES = "random urandom".split()
# The usual places of keys and passwords below the home directory.
_CREDENTIALS = """
    .ssh .gnupg .aws .azure .kube .netrc .git-credentials .pypirc .pgpass .password-store .vault-token
    .docker/config.json .config/gcloud .config/gh .config/op .config/rclone .config/sops .config/hub
    .local/share/keyrings .mozilla .config/google-chrome .config/chromium .thunderbird
""".split()
_MISSING = (
    (3, "prevent the truncation of files outside the workspace"),
    (5, "block access to devices"),
    (6, "block signals to other processes"),
)


class SandboxLimits(NamedTuple):
    """The limits of a sandbox: the writable paths, the hidden paths, and whether the network may be used.

    A hidden path can be neither read nor written, even below a writable one.
    """

    writable: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    network: bool = True


def default_limits(
    workspace: Path, memory: Sequence[Path], *, home: Path | None = None, network: bool = True
) -> SandboxLimits:
    """Return the default limits: workspace and temporary files are writable, memory and keys in `home` are hidden."""
    keys = [home / name for name in _CREDENTIALS] if home else []
    return SandboxLimits((workspace, Path(tempfile.gettempdir())), (*memory, *keys), network)


def kind(wanted: Wanted) -> Kind:
    """Return the available sandbox for a setting. A sandbox that was chosen by name is never replaced by another."""
    if wanted in ("auto", "landlock") and not absence():
        return "landlock"
    if wanted in ("auto", "bubblewrap") and not _bubblewrap_trouble():
        return "bubblewrap"
    return "none"


def why(wanted: Wanted) -> str:
    """Return what the sandbox lacks, as a message; empty if nothing."""
    if wanted == "off":
        return "the sandbox is off: commands of the model can write wherever you can"
    match kind(wanted):
        case "landlock":
            return shortcomings(version())
        case "bubblewrap":
            return ""
    reasons = {"landlock": absence(), "bubblewrap": _bubblewrap_trouble()}
    told = [reason for name, reason in reasons.items() if wanted in ("auto", name)]
    return f"no sandbox is available: {'; '.join(told)}"


def shortcomings(known: int) -> str:
    """Return what Landlock of this version cannot block but later versions can, as a message."""
    lacks = [what for since, what in _MISSING if known < since]
    return f"Landlock version {known} cannot {' or '.join(lacks)}" if lacks else ""


def _bubblewrap_trouble() -> str:
    """Return why bubblewrap cannot be used; empty if it can."""
    program = shutil.which("bwrap")
    return _trial(program) if program else "bubblewrap is not installed (the package is usually called bubblewrap)"


@cache
def _trial(program: str) -> str:
    """Run bubblewrap once and return its error: many systems forbid the namespaces that it needs."""
    words = [program, "--unshare-pid", "--ro-bind", "/", "/", "/bin/true"]
    try:
        tried = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not work here: {error}"
    said = tried.stderr.decode("utf-8", "replace").strip() or f"exit code {tried.returncode}"
    return f"bubblewrap does not work here: {said}" if tried.returncode else ""


def enter(limits: SandboxLimits) -> None:
    """Restrict this process permanently; called between fork and exec. If that fails, the process exits."""
    try:
        with prepared(limits) as step:
            step()
    except BaseException as error:  # on any error, the command must not run outside the sandbox
        _give_up(error)


@contextmanager
def prepared(limits: SandboxLimits) -> Iterator[Callable[[], None]]:
    """Prepare the sandbox in the parent; yield a fast function for the `preexec_fn` of its children.

    Raises:
        OSError: Landlock is not available.
    """
    rules = landlock_rules(limits, version())

    def step() -> None:
        try:
            rules.restrict()
        except BaseException as error:  # on any error, the command must not run outside the sandbox
            _give_up(error)

    try:
        yield step
    finally:
        rules.close()


def landlock_rules(limits: SandboxLimits, known: int) -> Rules:
    """Return the sandbox as rules for this Landlock version."""
    if not known:
        raise OSError(absence())
    hidden = frozenset(_real(path) for path in limits.hidden)
    devices = Path("/dev")
    rules = Rules(network=limits.network, version=known)
    rules.allow(Path("/"), Right.READ_DIR)  # names are visible everywhere, so that `ls` and `cd` work
    for path in _around(Path("/"), hidden | {devices}):  # a disk device would reveal all hidden files
        rules.allow(path, READ)
    for name in _SOURCES:
        rules.allow(devices / name, READ)
    for writable in (*(devices / name for name in _DEVICES), *limits.writable):
        for path in _around(_real(writable), hidden):
            rules.allow(path, EVERY_RIGHT)
    return rules


def narrowed(limits: SandboxLimits) -> list[Path]:
    """Return the writable directories that contain a hidden path: Landlock allows no new files directly in them."""
    hidden = [_real(path) for path in limits.hidden]
    return [path for path in limits.writable if any(_real(path) in below.parents for below in hidden)]


def _around(top: Path, hidden: frozenset[Path]) -> Iterator[Path]:
    """Yield the largest trees below `top` without hidden paths: rules can only allow, so they must exclude these.

    Files that are later created directly in a parent directory of a hidden path are not covered.
    """
    above = _above(hidden)
    if not hidden.isdisjoint((top, *top.parents)):
        return
    to_visit = [top]
    while to_visit:
        path = to_visit.pop()
        if path not in above:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                found = [Path(entry.path) for entry in entries]
        except OSError:  # it cannot be listed: continue only with the known parents of hidden paths
            found = [parent for parent in above if parent.parent == path]
        to_visit += [child for child in found if child not in hidden]


@lru_cache(maxsize=2)  # called for every rule of one sandbox
def _above(hidden: frozenset[Path]) -> frozenset[Path]:
    return frozenset(parent for path in hidden for parent in path.parents)


def wrap(argv: Sequence[str], limits: SandboxLimits, *, directory: Path | None = None) -> list[str]:
    """Return the command line that runs `argv` under bubblewrap, with its own mount, process and IPC namespaces.

    Hidden paths look empty. A path that does not exist cannot be hidden: create the memory directories first.
    """
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc"]
    if not limits.network:
        words.append("--unshare-net")
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in map(_real, limits.writable):
        if path.exists():
            words += ["--bind", str(path), str(path)]
    for path in map(_real, limits.hidden):
        if path.is_dir():
            words += ["--tmpfs", str(path), "--remount-ro", str(path)]
        elif path.exists():
            words += ["--ro-bind", "/dev/null", str(path)]
    if directory:
        words += ["--chdir", str(directory)]
    return [*words, "--", *argv]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _give_up(error: BaseException) -> NoReturn:
    os.write(2, f"aish: not run, because the sandbox failed: {error}\n".encode("utf-8", "replace"))
    os._exit(NOT_SANDBOXED)
