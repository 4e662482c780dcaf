"""Decide about the watched calls of a fenced command, and note what it wanted and may not do.

In the looking fence files are protected by Landlock or by mounts, not here: a call that may go on is carried out by the
kernel with the rights of the command, so a path that changes after it was read gains nothing. Where the kernel cannot
protect all files, the keeper carries out the call on the path that was checked (`carrier.py`). Calls that the kernel
could not limit (modes, sockets, signals) are answered here and never go on.
"""

import errno
import os
import re
import signal
import socket
import struct
from collections.abc import Callable, Mapping

from aish.action.fence.call_rules import CHANGES_MODES, SIGNALS, STARTS
from aish.action.fence.carrier import change_modes, change_names, open_path, opening, reopen
from aish.action.fence.process_memory import descendants, descends, filters, name_of, read_memory, read_path, resolve
from aish.action.fence.seccomp import WatchedCall
from aish.action.fence.stand_in import StandIns, connected, socket_path
from aish.action.fence.wants import MOST, Want, wants_to_write
from aish.values.named_tuple import NamedTuple

_HERE = -100  # the descriptor that means the current directory
_NO_LINK = 0x100  # do not follow a link at the end of the path
_AT_FLAGS = {"utimensat": 3, "fchownat": 4, "fchmodat2": 3}  # the argument that may say so
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FORKS_BETWEEN_COUNTS = 64
_HARMLESS_DEVICES = frozenset("/dev/null /dev/zero /dev/full /dev/tty".split())

# For each call, the arguments that are paths: the argument with the directory (None: current), and the path.
_PATHS: dict[str, tuple[tuple[int | None, int], ...]] = {
    **dict.fromkeys(
        "open creat mkdir rmdir unlink mknod truncate chmod chown lchown utime utimes".split(), ((None, 0),)
    ),
    **dict.fromkeys("setxattr lsetxattr removexattr lremovexattr".split(), ((None, 0),)),
    **dict.fromkeys("openat openat2 mkdirat unlinkat mknodat fchmodat fchmodat2 fchownat".split(), ((0, 1),)),
    **dict.fromkeys("futimesat utimensat setxattrat removexattrat file_setattr".split(), ((0, 1),)),
    **dict.fromkeys("rename".split(), ((None, 0), (None, 1))),
    **dict.fromkeys("renameat renameat2 linkat".split(), ((0, 1), (2, 3))),
    "link": ((None, 0), (None, 1)),
    "symlink": ((None, 1),),
    "symlinkat": ((1, 2),),
}
_BY_DESCRIPTOR = frozenset("fchmod fchown fsetxattr fremovexattr".split())
_FOLLOWS = frozenset("open creat openat openat2 truncate".split())
_VERBS = {
    **dict.fromkeys("mkdir mkdirat".split(), "make the directory"),
    **dict.fromkeys("rmdir unlink unlinkat".split(), "delete"),
    **dict.fromkeys("rename renameat renameat2".split(), "rename"),
    **dict.fromkeys("link linkat symlink symlinkat".split(), "make the link"),
    **dict.fromkeys("mknod mknodat".split(), "make"),
    **dict.fromkeys("chmod fchmod fchmodat fchmodat2".split(), "change the mode of"),
    **dict.fromkeys("chown lchown fchown fchownat".split(), "change the owner of"),
    **dict.fromkeys("utime utimes futimesat utimensat".split(), "change the times of"),
}


_RUN_BY_GIT = re.compile(r"/\.git(/(.+/)?(hooks(/.*)?|config(\.worktree)?|commondir|info/attributes))?$")


def repository_of(path: str) -> str:
    """Return the directory `.git` that a path is in, or that it is; empty if there is none."""
    parts = path.split("/")
    return "/".join(parts[: parts.index(".git") + 1]) if ".git" in parts else ""


def run_by_git(path: str) -> bool:
    """Is it a repository, or a file in one that makes git run something? A repository can be inside another one."""
    return _RUN_BY_GIT.search(path) is not None


class Allowance(NamedTuple):
    """What watched calls may do. All paths are real paths.

    `protected` paths stay as they are although they are below a `writable` one, and so does what git runs in any
    repository, except below `may_change`. `modes`: modes and times in writable places may change too. `own_pids`: the
    command sees no other processes, so that it can signal all that it sees. `sockets` of this machine can be connected
    to, although no others can. `passing` is a program whose calls always
    go on: bubblewrap, before it starts the command. `terminals` are those that the command was started in. `carries`:
    the keeper carries out what changes files, because the kernel cannot protect all of them; `hidden` is what it must
    not open then.
    """

    writable: tuple[str, ...]
    private: str = ""
    protected: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    modes: bool = False
    network: bool = False
    sockets: tuple[str, ...] = ()
    processes: int = 512
    own_pids: bool = False
    passing: str = ""
    terminals: tuple[str, ...] = ()
    carries: bool = False
    hidden: tuple[str, ...] = ()


class Ruling(NamedTuple):
    """What happens to a call: it goes on, or it is answered with an error (0: success), or with a descriptor.

    With `carry` the keeper does it, and answers with the descriptor that it returns, if any. With `replaces` that takes
    the place of this descriptor of the process.
    """

    goes_on: bool = False
    error: int = 0
    fd: int | None = None
    close_on_exec: bool = False
    carry: Callable[[], int | None] | None = None
    replaces: int | None = None


_GO_ON = Ruling(goes_on=True)
_PRETEND = Ruling()


class CallWatcher:
    """Rules on the calls of one command. `wants` collects what was stopped, each thing once.

    `before_write` is called with each path that a call may change, before the call goes on. It must not raise.
    """

    def __init__(
        self,
        allowance: Allowance,
        names: Mapping[int, str],
        top: int,
        before_write: Callable[[str], None] | None = None,
    ) -> None:
        self._allowance, self._names = allowance, names
        self._before_write = before_write
        self._top = top  # the process whose descendants the command may signal
        self._started = 0
        self._filters = filters(top)
        self.stand_ins = StandIns(self.note)
        self.wants: list[Want] = []

    def note(self, want: Want) -> None:
        if want not in self.wants and len(self.wants) < MOST:
            self.wants.append(want)

    def rule(self, call: WatchedCall) -> Ruling:
        """Decide about one call. Calls without a rule here fail."""
        name = self._names.get(call.number, "")
        if name in STARTS:
            return self._start()
        if self._allowance.passing and self._makes_fence(call.pid):
            return _GO_ON
        if name in SIGNALS:
            return self._signal(name, call)
        if name in _PATHS or name in _BY_DESCRIPTOR:
            return self._file(name, call)
        match name:
            case "setpgid":
                return self._join(call)
            case "socket":
                return self._socket(call)
            case "connect" | "bind":
                return self._address(name, call)
        return Ruling(error=errno.EPERM)

    def _start(self) -> Ruling:
        """Limit how many processes run at the same time; counting them takes long, so it is done now and then."""
        self._started += 1
        most = self._allowance.processes
        now = self._started >= most and self._started % _FORKS_BETWEEN_COUNTS == 0
        if now and len(descendants(self._top)) >= most:
            self._started -= 1  # count again at the next one
            self.note(Want("limit", f"run more than {most} processes at once"))
            return Ruling(error=errno.EAGAIN)
        return _GO_ON

    def _makes_fence(self, pid: int) -> bool:
        """Is it bubblewrap before it starts the command? Later a process has its filter too, whatever its program."""
        return _program(pid) == self._allowance.passing and filters(pid) == self._filters + 1

    def _join(self, call: WatchedCall) -> Ruling:
        """In the group of the keeper, a signal to the own group would reach the keeper."""
        group = _signed(call.arguments[1])
        if group == 0 or self._allowance.own_pids or (group != self._top and descends(group, self._top)):
            return _GO_ON
        return Ruling(error=errno.EPERM)

    def _signal(self, name: str, call: WatchedCall) -> Ruling:
        if self._allowance.own_pids:
            return _GO_ON
        target = _signed(call.arguments[0])
        number = call.arguments[2 if name in ("tgkill", "rt_tgsigqueueinfo") else 1]
        if target == 0 or (target != -1 and descends(abs(target), self._top) and abs(target) != self._top):
            return _GO_ON
        whom = f"process {target} ({name_of(target)})" if target > 0 else "other processes"
        if number in (0, signal.SIGCONT):
            return Ruling(error=errno.EPERM)  # it only asks whether the process exists
        self.note(Want("signal", f"send a signal to {whom}"))
        return Ruling(error=errno.EPERM)

    def _file(self, name: str, call: WatchedCall) -> Ruling:
        modes = name in CHANGES_MODES
        places = self._places(name, call)
        if places is None:  # its memory cannot be read: the kernel decides where it can
            return Ruling(error=errno.EPERM) if modes or self._allowance.carries else _GO_ON
        flags = _flags(name, call)
        if name == "openat2" and self._allowance.carries:
            return Ruling(error=errno.ENOSYS)  # its flags are in memory; programs then use openat
        if name == "openat2" and not flags & _WRITES:
            return _GO_ON
        for path in places:
            if path == "":  # only the process itself can follow it: the kernel decides
                if modes or self._allowance.carries:
                    return Ruling(error=errno.EPERM)
                continue
            if name in ("mkdir", "mkdirat") and os.path.lexists(path):
                return Ruling(error=errno.EEXIST)
            if own := _own_descriptor(path, call.pid):
                return self._reopen(own, name, call)
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                path = f"{path}/unnamed"  # it makes a file without a name in this directory
            if modes and not self._allowance.modes and _is_below(path, self._allowance.private):
                return _PRETEND
            if not self._may_write(path) or (modes and not self._allowance.modes):
                minor = bool(flags & os.O_RDWR) and not flags & os.O_TRUNC and os.path.exists(path)  # noqa: PTH110  # a path of another process, as text
                self.note(wants_to_write(path, _VERBS.get(name, "write"), minor=minor or _is_probing(path, flags)))
                return Ruling(error=errno.EPERM if modes else errno.EACCES)
        if self._allowance.protected and len({_is_below(path, self._allowance.private) for path in places}) > 1:
            return Ruling(error=errno.EXDEV)  # nothing is protected there: programs then copy each file
        if self._before_write and (not modes or "chmod" in name):
            for path in filter(None, places):
                self._before_write(path)
        return self._carry(name, call, places) if self._allowance.carries else _GO_ON

    def _carry(self, name: str, call: WatchedCall, places: list[str]) -> Ruling:
        """Let the keeper do it: on the path that was checked, whatever the memory of the process holds now."""
        if given := opening(name, call):
            fine = bool(given[0] & os.O_CLOEXEC)
            return Ruling(carry=lambda: open_path(call, places[0], *given), close_on_exec=fine)
        if name in CHANGES_MODES:
            return Ruling(carry=lambda: change_modes(name, call, places[0]))
        return Ruling(carry=lambda: change_names(name, call, places))

    def _reopen(self, path: str, name: str, call: WatchedCall) -> Ruling:
        """Open again what the process has open already, such as /dev/stdout."""
        given = opening(name, call)
        if not self._allowance.carries:
            return _GO_ON
        if given is None:
            return Ruling(error=errno.EPERM)
        flags = given[0]
        return Ruling(
            carry=lambda: reopen(path, flags, self._may_write),
            close_on_exec=bool(flags & os.O_CLOEXEC),
        )

    def _places(self, name: str, call: WatchedCall) -> list[str] | None:
        """Return the real paths that a call is about; empty texts for those that only the process can follow."""
        if name in _BY_DESCRIPTOR:
            found = resolve(call.pid, _signed(call.arguments[0]), "", follow=True)
            return ["" if found is None or not found.path.startswith("/") else found.path]
        places: list[str] = []
        for directory, path in _PATHS[name]:
            at = None if directory is None else _signed(call.arguments[directory])
            address = call.arguments[path]
            text = read_path(call.pid, address) if address else ""
            if text is None:
                return None
            follow = name in _FOLLOWS or (name in CHANGES_MODES and not name.startswith("l"))
            follow = follow and not _flags(name, call) & (os.O_NOFOLLOW | os.O_EXCL)
            follow = follow and not (name in _AT_FLAGS and call.arguments[_AT_FLAGS[name]] & _NO_LINK)
            found = resolve(call.pid, None if at == _HERE else at, text, follow=follow)
            if found and name in CHANGES_MODES and (own := _own_descriptor(found.path, call.pid)):
                found = resolve(call.pid, int(own.rpartition("/")[2]), "", follow=True)
            known = found and (not found.inside_proc or _own_descriptor(found.path, call.pid))
            places.append(found.path if found and known and found.path.startswith("/") else "")
        return places

    def _may_write(self, path: str) -> bool:
        allowed = self._allowance
        if path in _HARMLESS_DEVICES or path in allowed.terminals:
            return True
        if any(_is_below(path, one) or _is_below(one, path) for one in allowed.hidden):
            return False  # under another name of its directory it would not be hidden
        if not any(_is_below(path, top) for top in allowed.writable):
            return False
        return not self._is_protected(path)

    def _is_protected(self, path: str) -> bool:
        """Is it a protected path, below one, or a directory that holds one and would move with it?"""
        allowed = self._allowance
        if (
            not allowed.protected
            or _is_below(path, allowed.private)
            or any(_is_below(path, one) for one in allowed.may_change)
        ):
            return False
        return run_by_git(path) or any(_is_below(path, one) or _is_below(one, path) for one in allowed.protected)

    def _socket(self, call: WatchedCall) -> Ruling:
        family, kind = call.arguments[0], call.arguments[1]
        given = self.stand_ins.give(family, kind & 0xF, nonblocking=bool(kind & os.O_NONBLOCK))
        if given is None:
            return Ruling(error=errno.EACCES)
        return Ruling(fd=given, close_on_exec=bool(kind & os.O_CLOEXEC))

    def _address(self, name: str, call: WatchedCall) -> Ruling:
        data = read_memory(call.pid, call.arguments[1], min(call.arguments[2], 128))
        family = struct.unpack_from("=H", data)[0] if len(data) >= 2 else 0
        if family == socket.AF_NETLINK or (self._allowance.network and family != socket.AF_UNIX):
            return _GO_ON  # a socket of this machine is a stand-in, which the kernel connects to nothing
        if name == "connect" and family == socket.AF_UNIX and socket_path(data) in self._allowance.sockets:
            path = socket_path(data)  # connected by the keeper, because the address in memory may change
            return Ruling(carry=lambda: connected(path), replaces=_signed(call.arguments[0]))
        return Ruling(error=self.stand_ins.address(family, data, listens=name == "bind"))


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _flags(name: str, call: WatchedCall) -> int:
    match name:
        case "open":
            return call.arguments[1]
        case "openat":
            return call.arguments[2]
        case "openat2":
            data = read_memory(call.pid, call.arguments[2], 8)
            return int(struct.unpack("=Q", data)[0]) if len(data) == 8 else _WRITES
    return 0


def _is_probing(path: str, flags: int) -> bool:
    """Does it open an existing directory or a missing file for writing, which fails anyway?"""
    return bool(flags) and not flags & os.O_CREAT and not os.path.lexists(path)


def _is_below(path: str, top: str) -> bool:
    return bool(top) and (path == top or path.startswith(f"{top.rstrip('/')}/"))


def _own_descriptor(path: str, pid: int) -> str:
    """Return a path if it is a descriptor of this process; else an empty text."""
    return path if path.startswith(f"/proc/{pid}/fd/") and path.rpartition("/")[2].isdigit() else ""


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115  # on the way of every watched call
    except OSError:
        return ""
