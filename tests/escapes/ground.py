"""What attempts aim at, and what they share."""

import ctypes
import errno
import os
import subprocess
from collections.abc import Callable
from typing import NamedTuple

LIBC = ctypes.CDLL(None, use_errno=True)
_X86 = os.uname().machine == "x86_64"
REPORT = 1000  # the descriptors of this program itself are at least this


class Ground(NamedTuple):
    """What an attempt aims at. `terminal` is that of the person, `keeper` the keeper of the fence."""

    project: str
    secret: str  # a file that must not be read
    token: str  # what is in it
    victim: int
    parent: int
    tcp: int
    udp: int
    unix: str
    unix_packets: str
    abstract: str
    terminal: str

    @property
    def file(self) -> str:
        return f"{self.project}/README.md"

    @property
    def new(self) -> str:
        """A path in the project where nothing is, different for each attempt."""
        return f"{self.project}/new-{os.getpid()}"

    @property
    def private(self) -> str:
        """A directory of one attempt in the private directory of the fence."""
        path = f"{os.environ['TMPDIR']}/{os.getpid()}"
        os.makedirs(path, exist_ok=True)
        return path


class Stopped(Exception):
    """The attempt did not work, without an error of the system."""


Attempt = Callable[[Ground], object]
ATTEMPTS: dict[str, Attempt] = {}
FENCED_ONLY: set[str] = set()  # would do harm outside a fence


def attempt(*, fenced_only: bool = False) -> Callable[[Attempt], Attempt]:
    def add(function: Attempt) -> Attempt:
        name = function.__name__
        ATTEMPTS[name] = function
        if fenced_only:
            FENCED_ONLY.add(name)
        return function

    return add


def call(number: tuple[int, int], *arguments: object) -> int:
    """Make a system call, given by its numbers on x86_64 and aarch64. Raises `OSError`."""
    which = number[0] if _X86 else number[1]
    if which < 0:
        raise OSError(errno.ENOSYS, "this machine has no such call")
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(LIBC.syscall(ctypes.c_long(which), *given))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def must(worked: object, why: str) -> None:
    if not worked:
        raise Stopped(why)


def run(*words: str, env: dict[str, str] | None = None) -> str:
    """Run a program. Raises `Stopped` if it is not there or fails."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False, env=env
        )
    except FileNotFoundError as error:
        raise Stopped(f"no {words[0]}") from error
    must(done.returncode == 0, done.stderr.strip()[-200:] or f"status {done.returncode}")
    return done.stdout
