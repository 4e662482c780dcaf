"""A fence around one command: made in the parent, entered by the child, and asked afterwards what it stopped.

The contents of files are protected by Landlock, or by the mounts of bubblewrap. Everything else (modes, sockets, other
processes, the terminal, the kernel) is protected by seccomp, with both. Without seccomp there is no fence.
"""

import json
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, NoReturn

from aish.action.fence import capabilities, libc
from aish.action.fence.bounds import FenceBounds, trees_without
from aish.action.fence.call_rules import denied_rules, watched_rules
from aish.action.fence.keeper import keep
from aish.action.fence.landlock import EVERY_RIGHT, READ, Right, Rules, version
from aish.action.fence.seccomp import install, program
from aish.action.fence.system_calls import numbers
from aish.action.fence.wants import Want, denied_reads
from aish.action.fence.watcher import Allowance

logger = logging.getLogger(__name__)

Kind = Literal["landlock", "bubblewrap"]
NOT_FENCED = 126  # the exit status of shells for a command that cannot be run

_DEVICES = "null zero full tty".split()  # writable
_SOURCES = "random urandom".split()
_PRIVATE_RIGHTS = EVERY_RIGHT & ~(Right.MAKE_CHAR | Right.MAKE_BLOCK | Right.MAKE_SOCK)


class Fence:
    """The fence of one command. `step` is for the `preexec_fn`, `wrap` for the words of the command.

    1. If the fence cannot be made complete, the command does not run.
    2. All processes of the command have ended when the started process has ended.
    3. `private` is a directory of the command alone. It is deleted with the fence.
    4. `before_write` can be set before the command starts: the keeper, which is another process, calls it with the path
       of each file that the command is about to change. It must not raise.
    """

    def __init__(self, bounds: FenceBounds, kind: Kind, private: Path, *, abi: int | None = None) -> None:
        self.bounds, self.kind, self.private = bounds, kind, private
        self.before_write: Callable[[str], None] | None = None
        self._abi = version() if abi is None else abi
        self._report = os.memfd_create("report")  # not a pipe: the keeper would wait for room in it
        self._hidden = tuple(map(_real, bounds.hidden))
        self._rules = landlock_rules(bounds, self._hidden, private, self._abi) if kind == "landlock" else None
        self._denied = _as_file(_denied(bounds.network)) if kind == "bubblewrap" else None
        self._programs = (_watched(bounds.network), _denied(bounds.network))  # now, because the child must be quick
        self._names = {number: name for name, number in numbers().items()}

    @property
    def pass_fds(self) -> tuple[int, ...]:
        return (self._denied,) if self._denied is not None else ()

    def step(self) -> None:
        """Enter the fence, in the child. On any error the child ends."""
        try:
            limits = self.bounds.limits
            keep(self._restrict, self._allowance(), limits, self._names, self._report, self.before_write)
        except BaseException as error:  # the command must not run outside the fence
            _give_up(error)

    def _restrict(self) -> int:
        """Restrict the process of the command; return the listener for its watched calls."""
        try:
            if self._rules:
                for terminal in _terminals():
                    self._rules.allow(Path(terminal), READ | Right.WRITE_FILE | Right.IOCTL_DEV)
                capabilities.drop(changing=self.bounds.name == "changing")
                self._rules.restrict()
            libc.call("prctl", libc.NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            listener = install(self._programs[0], numbers(), listen=True)
            if self._rules:
                install(self._programs[1], numbers())
            return listener
        except BaseException as error:  # likewise
            _give_up(error)

    def _allowance(self) -> Allowance:
        bounds, wrapped = self.bounds, self.kind == "bubblewrap"
        private = os.path.realpath(self.private)
        return Allowance(
            writable=(*(os.path.realpath(path) for path in bounds.writable), private),
            private=private,
            protected=tuple(map(str, bounds.protected)),
            may_change=tuple(map(str, bounds.may_change)),
            modes=bounds.name == "changing",
            network=bounds.network,
            sockets=tuple(map(str, bounds.sockets)),
            processes=bounds.processes,
            own_pids=wrapped,
            passing=_bubblewrap() if wrapped else "",
            terminals=_terminals(),
            # Neither kind can protect files that do not exist. A read-only mount does not stop writing to a FIFO, and
            # Landlock did not know truncation at first.
            carries=bool(bounds.protected) or wrapped or self._abi < 3,
            hidden=tuple(map(str, self._hidden)),
        )

    def wrap(self, argv: Sequence[str], directory: str) -> list[str]:
        """Return the command line that runs `argv` in this fence."""
        if self._denied is None:
            return list(argv)
        bounds = self.bounds
        words = [_bubblewrap(), "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
        for path in (*map(_real, bounds.writable), _real(self.private)):
            words += ["--bind", str(path), str(path)]
        for path in bounds.protected:
            if path.exists():
                words += ["--ro-bind", str(path), str(path)]
        hidden = set(self._hidden)
        for path in sorted(hidden):
            if not hidden.isdisjoint(path.parents):
                continue  # nothing can be mounted in a directory that is hidden
            if os.path.isdir(path):  # noqa: PTH112  # a Path raises if it may not look
                words += ["--tmpfs", str(path), "--remount-ro", str(path)]
            elif os.path.exists(path):  # noqa: PTH110  # likewise
                words += ["--ro-bind", "/dev/null", str(path)]
        return [*words, "--seccomp", str(self._denied), "--chdir", directory, "--", *argv]

    def wants(self, output: str, directory: str) -> tuple[Want, ...]:
        """Return what the fence stopped. Call it once, after the command, with what it printed and where it ran."""
        os.lseek(self._report, 0, os.SEEK_SET)
        with open(self._report, "rb", closefd=False) as file:
            data = file.read()
        try:
            found = tuple(Want(*fields) for fields in json.loads(data))
        except (ValueError, TypeError):  # the keeper was killed before it could tell
            found = (Want("limit", "go on, but the keeper of the fence was ended"),)
        return (*found, *denied_reads(output, map(str, self.bounds.hidden), directory))

    def close(self) -> None:
        os.close(self._report)
        if self._denied is not None:
            os.close(self._denied)
        if self._rules:
            self._rules.close()


@contextmanager
def fenced(bounds: FenceBounds, kind: Kind, *, abi: int | None = None) -> Iterator[Fence]:
    """Make a fence with its private directory, and remove both at the end. Raises `OSError`."""
    private = Path(tempfile.mkdtemp(prefix="aish-"))
    try:
        for name in ("cache", "run"):
            (private / name).mkdir(mode=0o700)
        fence = Fence(bounds, kind, private, abi=abi)
        try:
            yield fence
        finally:
            fence.close()
    finally:
        _remove(private)


def _remove(top: Path) -> None:
    """Delete a directory that a command has filled, also if it is too deep for a path or has no rights."""
    moved = 0
    try:
        while names := os.listdir(top):  # noqa: PTH208  # there may be many
            for name in names:
                path = f"{top}/{name}"
                if not stat.S_ISDIR(os.lstat(path).st_mode):  # likewise
                    os.unlink(path)  # noqa: PTH108  # likewise
                    continue
                os.chmod(path, 0o700)  # noqa: PTH101  # likewise
                for below in os.listdir(path):  # noqa: PTH208  # likewise
                    moved += 1
                    os.rename(f"{path}/{below}", f"{top}/.{moved}")  # noqa: PTH104  # likewise
                os.rmdir(path)  # noqa: PTH106  # likewise
        top.rmdir()
    except OSError as error:
        logger.warning("cannot delete the temporary directory of a command: %s", error)


def landlock_rules(bounds: FenceBounds, real_hidden: Sequence[Path], private: Path, abi: int) -> Rules:
    """Return the file rights of a fence as rules for this version of Landlock."""
    hidden = frozenset(real_hidden)
    devices = Path("/dev")
    rules = Rules(network=bounds.network, version=abi)
    rules.allow(Path("/"), Right.READ_DIR)  # names are visible everywhere, so that `ls` and `cd` work
    for path in trees_without(Path("/"), hidden | {devices}):  # a disk device would reveal all hidden files
        rules.allow(path, READ)
    for name in _SOURCES:
        rules.allow(devices / name, READ)
    for name in _DEVICES:
        rules.allow(devices / name, READ | Right.WRITE_FILE | Right.IOCTL_DEV)
    for writable in map(_real, bounds.writable):
        for path in trees_without(writable, hidden):
            rules.allow(path, _PRIVATE_RIGHTS | (Right.MAKE_SOCK if bounds.network else Right(0)))
    rules.allow(_real(private), _PRIVATE_RIGHTS)
    return rules


@cache
def _watched(network: bool) -> bytes:
    return program(watched_rules(network=network), numbers())


@cache
def _denied(network: bool) -> bytes:
    return program(denied_rules(network=network), numbers())


@cache
def _bubblewrap() -> str:
    return os.path.realpath(shutil.which("bwrap") or "bwrap")


def _as_file(data: bytes) -> int:
    """Return a descriptor from which these bytes can be read once."""
    fd = os.memfd_create("filter", 0)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _terminals() -> tuple[str, ...]:
    """Return the terminals that this process has as input or output."""
    return tuple({os.ttyname(fd) for fd in (0, 1, 2) if os.isatty(fd)})


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _give_up(error: BaseException) -> NoReturn:
    os.write(2, f"aish: not run, because the fence failed: {error}\n".encode("utf-8", "replace"))
    os._exit(NOT_FENCED)
