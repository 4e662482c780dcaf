"""A pseudo-terminal: programs run in it as in any other, and what they print passes through and is kept in part."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aish.values.errors import StoreTrouble

_BLOCK = 1 << 16
_PATIENCE = 0.2  # seconds between two looks whether the child is still there
_SOON = 0.01  # and whether it is ready for keys
_PUSHY = 2.0  # seconds within which Ctrl-C again means: it must go
_ESSENTIAL = (  # what a prompt needs; a program that died may have left it otherwise
    (0, termios.ICRNL),
    (1, termios.OPOST),
    (3, termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN),
)
_OF_TERMINALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP)
Take = Callable[[bytes], bool]  # takes output; true when that was the end


class Terminal:
    """One pseudo-terminal and the program that was started in it."""

    def __init__(self) -> None:
        try:
            self.master, self._slave = os.openpty()
        except OSError as error:
            raise StoreTrouble(f"cannot open a terminal for commands: {error.strerror or error}") from error
        self.name = os.ttyname(self._slave)
        self._sane = termios.tcgetattr(self._slave)
        self.process: subprocess.Popen[bytes] | None = None
        self._pressed = b""
        self._unsent = b""  # typed, and more than the program takes at once
        os.set_blocking(self.master, False)  # or a long paste waits for output that waits for us
        self.resize()

    def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | str,
        stdin: int | None = None,
        pass_fds: Sequence[int] = (),
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Start a program whose terminal this is. `prepare` runs in the child. Raises `StoreTrouble`."""
        slave = self._slave

        def take_terminal() -> None:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for number in _OF_TERMINALS:  # who started us may have been told to ignore them
                signal.signal(number, signal.SIG_DFL)
            if prepare:
                prepare()

        try:
            self.process = subprocess.Popen(
                command,
                stdin=slave if stdin is None else stdin,
                stdout=slave,
                stderr=slave,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                preexec_fn=take_terminal,
                pass_fds=pass_fds,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreTrouble(f"cannot start {command[0]}: {reason}") from error

    def resize(self) -> None:
        """Make it as big as the window that we are in."""
        try:
            size = os.get_terminal_size(sys.__stdin__.fileno() if sys.__stdin__ else 0)
        except (OSError, ValueError):
            size = os.terminal_size((80, 24))
        packed = struct.pack("HHHH", size.lines, size.columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, packed)

    def wait(self) -> int:
        """The exit status of the program, in the way of shells."""
        code = self.process.wait() if self.process else 1
        return code if code >= 0 else 128 - code

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def relay(
        self,
        take: Take,
        keys: int | None = None,
        seconds: float | None = None,
        ready: Callable[[bool], bool] = lambda interrupted: True,
    ) -> bool:
        """Pass on what is printed and, once it is `ready`, what is typed at `keys`, until `take` says so.

        False if the program ended first, or the time was over. `ready` is asked again and again, and told whether
        Ctrl-C was pressed and nothing has been printed since for a while.
        """
        deadline = time.monotonic() + seconds if seconds is not None else None
        poll, ended, pushes = select.poll(), _watch_end(self.process), Pushes(self)
        typing = interrupted = False
        for fd in (self.master, ended):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        try:
            while deadline is None or time.monotonic() < deadline:
                self._listen(poll, keys if typing else None)
                found = [fd for fd, _ in poll.poll(1000 * (_PATIENCE if typing or keys is None else _SOON))]
                self._write(b"")
                if self.master in found:
                    data = self._read()
                    if data and take(data):
                        return True
                elif not self.alive:
                    return self._drain(take)
                if keys is not None and keys in found:
                    typed = os.read(keys, _BLOCK)
                    self._write(typed)
                    pushes.see(typed)
                    interrupted = interrupted or b"\x03" in typed
                    if not typed:
                        poll.unregister(keys)  # nobody types any more
                        keys, typing = None, False
                elif ready(interrupted and not found):
                    pressed, self._pressed = self._pressed, b""
                    self._write(pressed)
                    interrupted = interrupted or bool(pressed)
                    if keys is not None and not typing:
                        poll.register(keys, select.POLLIN)
                        typing = True
            return False
        finally:
            if ended >= 0:
                os.close(ended)

    def _listen(self, poll: select.poll, keys: int | None) -> None:
        """Wait for output and for keys; for no more keys while some are unsent."""
        poll.modify(self.master, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        if keys is not None:
            poll.modify(keys, 0 if self._unsent else select.POLLIN)

    def interrupt(self) -> None:
        """Press Ctrl-C for somebody whose terminal is not ours, or not yet. It waits until the program is ready."""
        self._pressed = b"\x03"

    def _drain(self, take: Take) -> bool:
        while select.select([self.master], [], [], 0)[0]:
            data = self._read()
            if not data:
                break
            if take(data):
                return True
        return False

    def read_some(self) -> bytes:
        """What was printed meanwhile, without waiting."""
        return self._read() if select.select([self.master], [], [], 0)[0] else b""

    def _read(self) -> bytes:
        try:
            return os.read(self.master, _BLOCK)
        except OSError:  # the other end is closed
            return b""

    def _write(self, data: bytes) -> None:
        """Pass on what was typed; what the program does not take yet is kept for the next time."""
        self._unsent += data
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self.master, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # the other end is closed
            self._unsent = b""

    def unread(self) -> bytes:
        """What was typed for a program that did not read it; it belongs to the next prompt."""
        wanted = list(termios.tcgetattr(self._slave))
        mode = list(wanted)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        try:
            termios.tcsetattr(self._slave, termios.TCSANOW, mode)
            typed = b""
            while select.select([self._slave], [], [], 0)[0]:
                typed += os.read(self._slave, _BLOCK)
            typed, self._unsent = typed + self._unsent, b""
            return typed
        except OSError:
            return b""
        finally:
            termios.tcsetattr(self._slave, termios.TCSANOW, wanted)

    def mend(self) -> None:
        """Put back what a prompt needs, if a program left it otherwise."""
        now = termios.tcgetattr(self._slave)
        if any(now[place] & flags != flags for place, flags in _ESSENTIAL):
            termios.tcsetattr(self._slave, termios.TCSANOW, self._sane)

    def close(self) -> None:
        """End the program and let go of the terminal."""
        self.end()
        for fd in (self.master, self._slave):
            os.close(fd)

    def end(self) -> None:
        """End the program, politely first."""
        process = self.process
        if process and process.poll() is None:
            for number, seconds in ((signal.SIGHUP, 0.5), (signal.SIGKILL, 2.0)):
                _signal_group(process.pid, number)
                try:
                    process.wait(seconds)
                    break
                except subprocess.TimeoutExpired:
                    continue

    @property
    def interrupts(self) -> bool:
        """Is Ctrl-C a signal now? To an editor it is a key like any other."""
        mode = termios.tcgetattr(self._slave)
        return bool(mode[3] & termios.ISIG) and mode[6][termios.VINTR] == b"\x03"

    @property
    def foreground(self) -> int:
        """The group of processes that the terminal belongs to now."""
        try:
            return os.tcgetpgrp(self.master)
        except OSError:
            return 0


def _watch_end(process: subprocess.Popen[bytes] | None) -> int:
    """Something to wait for that tells when the program ends, where the system has it."""
    try:
        return os.pidfd_open(process.pid) if process and hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


class Pushes:
    """Ctrl-C again and again at a program that ignores it: it is asked to end, then it is ended."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._times: list[float] = []

    def see(self, typed: bytes) -> None:
        if b"\x03" not in typed or not self._terminal.interrupts:
            return
        now = self._clock()
        self._times = [one for one in self._times if now - one < _PUSHY] + [now]
        group = self._terminal.foreground
        if len(self._times) > 1 and group and _ignores_interrupts(group):
            _signal_group(group, signal.SIGTERM if len(self._times) == 2 else signal.SIGKILL)


def _ignores_interrupts(group: int) -> bool:
    """Does a process of this group ignore Ctrl-C? One that does something with it is left alone."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            member = int(path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[2]) == group
            text = path.with_name("status").read_text(encoding="ascii", errors="replace") if member else ""
        except (OSError, IndexError):
            continue  # it has gone
        ignored = re.search(r"^SigIgn:\s*(\w+)", text, re.MULTILINE)
        if ignored and int(ignored[1], 16) >> (signal.SIGINT - 1) & 1:
            return True
    return False


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass  # it has gone


@contextmanager
def raw(fd: int) -> Iterator[None]:
    """The user's own terminal, with every key passed on at once; put back whatever happens."""
    before = termios.tcgetattr(fd)
    try:
        tty.setraw(fd, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
