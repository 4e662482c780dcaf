"""A pseudo-terminal in which programs run; their output is passed on to the caller."""

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
_PATIENCE = 0.2  # seconds between checks that the child is alive
_SOON = 0.01  # seconds between checks that it is ready for keys
_REPEAT_SECONDS = 2.0  # seconds within which a repeated Ctrl-C ends the program
_ESSENTIAL = (  # modes that a prompt needs; a program that died may have changed them
    (0, termios.ICRNL),
    (1, termios.OPOST),
    (3, termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN),
)
_OF_TERMINALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP)
Take = Callable[[bytes], bool]  # takes output; returns True at the end


class Terminal:
    """One pseudo-terminal and the program in it."""

    def __init__(self) -> None:
        try:
            self.master, self._slave = os.openpty()
        except OSError as error:
            raise StoreTrouble(f"cannot open a terminal for commands: {error.strerror or error}") from error
        self.name = os.ttyname(self._slave)
        self._sane = termios.tcgetattr(self._slave)
        self.process: subprocess.Popen[bytes] | None = None
        self._pressed = b""
        self._unsent = b""  # typed keys that the program has not accepted yet
        os.set_blocking(self.master, False)  # otherwise a long paste could deadlock with the output
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
        """Start a program in this terminal. `prepare` runs in the child. Raises `StoreTrouble`."""
        slave = self._slave

        def take_terminal() -> None:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for number in _OF_TERMINALS:  # our parent process may have ignored them
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
        """Set the size to that of our own terminal."""
        try:
            size = os.get_terminal_size(sys.__stdin__.fileno() if sys.__stdin__ else 0)
        except (OSError, ValueError):
            size = os.terminal_size((80, 24))
        packed = struct.pack("HHHH", size.lines, size.columns, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, packed)

    def wait(self) -> int:
        """Wait for the program and return its exit status as a shell would."""
        code = self.process.wait() if self.process else 1
        return code if code >= 0 else 128 - code

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def program(self) -> str:
        """The file that the process runs now: another one after `exec`. Empty if the system does not tell."""
        try:
            return str(Path(f"/proc/{self.process.pid}/exe").readlink()) if self.process else ""
        except OSError:
            return ""

    def relay(
        self,
        take: Take,
        keys: int | None = None,
        seconds: float | None = None,
        ready: Callable[[bool], bool] = lambda interrupted: True,
    ) -> bool:
        """Pass output to `take` until it returns True; once `ready`, pass keys typed at `keys` to the program.

        Return False if the program ended first or the time is over. `ready` is called repeatedly; its argument is True
        if Ctrl-C was pressed and there has been no output for a while.
        """
        deadline = time.monotonic() + seconds if seconds is not None else None
        poll, ended, repeated = select.poll(), _watch_end(self.process), RepeatedInterrupts(self)
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
                    repeated.see(typed)
                    interrupted = interrupted or b"\x03" in typed
                    if not typed:
                        poll.unregister(keys)  # end of input
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
        """Poll for output and for keys, but for no keys while some are unsent."""
        poll.modify(self.master, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        if keys is not None:
            poll.modify(keys, 0 if self._unsent else select.POLLIN)

    def interrupt(self) -> None:
        """Send Ctrl-C on behalf of the user, as soon as the program is ready."""
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
        """Return pending output without waiting."""
        return self._read() if select.select([self.master], [], [], 0)[0] else b""

    def _read(self) -> bytes:
        try:
            return os.read(self.master, _BLOCK)
        except OSError:  # the program's side is closed
            return b""

    def _write(self, data: bytes) -> None:
        """Pass on typed keys; keep those that the program does not accept yet."""
        self._unsent += data
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self.master, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # the program's side is closed
            self._unsent = b""

    def unread(self) -> bytes:
        """Return the typed keys that the program did not read; they go to the next prompt."""
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

    def restore_modes(self) -> None:
        """Restore the terminal modes that a prompt needs, if a program changed them."""
        now = termios.tcgetattr(self._slave)
        if any(now[place] & flags != flags for place, flags in _ESSENTIAL):
            termios.tcsetattr(self._slave, termios.TCSANOW, self._sane)

    def close(self) -> None:
        """End the program and close the terminal."""
        self.end()
        for fd in (self.master, self._slave):
            os.close(fd)

    def end(self) -> None:
        """End the program: SIGHUP first, then SIGKILL."""
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
        """Does Ctrl-C send a signal now? In an editor it is an ordinary key."""
        mode = termios.tcgetattr(self._slave)
        return bool(mode[3] & termios.ISIG) and mode[6][termios.VINTR] == b"\x03"

    @property
    def foreground(self) -> int:
        """The foreground process group of the terminal."""
        try:
            return os.tcgetpgrp(self.master)
        except OSError:
            return 0


def _watch_end(process: subprocess.Popen[bytes] | None) -> int:
    """Return a descriptor that becomes readable when the program ends; -1 if the system has none."""
    try:
        return os.pidfd_open(process.pid) if process and hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


class RepeatedInterrupts:
    """Ends a program that ignores Ctrl-C: the second Ctrl-C sends SIGTERM, the third SIGKILL."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._times: list[float] = []

    def see(self, typed: bytes) -> None:
        if b"\x03" not in typed or not self._terminal.interrupts:
            return
        now = self._clock()
        self._times = [one for one in self._times if now - one < _REPEAT_SECONDS] + [now]
        group = self._terminal.foreground
        if len(self._times) > 1 and group and _ignores_interrupts(group):
            _signal_group(group, signal.SIGTERM if len(self._times) == 2 else signal.SIGKILL)


def _ignores_interrupts(group: int) -> bool:
    """Does a process of this group ignore Ctrl-C? A process that handles it is left alone."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            member = int(path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[2]) == group
            text = path.with_name("status").read_text(encoding="ascii", errors="replace") if member else ""
        except (OSError, IndexError):
            continue  # the process has ended
        ignored = re.search(r"^SigIgn:\s*(\w+)", text, re.MULTILINE)
        if ignored and int(ignored[1], 16) >> (signal.SIGINT - 1) & 1:
            return True
    return False


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass  # the group has ended


@contextmanager
def raw(fd: int) -> Iterator[None]:
    """Put the user's terminal into raw mode, and restore it at the end."""
    before = termios.tcgetattr(fd)
    try:
        tty.setraw(fd, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
