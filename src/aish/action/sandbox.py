"""The fence around commands of the model: they read nearly everything and write nearly nothing.

Under Landlock, which costs a few milliseconds, or under bubblewrap, which has namespaces of its own. Neither stands
in for asking: Landlock leaves modes, owners and times of files, sockets in the file system, UDP and other terminals of
the user alone.
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

UNFENCED = 126  # what a shell says of a command that cannot be run

# No harm can be done through these, and little works without them.
_DEVICES = "null zero full tty ptmx pts shm".split()
_SOURCES = "random urandom".split()
# Where keys and passwords usually lie, below the home directory.
_CREDENTIALS = """
    .ssh .gnupg .aws .azure .kube .netrc .git-credentials .pypirc .pgpass .password-store .vault-token
    .docker/config.json .config/gcloud .config/gh .config/op .config/rclone .config/sops .config/hub
    .local/share/keyrings .mozilla .config/google-chrome .config/chromium .thunderbird
""".split()
_MISSING = (
    (3, "stop a file elsewhere from being cut off"),
    (5, "keep it from devices"),
    (6, "keep it from signalling other processes"),
)


class Fence(NamedTuple):
    """What a command may write, what it may not even read, and whether it may use the network.

    What is hidden stays hidden and unwritable, also where it lies below something writable.
    """

    writable: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    network: bool = True


def fence_around(workspace: Path, memory: Sequence[Path], *, home: Path | None = None, network: bool = True) -> Fence:
    """The usual fence: workspace and temporary files can be written, memory and (given a home) keys cannot be read."""
    keys = [home / name for name in _CREDENTIALS] if home else []
    return Fence((workspace, Path(tempfile.gettempdir())), (*memory, *keys), network)


def kind(wanted: Wanted) -> Kind:
    """What there is of what is wanted. Nothing weaker takes the place of one that was named."""
    if wanted in ("auto", "landlock") and not absence():
        return "landlock"
    if wanted in ("auto", "bubblewrap") and not _bubblewrap_trouble():
        return "bubblewrap"
    return "none"


def why(wanted: Wanted) -> str:
    """What is missing, in words; empty when everything is there."""
    if wanted == "off":
        return "the sandbox is switched off: commands of the model can write wherever you can"
    match kind(wanted):
        case "landlock":
            return shortcomings(version())
        case "bubblewrap":
            return ""
    reasons = {"landlock": absence(), "bubblewrap": _bubblewrap_trouble()}
    told = [reason for name, reason in reasons.items() if wanted in ("auto", name)]
    return f"there is no sandbox: {'; '.join(told)}"


def shortcomings(known: int) -> str:
    """What Landlock of this version lets through that later ones stop, in words."""
    lacks = [what for since, what in _MISSING if known < since]
    return f"Landlock is there, but its version {known} cannot {' or '.join(lacks)}" if lacks else ""


def _bubblewrap_trouble() -> str:
    """Why bubblewrap cannot be used, empty when it can."""
    program = shutil.which("bwrap")
    return _trial(program) if program else "bubblewrap is not installed (its package is usually called bubblewrap)"


@cache
def _trial(program: str) -> str:
    """What goes wrong when bubblewrap is used: many systems forbid what it needs."""
    words = [program, "--unshare-pid", "--ro-bind", "/", "/", "/bin/true"]
    try:
        tried = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not work here: {error}"
    said = tried.stderr.decode("utf-8", "replace").strip() or f"exit code {tried.returncode}"
    return f"bubblewrap does not work here: {said}" if tried.returncode else ""


def enter(fence: Fence) -> None:
    """Fence this process in, for good; called between fork and exec. What cannot be fenced ends here."""
    try:
        with prepared(fence) as step:
            step()
    except BaseException as error:  # whatever it was, the command must not run without a fence
        _give_up(error)


@contextmanager
def prepared(fence: Fence) -> Iterator[Callable[[], None]]:
    """The fence made ready by the parent, as a quick step for its children (`preexec_fn`) while this is open.

    Raises:
        OSError: there is no Landlock here.
    """
    rules = landlock_rules(fence, version())

    def step() -> None:
        try:
            rules.restrict()
        except BaseException as error:  # whatever it was, the command must not run without a fence
            _give_up(error)

    try:
        yield step
    finally:
        rules.close()


def landlock_rules(fence: Fence, known: int) -> Rules:
    """The fence as rules for Landlock of a version."""
    if not known:
        raise OSError(absence())
    hidden = frozenset(_real(path) for path in fence.hidden)
    devices = Path("/dev")
    rules = Rules(network=fence.network, version=known)
    rules.allow(Path("/"), Right.READ_DIR)  # names may be seen everywhere: `ls` and `cd` are how one finds one's way
    for path in _around(Path("/"), hidden | {devices}):  # a disk read as a device would show all that is hidden
        rules.allow(path, READ)
    for name in _SOURCES:
        rules.allow(devices / name, READ)
    for writable in (*(devices / name for name in _DEVICES), *fence.writable):
        for path in _around(_real(writable), hidden):
            rules.allow(path, EVERY_RIGHT)
    return rules


def narrowed(fence: Fence) -> list[Path]:
    """Writable directories that hold something hidden: under Landlock, nothing new can be made directly in them."""
    hidden = [_real(path) for path in fence.hidden]
    return [path for path in fence.writable if any(_real(path) in below.parents for below in hidden)]


def _around(top: Path, hidden: frozenset[Path]) -> Iterator[Path]:
    """The largest trees below `top` that hold nothing hidden: a rule can only give, so it must go around.

    What is put directly into a directory on the way to something hidden later on is not covered.
    """
    above = _above(hidden)
    if not hidden.isdisjoint((top, *top.parents)):
        return
    waiting = [top]
    while waiting:
        path = waiting.pop()
        if path not in above:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                found = [Path(entry.path) for entry in entries]
        except OSError:  # it cannot be listed, so only the way to what is known leads through it
            found = [parent for parent in above if parent.parent == path]
        waiting += [child for child in found if child not in hidden]


@lru_cache(maxsize=2)  # of one fence, for each of its rules
def _above(hidden: frozenset[Path]) -> frozenset[Path]:
    return frozenset(parent for path in hidden for parent in path.parents)


def wrap(argv: Sequence[str], fence: Fence, *, directory: Path | None = None) -> list[str]:
    """The command line that runs `argv` under bubblewrap: own mounts, processes, shared memory, and maybe no network.

    What is hidden looks empty. What does not exist yet cannot be hidden: make directories of memory first.
    """
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc"]
    if not fence.network:
        words.append("--unshare-net")
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in map(_real, fence.writable):
        if path.exists():
            words += ["--bind", str(path), str(path)]
    for path in map(_real, fence.hidden):
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
    os.write(2, f"aish: not run, because it could not be fenced in: {error}\n".encode("utf-8", "replace"))
    os._exit(UNFENCED)
