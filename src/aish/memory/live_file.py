"""The live file `<conversation>.live`: the answer that is being streamed. It exists only meanwhile, or after a crash.

Its first line is the header; the shown text follows. The process that streams the answer holds a lock on it.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from aish.storage.files import make_directory, write_all
from aish.values.errors import StoreTrouble


class LiveFile:
    """One live answer in a file. Implements `LiveAnswer`.

    After a failed write nothing is added until the next answer: what is kept is always the beginning of the answer.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._head = self._end = 0  # bytes: the first line, and the whole file
        self._failed = False

    @property
    def size(self) -> int:
        return self._end - self._head

    def begin(self, header: Callable[[], str]) -> None:
        if self._fd is not None:
            return
        try:
            make_directory(self._path.parent)
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._start(fd, header)
            except BaseException:  # release the lock after any error
                os.close(fd)
                raise
        except BlockingIOError:
            raise StoreTrouble("another aish is answering in this conversation") from None
        except OSError as error:
            raise StoreTrouble(f"cannot write {self._path}: {error.strerror or error}") from error
        self._fd, self._failed = fd, False

    def _start(self, fd: int, header: Callable[[], str]) -> None:
        """Write the header. After an error delete the file: half a header could be read as another one."""
        os.ftruncate(fd, 0)
        try:
            line = header().encode() + b"\n"
            write_all(fd, line)
        except BaseException:  # also when Ctrl-C interrupts it
            self._path.unlink(missing_ok=True)
            raise
        self._head = self._end = len(line)

    def put(self, keep: int, data: bytes) -> None:
        assert self._fd is not None
        if self._failed:
            raise StoreTrouble(f"cannot write {self._path}: an earlier part of this answer is missing in it")
        start = self._head + keep
        try:
            if start < self._end:
                os.ftruncate(self._fd, start)
                self._end = start
            write_all(self._fd, data, start)
            self._end = start + len(data)
        except OSError as error:
            self._failed = True
            self._cut_back()
            raise StoreTrouble(f"cannot write {self._path}: {error.strerror or error}") from error

    def _cut_back(self) -> None:
        """Remove a piece that was written in part."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, self._end)
        except OSError:
            pass  # what was written is still the beginning of the piece

    def end(self) -> None:
        if self._fd is None:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            pass  # the turn is saved, and `recover` ignores the leftover file
        self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None

    def recover(self, take: Callable[[str, str], int]) -> int:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreTrouble(f"cannot read {self._path}: {error.strerror or error}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            header, _, text = os.read(fd, os.fstat(fd).st_size).partition(b"\n")
            number = take(header.decode("utf-8", "replace"), text.decode("utf-8", "ignore"))
            self._path.unlink(missing_ok=True)
            return number
        except (BlockingIOError, ValueError):  # an answer is being streamed, or the file is invalid
            return 0
        except OSError as error:
            raise StoreTrouble(f"cannot read {self._path}: {error.strerror or error}") from error
        finally:
            os.close(fd)
