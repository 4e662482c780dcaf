"""The keeper of a fence: a process between aish and a fenced command.

It answers the watched calls of the command, enforces its limits, and ends everything that the command left running:
all processes of the command are its descendants, also those that detached themselves.
"""

import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import NoReturn

from aish.action.fence import libc
from aish.action.fence.carrier import TryLater
from aish.action.fence.process_memory import descendants
from aish.action.fence.seccomp import WatchedCall, answer, answer_with_fd, let_go, receive, replace_fd, still_waits
from aish.action.fence.wants import Want
from aish.action.fence.watcher import Allowance, CallWatcher, Ruling
from aish.values.named_tuple import NamedTuple

TIMED_OUT = 124  # the exit status of `timeout`
_ENDED = 137  # of a shell, for a command that was killed
_SOON = 0.2  # seconds between checks of the limits
_VERY_SOON = 0.01  # between attempts of a call that waits for another process
_FOR_ENDING = 5.0
_LEAST_SIZE = 4096
_ENDING = (signal.SIGHUP, signal.SIGTERM)
_IGNORED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, *_ENDING}


class ResourceLimits(NamedTuple):
    """What a command may use. Times are in seconds, sizes in bytes; 0 means no limit."""

    seconds: float = 0
    processor_seconds: int = 0
    memory: int = 0  # of each process
    file_size: int = 0
    open_files: int = 0
    private_size: int = 0  # of the private temporary directory


def keep(
    start: Callable[[], int],
    allowance: Allowance,
    limits: ResourceLimits,
    names: Mapping[int, str],
    report: int,
    before_write: Callable[[str], None] | None = None,
) -> None:
    """Split into the keeper and the command. Returns in the command only.

    Runs between fork and exec, in a child of aish. `start` restricts the command and returns the descriptor of the
    listener. `report` is a descriptor that the keeper writes its wants to, as JSON. The keeper calls `before_write`.
    """
    gc.disable()  # collecting would copy the memory that is shared with the parent
    libc.call("prctl", libc.SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.call("prctl", libc.SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    ours, theirs = socket.socketpair()
    top = os.getpid()
    command = os.fork()
    if command:
        theirs.close()
        watcher = CallWatcher(allowance, names, top, before_write)
        _Keeper(command, ours, watcher, limits, allowance.private, report).run()
    ours.close()
    libc.call("prctl", libc.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.setpgid(0, 0)
    _limit(limits)
    listener = start()
    socket.send_fds(theirs, [b"."], [listener])
    os.close(listener)
    theirs.recv(1)  # the keeper has made this the foreground process of the terminal
    theirs.close()


def _limit(limits: ResourceLimits) -> None:
    if limits.memory:
        try:  # memory can also be used up by many processes, or shared: then these end first
            with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
                file.write("1000")
        except OSError:
            pass
    for kind, most in (
        (resource.RLIMIT_CPU, limits.processor_seconds),
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 1 if limits.seconds else 0),  # 0 would still hand the memory to a program of the system
    ):
        if most > 0:
            before = resource.getrlimit(kind)[1]
            most = most if before == resource.RLIM_INFINITY or 0 <= most < before else before
            resource.setrlimit(kind, (most, most))


class _Keeper:
    """The loop of the keeper. It ends the process and never returns."""

    def __init__(
        self, command: int, line: socket.socket, watcher: CallWatcher, limits: ResourceLimits, private: str, report: int
    ) -> None:
        self._command, self._line, self._watcher = command, line, watcher
        self._limits, self._private, self._report = limits, private, report
        self._deadline = time.monotonic() + limits.seconds if limits.seconds else float("inf")
        self._woken, self._wake = -1, -1
        self._later: list[tuple[WatchedCall, Ruling]] = []

    def run(self) -> NoReturn:
        status = _ENDED
        try:
            self._settle()
            listener = self._take_listener()
            status = self._serve(listener) if listener >= 0 else self._wait()
        except BaseException as error:  # there is nobody to report to but the report
            self._watcher.note(Want("limit", f"go on, but the fence failed: {error!r}"))
        finally:
            _end_all(os.getpid())
            self._tell()
            os._exit(status)

    def _settle(self) -> None:
        """Give the terminal to the command, and forget everything that belongs to aish."""
        os.umask(0)  # the files that it makes for the command have the rights that the command wants
        signal.set_wakeup_fd(-1)  # it would wake the event loop of aish
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        try:
            os.setpgid(self._command, self._command)
            if os.isatty(0) or os.isatty(1):
                os.tcsetpgrp(0 if os.isatty(0) else 1, self._command)
        except OSError:  # it has no terminal, or it has set its group itself
            pass
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in _ENDING:
            signal.signal(number, lambda *_: None)
        try:
            self._line.sendall(b".")
        except OSError:  # it has ended, because it could not restrict itself
            pass
        kept = sorted((self._woken, self._wake, self._line.fileno(), self._report))
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        for low, high in zip((2, *kept), (*kept, 1 << 16), strict=True):
            os.closerange(low + 1, high)

    def _take_listener(self) -> int:
        try:
            _, found, _, _ = socket.recv_fds(self._line, 1, 1)
        except OSError:
            found = []
        self._line.close()
        return found[0] if found else -1

    def _serve(self, listener: int) -> int:
        """Answer calls until the command has ended, or has to be ended."""
        ended = os.pidfd_open(self._command)
        watcher, next_check = self._watcher, time.monotonic() + _SOON
        poll = select.poll()
        for fd in (listener, ended, self._woken):
            poll.register(fd, select.POLLIN)
        while True:
            stand_ins = watcher.stand_ins.readable
            for fd in stand_ins:
                poll.register(fd, select.POLLIN)
            events = dict(poll.poll(1000 * (_VERY_SOON if self._later else _SOON)))
            waiting, self._later = self._later, []
            for one, ruling in waiting:
                self._settle_call(listener, one, ruling)
            for fd in stand_ins:
                poll.unregister(fd)
                if fd in events:
                    watcher.stand_ins.read(fd)
            if events.get(listener, 0) & select.POLLIN and (call := receive(listener)):
                self._answer(listener, call)
            if ended in events:
                return self._wait()
            if self._woken in events:  # aish wants it to end, or has died
                return _ENDED
            if (now := time.monotonic()) > next_check:
                if over := self._over(now):
                    return over
                _reap_orphans(self._command)
                took = time.monotonic() - now
                next_check = now + max(_SOON, 10 * took)  # looking at many files must not take most of the time

    def _answer(self, listener: int, call: WatchedCall) -> None:
        self._settle_call(listener, call, self._watcher.rule(call))
        self._watcher.stand_ins.given()

    def _settle_call(self, listener: int, call: WatchedCall, ruling: Ruling) -> None:
        if not still_waits(listener, call):
            pass
        elif ruling.carry:
            self._carry(listener, call, ruling, ruling.carry)
        elif ruling.goes_on:
            let_go(listener, call)
        elif ruling.fd is not None:
            answer_with_fd(listener, call, ruling.fd, close_on_exec=ruling.close_on_exec)
        else:
            answer(listener, call, ruling.error)

    def _carry(self, listener: int, call: WatchedCall, ruling: Ruling, carry: Callable[[], int | None]) -> None:
        """Do what the command asked for, and tell it the result."""
        try:
            made = carry()
        except TryLater:
            self._later.append((call, ruling))
            return
        except OSError as error:
            answer(listener, call, error.errno or errno.EIO)
            return
        except (OverflowError, ValueError):  # Python refuses what the kernel would refuse
            answer(listener, call, errno.EINVAL)
            return
        if made is None:
            answer(listener, call)
            return
        if ruling.replaces is not None:
            replace_fd(listener, call, made, ruling.replaces)
        else:
            answer_with_fd(listener, call, made, close_on_exec=ruling.close_on_exec)
        os.close(made)

    def _over(self, now: float) -> int:
        """Return the status of a command that is over a limit; 0 if it is not."""
        if now > self._deadline:
            self._watcher.note(Want("limit", f"run longer than {self._limits.seconds:g} seconds"))
            return TIMED_OUT
        if self._limits.private_size and _size(self._private) > self._limits.private_size:
            self._watcher.note(Want("limit", "fill its temporary directory"))
            return _ENDED
        return 0

    def _wait(self) -> int:
        _, status = os.waitpid(self._command, 0)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _tell(self) -> None:
        data = json.dumps(self._watcher.wants).encode("utf-8", "surrogatepass")
        try:
            os.write(self._report, data)
        except OSError:
            pass  # aish has died


def _end_all(top: int) -> None:
    """End every descendant. New ones cannot appear: starting a process waits for an answer that does not come."""
    until = time.monotonic() + _FOR_ENDING
    while time.monotonic() < until:
        for pid in descendants(top):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # it has ended
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _reap_orphans(command: int) -> None:
    """Collect ended processes that the command left to the keeper; the status of the command itself is kept."""
    try:
        while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if found.si_pid == command:
                return
            os.waitpid(found.si_pid, os.WNOHANG)
    except ChildProcessError:
        pass  # there is none


def _size(directory: str) -> int:
    """Return the size of everything in a directory. Empty files count too, because their number is limited as well."""
    total, to_visit = 0, [directory]
    while to_visit:
        try:
            with os.scandir(to_visit.pop()) as entries:
                for entry in entries:
                    total += max(entry.stat(follow_symlinks=False).st_blocks * 512, _LEAST_SIZE)
                    if entry.is_dir(follow_symlinks=False):
                        to_visit.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return sys.maxsize  # what is deeper cannot be seen
    return total  # without what has been deleted in the meantime
