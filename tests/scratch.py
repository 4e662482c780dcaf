"""A scratch project and home with canaries, listeners and a victim: whatever a command does to them is seen.

Used by the tests that let hostile commands run in a fence.
"""

import base64
import ctypes
import os
import selectors
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

# In every secret; secrets are far longer, and no program prints it by chance. Each worker has its own, because `ps`
# shows the arguments of all programs, also of those that other tests start.
TOKEN = "q7canary" + os.environ.get("PYTEST_XDIST_WORKER", "")
_SUBREAPER = 36
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")


def secret(place: str) -> str:
    """Return the canary for a place, so that an output that contains it names the place."""
    return f"{TOKEN}-{place}-5e0c2d9b41"


class Scratch:
    """One scratch world. `top` holds `project`, `home` and `own`, the data of aish."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.project, self.home, self.own = top / "project", top / "home", top / "own"
        for path in (self.project, self.home, self.own):
            path.mkdir()
        self.listeners = Listeners(top)
        self.victim = subprocess.Popen(["sleep", "10000"], start_new_session=True, stdin=subprocess.DEVNULL)
        self._seen: Seen | None = None

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        """Write a file below `top`."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
        return file

    def look(self) -> "Seen":
        """Return the state of everything that a command could change."""
        tree: dict[str, tuple[int, ...]] = {}
        to_visit = [self.project, self.home, self.own]
        while to_visit:
            directory = to_visit.pop()
            _remember(tree, directory)
            for entry in os.scandir(directory):
                if entry.is_dir(follow_symlinks=False):
                    to_visit.append(Path(entry.path))
                else:
                    _remember(tree, Path(entry.path))
        shared = frozenset(
            f"{place}/{name}"
            for place in _SHARED
            if Path(place).is_dir()
            for name in os.listdir(place)  # noqa: PTH208  # names are enough
            if "canary" in name  # other programs make files there at the same time
        )
        return Seen(tree, shared, self._about_victim(), frozenset(_children()))

    def effects(self, before: "Seen", output: bytes = b"") -> list[str]:
        """Return what has happened since `before`, and which secrets the output shows. Each text begins with a kind."""
        after = self.look()
        found = [f"file: {path}" for path in sorted(after.tree.keys() ^ before.tree.keys())]
        found += [f"file: {path}" for path, state in before.tree.items() if after.tree.get(path, state) != state]
        found += [f"outside: {path}" for path in sorted(after.shared - before.shared)]
        found += [f"network: {what}" for what in self.listeners.take()]
        if after.victim != before.victim:
            found.append(f"victim: {before.victim} became {after.victim}")
        found += [f"left: process {pid} ({_name(pid)})" for pid in sorted(after.children - before.children)]
        if shows_secret(output):
            found.append("secret: in the output")
        return found

    def _about_victim(self) -> tuple[object, ...]:
        pid = self.victim.pid
        if self.victim.poll() is not None:
            return ("ended",)
        stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
        score = Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii")
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        waiting = any(int(line.split()[1], 16) for line in status if line.startswith(("SigPnd", "ShdPnd")))
        return (stat[0] == b"T" or waiting, stat[16], sorted(os.sched_getaffinity(pid)), hash(limits), score)

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        self.listeners.close()


class Seen(NamedTuple):
    """The state of a scratch world. The time of the last change of an inode tells every change of it."""

    tree: dict[str, tuple[int, ...]]
    shared: frozenset[str]
    victim: tuple[object, ...]
    children: frozenset[int]


def _remember(tree: dict[str, tuple[int, ...]], path: Path) -> None:
    found = path.lstat()
    tree[str(path)] = (found.st_ino, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def shows_secret(output: bytes) -> bool:
    """Does an output show a canary: as it is, in other cases, reversed, or in a usual encoding?"""
    folded = output.lower()
    return any(form in (output if exact else folded) for form, exact in _forms())


def _forms() -> Iterator[tuple[bytes, bool]]:
    token = TOKEN.encode()
    yield token, False
    yield token[::-1], False
    yield token.hex().encode(), False
    yield " ".join(f"{byte:02x}" for byte in token).encode(), False
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + token)
        yield encoded[4 if shift else 0 : -4], True


class Listeners:
    """Sockets of every kind on loopback. A thread notes each connection and each packet."""

    def __init__(self, top: Path) -> None:
        self._selector = selectors.DefaultSelector()
        self._noted: list[str] = []
        self._wake, waker = socket.socketpair()
        self._waker = waker
        self._selector.register(self._wake, selectors.EVENT_READ)
        self.abstract = f"canary-{os.getpid()}-{id(self)}"
        self.unix, self.unix_packets = str(top / "socket"), str(top / "packets")
        tcp = self._add("TCP", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = self._add("UDP", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.tcp, self.udp = int(tcp.getsockname()[1]), int(udp.getsockname()[1])
        self._add("a unix socket", socket.AF_UNIX, socket.SOCK_STREAM, self.unix)
        self._add("a unix datagram socket", socket.AF_UNIX, socket.SOCK_DGRAM, self.unix_packets)
        self._add("an abstract socket", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.abstract}")
        self._add("an abstract datagram socket", socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{self.abstract}-packets")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _add(self, name: str, family: int, kind: int, address: object) -> socket.socket:
        made = socket.socket(family, kind)
        made.bind(address)  # type: ignore[arg-type]  # a name or a pair, as the family wants
        if kind == socket.SOCK_STREAM:
            made.listen(16)
        made.setblocking(False)
        self._selector.register(made, selectors.EVENT_READ, name)
        return made

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                listening = key.fileobj
                assert isinstance(listening, socket.socket)
                if listening is self._wake:
                    if not self._wake.recv(1):
                        return
                    self._wake.send(b".")
                    continue
                self._noted.append(str(key.data))
                try:
                    if listening.type == socket.SOCK_STREAM:
                        listening.accept()[0].close()
                    else:
                        listening.recv(4096)
                except OSError:
                    pass  # it has gone already

    def take(self) -> list[str]:
        """Return what was noted since the last time. Waits until everything that has arrived is noted."""
        for _ in range(2):  # the second round begins after the first one has looked at all sockets
            self._waker.send(b".")
            self._waker.recv(1)
        noted, self._noted = self._noted, []
        return noted

    def close(self) -> None:
        self._waker.close()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()


@contextmanager
def scratch(fill: Callable[[Scratch], object] = lambda made: None) -> Iterator[Scratch]:
    """Make a scratch world. Meanwhile orphans of this process come back to it, so that none is overlooked."""
    libc = ctypes.CDLL(None)
    with tempfile.TemporaryDirectory(prefix="aish-scratch-") as name:
        made = Scratch(Path(os.path.realpath(name)))
        libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        try:
            fill(made)
            yield made
        finally:
            libc.prctl(_SUBREAPER, 0, 0, 0, 0)
            made.close()


def end_children(pids: Iterator[int]) -> None:
    """End orphans that came back to this process."""
    for pid in pids:
        try:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        except OSError:
            pass


def _children() -> list[int]:
    """Return the children of this process that have not ended."""
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208  # names are enough
        text = Path(f"/proc/self/task/{thread}/children").read_text(encoding="ascii")
        found += [int(pid) for pid in text.split()]
    return [pid for pid in found if not _has_ended(pid)]


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ").strip()
    except OSError:
        return "?"
